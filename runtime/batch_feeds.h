#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ops/core/loss_info.h"
#include "runtime/data/loader.h"
#include "runtime/executor.h"

namespace onward {

// The names of a program's inputs that batches are bound to.
struct BatchInputs {
  std::string image;
  std::string label;  // empty: the program reads no labels
};

// One StepFeeds per replica: images and labels (shared with the batch, not copied), the row of the global batch at
// which the replica's share starts, and the scalars that are the same everywhere.
std::vector<StepFeeds> batch_feeds(const Batch& batch, const BatchInputs& inputs,
                                   const std::map<std::string, double>& scalars);

// What the loss of an update is divided by (graph/scalars.h, kLossDenominator), from the labels of all its batches: the
// number of samples, or the sum of the class weights of the labels that are not ignored.
double loss_denominator(const LossInfo& loss, const std::vector<Batch>& batches);

// Checks every label of a batch before a kernel reads it (see check_labels).
void check_batch_labels(const Batch& batch, const LossInfo& loss);

}  // namespace onward
