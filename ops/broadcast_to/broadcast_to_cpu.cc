#include <algorithm>
#include <cstring>

#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/core/simd.h"

namespace onward {
namespace {

constexpr int64_t kGrain = 16384;

template <typename Word>
ONWARD_SIMD void fill(Word* to, Word value, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

// The target as rows of its last dimension, and for each row where its source starts.
struct Rows {
  Shape outer;           // dimensions before the last
  Shape source_strides;  // in elements, 0 where the source is repeated
  int64_t length = 1;    // of the last dimension
  bool repeated = true;  // one source element fills a row

  Rows(const Shape& from, const Shape& to) {
    Shape padded(to.size() - from.size(), 1);
    padded.insert(padded.end(), from.begin(), from.end());
    if (to.empty()) return;
    length = to.back();
    repeated = padded.back() == 1;
    outer.assign(to.begin(), to.end() - 1);
    source_strides.resize(outer.size());
    int64_t stride = padded.back();
    for (std::size_t i = outer.size(); i-- > 0;) {
      source_strides[i] = padded[i] == 1 ? 0 : stride;
      stride *= padded[i];
    }
  }
  int64_t source(int64_t row) const {
    int64_t offset = 0;
    for (std::size_t i = outer.size(); i-- > 0;) {
      offset += row % outer[i] * source_strides[i];
      row /= outer[i];
    }
    return offset;
  }
};

template <typename Word>
void broadcast(const Rows& rows, const void* from, void* to) {
  const Word* source = static_cast<const Word*>(from);
  Word* target = static_cast<Word*>(to);
  parallel_for(element_count(rows.outer), kGrain / std::max<int64_t>(rows.length, 1) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const Word* start = source + rows.source(row);
                   Word* out = target + row * rows.length;
                   if (rows.repeated) {
                     if (rows.length) fill(out, *start, rows.length);
                   } else {
                     std::copy_n(start, rows.length, out);
                   }
                 }
               });
}

void run(const KernelSpec& spec, const KernelContext& context) {
  const Operand& out = spec.outputs[0];
  if (out.count() == 0) return;
  const Rows rows(spec.inputs[0].shape, out.shape);
  switch (dtype_size(out.dtype)) {
    case 1: broadcast<uint8_t>(rows, context.inputs[0], context.outputs[0]); break;
    case 2: broadcast<uint16_t>(rows, context.inputs[0], context.outputs[0]); break;
    case 4: broadcast<uint32_t>(rows, context.inputs[0], context.outputs[0]); break;
    default: broadcast<uint64_t>(rows, context.inputs[0], context.outputs[0]); break;
  }
}

bool moves_words(const KernelSpec& spec) {
  const std::size_t size = dtype_size(spec.outputs[0].dtype);
  return size == 1 || size == 2 || size == 4 || size == 8;
}

}  // namespace

void register_broadcast_to_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {kOnwardDomain, "BroadcastTo"},
                         .dtype = DType::kUndefined,
                         .accepts = moves_words,
                         .make = make_function_kernel<run>});
}

}  // namespace onward
