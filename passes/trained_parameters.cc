#include "passes/trained_parameters.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {
namespace {

bool matches(const std::string& pattern, const Value& value) {
  return fnmatch(pattern.c_str(), value.name().c_str(), 0) == 0;
}

}  // namespace

std::vector<Value*> trained_parameters(const Graph& graph, const ProgramOptions& options) {
  std::vector<Value*> trained = graph.values_with_role(Role::kParameter);
  for (const std::string& pattern : options.freeze) {
    if (std::none_of(trained.begin(), trained.end(), [&](Value* value) { return matches(pattern, *value); })) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("expected a pattern that matches a parameter, found --freeze '{}', which matches none of {}; "
                      "`onward inspect` lists the parameters",
                      pattern, trained.size()));
    }
  }
  std::erase_if(trained, [&](Value* value) {
    return std::any_of(options.freeze.begin(), options.freeze.end(),
                       [&](const std::string& pattern) { return matches(pattern, *value); });
  });
  return trained;
}

}  // namespace onward
