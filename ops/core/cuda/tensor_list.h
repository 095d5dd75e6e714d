#pragma once
// One launch over many tensors: parameters, gradients and moments of an optimizer step. Tensors are cut into chunks,
// one block each, so that a scalar costs one block and a big matrix as many as it needs. The list travels as an
// argument.
#include <cstdint>
#include <vector>

#include "ops/core/cuda/pack.h"
#include "ops/core/kernel.h"

namespace onward {

inline constexpr int kListThreads = 256;
inline constexpr int64_t kChunkElements = 8192;
inline constexpr int kListedTensors = 24;  // a list of eight pointers per tensor stays below 2 KiB

inline int64_t chunks_of(int64_t elements) { return (elements + kChunkElements - 1) / kChunkElements; }

// A part of one tensor.
struct Chunk {
  int tensor;     // in the list
  int64_t first;  // element
  int64_t count;
};

// Tensors [0, count) of kPointers buffers each; first_chunk[i] is the block that starts tensor i.
template <int kPointers>
struct TensorList {
  int count = 0;
  int64_t elements[kListedTensors];
  int64_t first_chunk[kListedTensors + 1];
  const void* pointers[kPointers][kListedTensors];

  __device__ Chunk chunk(int64_t block) const {
    int i = 0;
    while (i + 1 < count && block >= first_chunk[i + 1]) ++i;
    const int64_t first = (block - first_chunk[i]) * kChunkElements, left = elements[i] - first;
    return {i, first, left < kChunkElements ? left : kChunkElements};
  }
  // Where the chunk starts in one of its tensor's buffers.
  template <typename T>
  __device__ const T* in(int pointer, const Chunk& chunk) const {
    return static_cast<const T*>(pointers[pointer][chunk.tensor]) + chunk.first;
  }
  template <typename T>
  __device__ T* out(int pointer, const Chunk& chunk) const {
    return const_cast<T*>(in<T>(pointer, chunk));
  }
};

// What a launch over operands is made from.
struct ListedOperands {
  std::vector<int64_t> elements;  // of each
  int64_t chunks = 0;             // of all

  explicit ListedOperands(const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      elements.push_back(operand.count());
      chunks += chunks_of(operand.count());
    }
  }
};

// Calls start(list, shape, chunks before) for as many lists as the tensors need; empty tensors are left out.
// pointer(k, i) is buffer k of tensor i.
template <int kPointers, typename PointerOf, typename Start>
void for_each_list(const std::vector<int64_t>& elements, PointerOf&& pointer, Start&& start) {
  TensorList<kPointers> list;
  int64_t before = 0;
  const auto flush = [&] {
    if (list.count == 0) return;
    const int64_t chunks = list.first_chunk[list.count];
    start(list, LaunchShape{.grid = dim3(static_cast<unsigned>(chunks)), .block = dim3(kListThreads)}, before);
    before += chunks;
    list.count = 0;
  };
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == 0) continue;
    if (list.count == kListedTensors) flush();
    if (list.count == 0) list.first_chunk[0] = 0;
    list.elements[list.count] = elements[i];
    for (int k = 0; k < kPointers; ++k) list.pointers[k][list.count] = pointer(k, i);
    list.first_chunk[list.count + 1] = list.first_chunk[list.count] + chunks_of(elements[i]);
    ++list.count;
  }
  flush();
}

// Calls whole(i) for the packs of four elements of a chunk that this thread has to do and single(i) for the elements
// behind the last pack.
template <typename Whole, typename Single>
__device__ void walk_chunk(int64_t count, Whole&& whole, Single&& single) {
  for (int64_t i = int64_t{threadIdx.x} * 4; i + 4 <= count; i += kListThreads * 4) whole(i);
  const int64_t rest = count / 4 * 4 + threadIdx.x;
  if (rest < count) single(rest);
}

}  // namespace onward
