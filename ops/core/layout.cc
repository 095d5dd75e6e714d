#include "ops/core/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/error.h"
#include "ops/core/parallel.h"

namespace onward {

namespace {

// The three extents that a change between the two layouts permutes.
struct Extents {
  int64_t batch, channels, positions;
};

Extents extents(const Shape& shape) {
  Extents e{shape[0], shape[1], 1};
  for (std::size_t i = 2; i < shape.size(); ++i) e.positions *= shape[i];
  return e;
}

// target[b][c][r] = source[b][r][c] for rows r and columns c, in tiles that stay in the first-level cache.
template <typename T>
void transpose_each(const T* source, T* target, int64_t batch, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 16;
  const int64_t tiles = (rows + kTile - 1) / kTile;
  parallel_for(batch * tiles, std::max<int64_t>(1, 4096 / (kTile * columns)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = source + i / tiles * rows * columns;
      T* to = target + i / tiles * rows * columns;
      const int64_t first = i % tiles * kTile, last = std::min(rows, first + kTile);
      for (int64_t left = 0; left < columns; left += kTile) {
        const int64_t right = std::min(columns, left + kTile);
        for (int64_t c = left; c < right; ++c) {
          for (int64_t r = first; r < last; ++r) to[c * rows + r] = from[r * columns + c];
        }
      }
    }
  });
}

Operand operand_of(const Value* value) {
  if (!value) return {};
  return {.present = true, .dtype = value->type.dtype, .shape = value->type.shape()};
}

}  // namespace

std::string layout_name(Layout layout) { return layout == Layout::kRowMajor ? "row-major" : "channels-last"; }

bool layouts_agree(const Shape& shape, Layout a, Layout b) {
  if (a == b || shape.size() < 3) return true;
  const Extents e = extents(shape);
  return e.channels <= 1 || e.positions <= 1 || e.batch == 0;
}

void convert_layout(const void* source, Layout from, void* target, Layout to, const Shape& shape,
                    std::size_t element_size) {
  if (layouts_agree(shape, from, to)) {
    const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * element_size;
    if (bytes) std::memcpy(target, source, bytes);
    return;
  }
  const Extents e = extents(shape);
  const int64_t rows = from == Layout::kRowMajor ? e.channels : e.positions;
  const int64_t columns = from == Layout::kRowMajor ? e.positions : e.channels;
  const auto move = [&]<typename T>(T) {
    transpose_each(static_cast<const T*>(source), static_cast<T*>(target), e.batch, rows, columns);
  };
  switch (element_size) {
    case 1: move(uint8_t{}); break;
    case 2: move(uint16_t{}); break;
    case 4: move(uint32_t{}); break;
    case 8: move(uint64_t{}); break;
    default:
      throw Error(ErrorKind::kModel, fmt::format("expected elements of 1, 2, 4 or 8 bytes, found {}", element_size));
  }
}

KernelSpec kernel_spec(const Node& node, int threads, int rank, int replicas) {
  KernelSpec spec{.op = node.op(), .node = node.text(), .attributes = node.attributes};
  for (const Value* value : node.inputs()) spec.inputs.push_back(operand_of(value));
  for (const Value* value : node.outputs()) spec.outputs.push_back(operand_of(value));
  spec.threads = threads;
  spec.rank = rank;
  spec.replicas = replicas;
  return spec;
}

namespace {

// Calls visit(operand, declared layout) for every present operand.
template <typename Spec, typename Visit>
void for_each_operand(const KernelDef& kernel, Spec& spec, Visit&& visit) {
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].present) visit(spec.inputs[i], kernel.input_layout(i));
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    if (spec.outputs[i].present) visit(spec.outputs[i], kernel.output_layout(i));
  }
}

}  // namespace

bool takes_any_layout(const KernelDef& kernel, const KernelSpec& spec) {
  const Shape* shape = nullptr;
  bool equal = true;
  for_each_operand(kernel, spec, [&](const Operand& operand, OperandLayout declared) {
    if (declared != OperandLayout::kSame) return;
    if (!shape) shape = &operand.shape;
    equal &= *shape == operand.shape;
  });
  return shape && equal && shape->size() >= 3;
}

void assign_layouts(const KernelDef& kernel, Layout same, KernelSpec& spec) {
  const bool any = takes_any_layout(kernel, spec);
  for_each_operand(kernel, spec, [&](Operand& operand, OperandLayout declared) {
    const bool last = declared == OperandLayout::kChannelsLast ||
                      (declared == OperandLayout::kSame && any && same == Layout::kChannelsLast);
    operand.layout = last && operand.shape.size() >= 3 ? Layout::kChannelsLast : Layout::kRowMajor;
  });
}

}  // namespace onward
