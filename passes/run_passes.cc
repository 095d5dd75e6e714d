// The one runner: it knows no pass by name.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "graph/error.h"
#include "graph/verify.h"
#include "passes/pass.h"

namespace onward {
namespace {

bool is_disabled(const Pass& pass, const ProgramOptions& options) {
  const std::vector<std::string>& names = options.disabled_passes;
  if (std::find(names.begin(), names.end(), pass.name) == names.end()) return false;
  if (!pass.optional) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected optional passes to leave out, found '{}', which correct results "
                            "need; keep it",
                            pass.name));
  }
  return true;
}

void check_requirements(const Pass& pass, const std::set<std::string>& ensured) {
  for (const std::string& property : pass.requires_) {
    if (!ensured.contains(property)) {
      throw Error(ErrorKind::kModel,
                  fmt::format("expected an earlier pass to ensure '{}', which the pass '{}' requires, "
                              "found none; change the order of the passes",
                              property, pass.name));
    }
  }
}

void run_one(Graph& graph, const Pass& pass, PassContext& context) {
  try {
    pass.run(graph, context);
    verify(graph);
  } catch (Error& error) {
    error.note(fmt::format("in the pass '{}'", pass.name));
    throw;
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

void run_passes(Graph& graph, const std::vector<Pass>& passes, PassContext& context, const RunnerHooks& hooks) {
  std::set<std::string> ensured;
  for (const Pass& pass : passes) {
    if (is_disabled(pass, context.options)) continue;
    check_requirements(pass, ensured);
    const auto start = std::chrono::steady_clock::now();
    run_one(graph, pass, context);
    if (hooks.timings) hooks.timings->push_back({pass.name, milliseconds_since(start)});
    if (hooks.after) hooks.after(pass.name, graph);
    ensured.insert(pass.ensures.begin(), pass.ensures.end());
  }
}

}  // namespace onward
