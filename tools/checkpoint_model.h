#pragma once
#include <string>

#include "graph/model.h"
#include "runtime/checkpoint.h"

namespace onward::cli {

// The source model with the parameters and running statistics of a checkpoint in their places, in the file's own
// element types, BatchNormalization and Dropout in inference form. Everything else is as in the file. Error(kData) if a
// tensor of the checkpoint does not fit the file's.
Model trained_model(const Model& source, const Checkpoint& checkpoint);

// What MODEL|RUN|CHECKPOINT stands for: an .onnx file as it is, or a run's trained model.
Model open_model(const std::string& argument, const std::string& which = "last");

}  // namespace onward::cli
