#pragma once
#include <functional>
#include <set>
#include <string>

#include "graph/model.h"
#include "runtime/checkpoint.h"
#include "runtime/data/dataset.h"
#include "tools/options.h"

namespace onward::cli {

// What a checkpoint records of a run's model and training data, besides the options, to be compared at a resume.
inline constexpr const char* kModelIdentity = "model";
inline constexpr const char* kDataIdentity = "data";
std::string identity(const Model& model);
std::string identity(const Dataset& data);

// Error(kUsage) if a run with these options and this model cannot go on from the checkpoint: another model, another
// precision, or an optimizer that keeps other state. `file` is the checkpoint's, for messages.
void check_resumable(const Options& options, const std::string& model, const Checkpoint& checkpoint,
                     const std::string& file);

// Error(kUsage) if --freeze or --keep-tied differ so that the run trains what it did not when the checkpoint was made,
// which lacks tensors of it. `update_program` makes a program that updates the parameters; it is called only if they
// differ.
void check_trained(const Options& options, const std::function<Graph()>& update_program, const Checkpoint& checkpoint,
                   const std::string& file);

// One line that names every option, with its value now and then, and the data, if they differ in a way that changes
// what is learned; "" if nothing does. Options that decide nothing now and did not then are passed over, as are those
// in `idle`, which decide nothing for this model and these data (idle_options.h). Error(kUsage) if the checkpoint is
// from the middle of an epoch and what differs decides which samples are left of it.
std::string changes_since(const Options& options, const std::string& data, const Checkpoint& checkpoint,
                          const std::string& file, const std::set<std::string>& idle = {});

}  // namespace onward::cli
