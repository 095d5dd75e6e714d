// Channels-last. Forward: a block adds the positions of one image, its threads' sums joined in a fixed tree.
#include "ops/core/cuda/columns.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

template <typename T, int kLanes>
__global__ void __launch_bounds__(kColumnThreads)
    pool_kernel(int64_t lanes, int64_t images, int64_t positions, const T* x, T* y) {
  const int64_t lane = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (int64_t image = blockIdx.y; image < images; image += gridDim.y) {
    Total own[kLanes] = {};
    for (int64_t p = threadIdx.y; lane < lanes && p < positions; p += blockDim.y) {
      const auto in = load_pack<kLanes>(x + ((image * positions + p) * lanes + lane) * kLanes);
#pragma unroll
      for (int c = 0; c < kLanes; ++c) own[c].sum += static_cast<double>(in.at[c]);
    }
    Pack<T, kLanes> out;
#pragma unroll
    for (int c = 0; c < kLanes; ++c) {
      join_column(own[c]);
      out.at[c] = static_cast<T>(own[c].sum / static_cast<double>(positions));
    }
    if (threadIdx.y == 0 && lane < lanes) store_pack(y + (image * lanes + lane) * kLanes, out);
  }
}

template <typename T, int kLanes>
__global__ void __launch_bounds__(kColumnThreads)
    pool_grad_kernel(int64_t lanes, int64_t pixels, int64_t positions, const T* dy, T* dx) {
  const float factor = 1 / static_cast<float>(positions);
  walk_rows(lanes, pixels, [&](int64_t lane, int64_t pixel) {
    const auto in = load_pack<kLanes>(dy + (pixel / positions * lanes + lane) * kLanes);
    Pack<T, kLanes> out;
#pragma unroll
    for (int c = 0; c < kLanes; ++c) out.at[c] = static_cast<T>(static_cast<float>(in.at[c]) * factor);
    store_pack(dx + (pixel * lanes + lane) * kLanes, out);
  });
}

int64_t positions_of(const Shape& shape) { return element_count(Shape(shape.begin() + 2, shape.end())); }

template <typename T, int kLanes>
void pool(const KernelSpec& spec, const KernelContext& context) {
  const Shape& shape = spec.inputs[0].shape;
  const ColumnGrid grid(Columns(shape), kLanes, 1);
  LaunchShape blocks = grid.shape();
  constexpr int64_t kMostImages = 65535;  // of a grid; further ones are a loop
  blocks.grid.y = static_cast<unsigned>(shape[0] < kMostImages ? shape[0] : kMostImages);
  launch(pool_kernel<T, kLanes>, blocks, context.stream, grid.lanes, shape[0], positions_of(shape), context.in<T>(0),
         context.out<T>(0));
}

template <typename T, int kLanes>
void pool_grad(const KernelSpec& spec, const KernelContext& context) {
  const Columns columns(spec.outputs[0].shape);
  const ColumnGrid grid(columns, kLanes, kWalkBlocks);
  launch(pool_grad_kernel<T, kLanes>, grid.shape(), context.stream, grid.lanes, columns.rows,
         positions_of(spec.outputs[0].shape), context.in<T>(0), context.out<T>(0));
}

template <KernelFunction kFour, KernelFunction kOne>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  if (spec.inputs[0].shape[1] % 4 == 0) return make_function_kernel<kFour>(spec);
  return make_function_kernel<kOne>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  const std::vector<OperandLayout> last{OperandLayout::kChannelsLast};
  registry.add(KernelDef{.op = {"", "GlobalAveragePool"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .input_layouts = last,
                         .output_layouts = last,
                         .make = make<pool<T, 4>, pool<T, 1>>});
  registry.add(KernelDef{.op = {kOnwardDomain, "GlobalAveragePoolGrad"},
                         .backend = Backend::kCuda,
                         .dtype = dtype_of<T>(),
                         .input_layouts = last,
                         .output_layouts = last,
                         .make = make<pool_grad<T, 4>, pool_grad<T, 1>>});
}

}  // namespace

void register_global_average_pool_cuda(Registry& registry) { add_kernels<float>(registry); }

}  // namespace onward
