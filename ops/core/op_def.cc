#include "ops/core/op_def.h"

namespace onward {

std::vector<InPlacePair> in_place_pairs(const OpDef& def, const Node& node) {
  return def.in_place_of ? def.in_place_of(node) : def.in_place;
}

}  // namespace onward
