#include "passes/reserved_names.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "graph/scalars.h"

namespace onward {
namespace {

void check(Graph& graph, PassContext&) {
  std::vector<std::string> names;
  for (const Value* value : graph.value_list()) {
    if (value->name().starts_with(kReservedPrefix)) names.push_back("'" + value->name() + "'");
  }
  if (names.empty()) return;
  throw Error(
      ErrorKind::kModel,
      fmt::format("expected no names that begin with '{}', which the program keeps for its own values, found {}; "
                  "rename them in the file",
                  kReservedPrefix, fmt::join(names, ", ")));
}

}  // namespace

Pass reserved_names_pass() { return {.name = "reserved-names", .run = check}; }

}  // namespace onward
