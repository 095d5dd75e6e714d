#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/model.h"
#include "ops/core/loss_info.h"
#include "ops/core/registry.h"
#include "passes/options.h"

namespace onward {

// The body of a function of the file, nullptr if there is none of that name.
using FunctionLookup = std::function<const Model::Function*(const OpId&)>;

// A copy, for one reader, of a tensor that the file stores once for several.
struct UntiedTensor {
  std::string name;         // of the copy
  std::string source;       // the tensor of the file
  std::string node_output;  // the reader is the node whose first output is this value ...
  int input = 0;            // ... and reads the copy as this input
};

// What a pass may look at besides the graph, and where it leaves messages for the user.
struct PassContext {
  const ProgramOptions& options;
  ProgramRequest request;
  const Registry& registry;
  FunctionLookup functions;           // empty: the file has none
  bool batch_norm_folded = false;     // the file says that it was folded into convolutions (fold_batch_norm.h)
  std::vector<std::string> warnings;  // one line each: "the parameter 'x' does not reach the loss"
  std::vector<std::string> facts;     // one line each, printed before step 1: "loss: cross entropy on 'logits'"
  std::optional<LossInfo> loss;       // set by the loss pass; empty when nothing is differentiated or measured
  std::vector<UntiedTensor> untied;   // set by the passes that untie, see untie.h
  std::map<std::string, int> apart;   // tensor of the file -> copies that these passes made of it, under any name
};

// Graph -> Graph, as a value. `requires_` and `ensures` name properties ("static", "loss", "backward", "lowered",
// "distributed", "optimizer"); the runner checks that what a pass requires was ensured by an earlier one.
struct Pass {
  std::string name;
  std::function<void(Graph&, PassContext&)> run;
  std::vector<std::string> requires_;
  std::vector<std::string> ensures;
  bool optional = false;  // correct results do not need it: the user may leave it out
};

struct PassTiming {
  std::string name;
  double milliseconds;
};

struct RunnerHooks {
  // Called with the pass's name after each pass.
  std::function<void(const std::string&, const Graph&)> after;
  std::vector<PassTiming>* timings = nullptr;
};

// Runs the passes in order; verifies the graph after each; errors get a note naming the pass. Optional passes named in
// options.disabled_passes are left out; naming another one is Error(kUsage).
void run_passes(Graph& graph, const std::vector<Pass>& passes, PassContext& context, const RunnerHooks& hooks = {});

// The passes that do not depend on the request and run once on an imported graph, and the order of all others for a
// request; both are written in one place: passes/pipeline.cc.
std::vector<Pass> preparation_pipeline(const ProgramOptions& options);
std::vector<Pass> pass_pipeline(const ProgramOptions& options, const ProgramRequest& request);

}  // namespace onward
