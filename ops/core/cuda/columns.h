#pragma once
// Work on a channels-last tensor as rows (samples and positions) by channels. A thread keeps kLanes neighbouring
// channels and walks down the rows; the threads of a block are `width` by `height`, so that a warp reads whole lines.
//
// A reduction over the rows has two steps. First every block joins its chunk of the rows; then one block per channels
// joins the chunks. How the rows are cut depends on the shape alone, and everything is joined in a fixed tree, so that
// bits repeat.
#include <cstdint>

#include "graph/types.h"
#include "ops/core/cuda/pack.h"

namespace onward {

inline constexpr int kColumnThreads = 256;

struct Columns {
  int64_t rows = 0;
  int64_t channels = 1;

  Columns(int64_t row_count, int64_t channel_count) : rows(row_count), channels(channel_count) {}
  explicit Columns(const Shape& shape) {
    channels = shape.size() > 1 ? shape[1] : 1;
    rows = channels > 0 ? element_count(shape) / channels : 0;
  }
  // 16 bytes of float32 where the rows allow it.
  bool packs_of_four() const { return channels % 4 == 0; }
};

// How a walk over the rows is cut into blocks.
struct ColumnGrid {
  int64_t lanes;   // groups of neighbouring channels
  int width = 1;   // threads along them
  int64_t tiles;   // blocks along them
  int64_t chunks;  // blocks along the rows

  ColumnGrid(const Columns& columns, int lane_size, int64_t most_blocks) : lanes(columns.channels / lane_size) {
    while (width < 32 && width < lanes) width *= 2;
    tiles = (lanes + width - 1) / width;
    constexpr int64_t kRowsPerThread = 8;
    const int64_t wanted = columns.rows / (height() * kRowsPerThread);
    const int64_t most = tiles > 0 && most_blocks > tiles ? most_blocks / tiles : 1;
    chunks = wanted < 1 ? 1 : wanted < most ? wanted : most;
  }
  int height() const { return kColumnThreads / width; }
  LaunchShape shape() const {
    return {.grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(chunks)),
            .block = dim3(static_cast<unsigned>(width), static_cast<unsigned>(height()))};
  }
};

inline constexpr int64_t kReductionBlocks = 512;
inline constexpr int64_t kWalkBlocks = 2048;

// Calls body(lane, row) for the rows of one group of channels that this thread of a ColumnGrid has to do.
template <typename Body>
__device__ void walk_rows(int64_t lanes, int64_t rows, Body&& body) {
  const int64_t lane = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (lane >= lanes) return;
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; row < rows; row += step) body(lane, row);
}

// Joins the states of the threads of one column of the block, in a fixed tree; those with threadIdx.y = 0 hold the
// result. A state is plain numbers, all zero when nothing is joined yet, with join(other).
template <typename State>
__device__ void join_column(State& own) {
  ONWARD_SHARED(State, states, kColumnThreads);
  const unsigned self = threadIdx.y * blockDim.x + threadIdx.x;
  states[self] = own;
  __syncthreads();
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    if (threadIdx.y < half) {
      own.join(states[self + half * blockDim.x]);
      states[self] = own;
    }
    __syncthreads();
  }
}

// The state of a plain sum.
struct Total {
  double sum;

  __device__ void join(const Total& other) { sum += other.sum; }
};

// `source.add(states, lane, first, end, step)` joins rows first, first + step, ... before end into one state per
// channel of the lane.
template <int kLanes, typename Source>
__global__ void __launch_bounds__(kColumnThreads)
    reduce_chunk_kernel(Source source, int64_t lanes, int64_t rows, typename Source::State* chunks) {
  using State = typename Source::State;
  const int64_t lane = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t begin = rows * blockIdx.y / gridDim.y, end = rows * (int64_t{blockIdx.y} + 1) / gridDim.y;
  State own[kLanes] = {};
  if (lane < lanes) source.add(own, lane, begin + threadIdx.y, end, int64_t{blockDim.y});
#pragma unroll
  for (int k = 0; k < kLanes; ++k) {
    join_column(own[k]);
    if (threadIdx.y == 0 && lane < lanes) chunks[(blockIdx.y * lanes + lane) * kLanes + k] = own[k];
  }
}

template <typename State, typename Finish>
__global__ void __launch_bounds__(kColumnThreads)
    join_chunks_kernel(const State* chunks, int64_t count, int64_t channels, Finish finish) {
  const int64_t channel = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  State own = {};
  if (channel < channels) {
    for (int64_t chunk = threadIdx.y; chunk < count; chunk += blockDim.y) own.join(chunks[chunk * channels + channel]);
  }
  join_column(own);
  if (threadIdx.y == 0 && channel < channels) finish(channel, own);
}

// A reduction over the rows: finish(channel, state) is called once per channel, on the GPU.
template <int kLanes, typename Source>
class ColumnReduction {
 public:
  explicit ColumnReduction(const Columns& columns) : columns_(columns), grid_(columns, kLanes, kReductionBlocks) {}

  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(grid_.chunks * columns_.channels) * sizeof(typename Source::State);
  }
  template <typename Finish>
  void run(const Source& source, const Finish& finish, void* workspace, void* stream) const {
    using State = typename Source::State;
    auto* chunks = static_cast<State*>(workspace);
    launch(reduce_chunk_kernel<kLanes, Source>, grid_.shape(), stream, source, grid_.lanes, columns_.rows, chunks);
    const ColumnGrid join(Columns(0, columns_.channels), 1, 1);
    launch(join_chunks_kernel<State, Finish>, join.shape(), stream, chunks, grid_.chunks, columns_.channels, finish);
  }

 private:
  Columns columns_;
  ColumnGrid grid_;
};

}  // namespace onward
