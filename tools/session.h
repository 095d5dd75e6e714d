#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "passes/model_program.h"
#include "runtime/batch_feeds.h"
#include "runtime/data/loader.h"
#include "runtime/device.h"
#include "runtime/replicas.h"
#include "tools/options.h"

namespace onward::cli {

// A model made ready to run on the devices asked for: what train, eval and bench have in common.
struct Session {
  std::unique_ptr<ModelProgram> program;
  std::vector<Device> devices;
  std::unique_ptr<ReplicaGroup> replicas;
  BatchInputs inputs;
  Shape sample;                   // of the image input, without the batch dimension
  DType dtype = DType::kFloat32;  // of the image input
  LossInfo loss;
  std::vector<std::string> local_state;  // names of state that differs between replicas
  std::set<std::string> winograd_for;    // what was measured or asked for, see autotune.h
};

// Builds the program for the mode (so that everything wrong with the model is known before data is read), says facts
// and warnings, and makes the replicas, after measuring algorithms if asked to `tune`. Error(kModel) if the model does
// not have exactly one data input.
Session open_session(const Model& model, const ProgramOptions& program_options, const std::vector<Device>& devices,
                     ProgramMode mode, int64_t global_batch, ReplicaOptions replica_options = {}, bool tune = false);

// One split of the data set that the options name, checked against the model's input and classes.
Dataset open_data(const Options& options, const Session& session, Split split);

// Delivers the data as the session's program takes it. Without augmentation and in order, unless `training`.
std::unique_ptr<Loader> open_loader(const Options& options, const Session& session, const Dataset& data,
                                    ProgramMode mode, bool training);

}  // namespace onward::cli
