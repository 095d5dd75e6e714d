#pragma once
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "graph/model.h"
#include "runtime/checkpoint.h"
#include "runtime/data/dataset.h"
#include "tools/options.h"
#include "tools/session.h"

namespace onward::cli {

// Options that decide nothing in a run that goes on from a checkpoint with this configuration, whatever the model:
// those of another optimizer or schedule, and how the parameters begin.
std::set<std::string> idle_options(const nlohmann::json& config);

// Options whose values now and in the run of the checkpoint come to the same for this model and these data: --fit where
// images need no padding, --normalize with the same constants, --loss with the same loss.
std::set<std::string> idle_options(const Options& options, const Checkpoint& checkpoint, const Model& model,
                                   const Session& session, const Dataset& data);

}  // namespace onward::cli
