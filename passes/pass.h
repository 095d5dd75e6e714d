#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/core/registry.h"
#include "passes/options.h"

namespace onward {

// What a pass may look at besides the graph, and where it leaves messages for the user.
struct PassContext {
  const ProgramOptions& options;
  ProgramRequest request;
  const Registry& registry;
  std::vector<std::string> warnings;  // one line each: "the parameter 'x' does not reach the loss"
  std::vector<std::string> facts;     // one line each, printed before step 1: "loss: cross entropy on 'logits'"
};

// Graph -> Graph, as a value. `requires_` and `ensures` name properties ("static", "loss", "backward", "lowered",
// "distributed", "optimizer"); the runner checks that what a pass requires was ensured by an earlier one.
struct Pass {
  std::string name;
  std::function<void(Graph&, PassContext&)> run;
  std::vector<std::string> requires_;
  std::vector<std::string> ensures;
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

// Runs the passes in order; verifies the graph after each; errors get a note naming the pass. Passes named in
// options.disabled_passes are left out.
void run_passes(Graph& graph, const std::vector<Pass>& passes, PassContext& context, const RunnerHooks& hooks = {});

// The order of all passes for a request, written in one place: passes/pipeline.cc.
std::vector<Pass> pass_pipeline(const ProgramOptions& options, const ProgramRequest& request);

}  // namespace onward
