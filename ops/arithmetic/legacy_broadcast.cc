#include "ops/arithmetic/legacy_broadcast.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

void drop_attributes(Node& node) {
  for (const char* name : {"broadcast", "axis", "consumed_inputs"}) node.attributes.erase(name);
}

[[noreturn]] void refuse(const Shape& a, const Shape& b, const std::string& rule) {
  throw Error(ErrorKind::kModel, fmt::format("expected a second operand that fits the first {}, found {} and {}", rule,
                                             to_string(a), to_string(b)));
}

// The second operand's shape with ones appended, so that its dimension 0 meets dimension `axis` of the first.
Shape aligned(const Shape& a, Shape b, int64_t axis) {
  const auto rank = static_cast<int64_t>(a.size());
  if (axis < 0) axis += rank;
  const int64_t ones = rank - axis - static_cast<int64_t>(b.size());
  if (axis < 0 || ones < 0) refuse(a, b, fmt::format("from axis {} on", axis));
  b.insert(b.end(), static_cast<std::size_t>(ones), 1);
  return b;
}

}  // namespace

void align_legacy_broadcast(NormaliseContext& context) {
  if (context.opset() >= 7) return;
  Node& node = context.node();
  const Shape a = node.input(0)->type.shape(), b = node.input(1)->type.shape();
  if (node.attributes.get_int("broadcast", 0) == 0) {
    if (a != b) refuse(a, b, "exactly (no `broadcast` attribute)");
  } else if (node.attributes.has("axis")) {
    const Shape shape = aligned(a, b, node.attributes.get_int("axis"));
    if (shape != b) {
      Node& reshape = context.graph().add_node({"", "Reshape"}, {node.input(1)}, {node.input(1)->name() + ".aligned"},
                                               {{"shape", shape}}, &node);
      reshape.origin = "broadcast of " + node.text();
      infer_node(reshape, registry());
      context.graph().set_input(node, 1, reshape.output(0));
    }
  }
  drop_attributes(node);
}

}  // namespace onward
