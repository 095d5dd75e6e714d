// 3x3 convolutions with stride 1 and padding 1 by Winograd's F(4x4, 3x3), in fp32 on channels-last activations: up to
// three times as fast as the direct ones, at about ten times their rounding error, hence only where the spec allows it.
// Transforms are ours (winograd.h), the 36 matrix products one batched product of oneDNN. Images go through in blocks:
// small enough for the transformed tensors to stay in the cache, large enough to outweigh reading the transformed
// weights again.
#include "ops/conv/winograd_onednn.h"

#include <algorithm>

#include "ops/conv/geometry.h"
#include "ops/conv/winograd.h"
#include "ops/core/onednn.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

using onednn::Step;
using winograd::kPoints;
using winograd::Tiles;

constexpr int64_t kCacheBytes = int64_t{1} << 20;  // of a thread, half of its second-level cache

// The images of a batch in equal blocks and a smaller last one.
struct Blocks {
  int64_t images;  // of the batch
  int64_t size;    // images of a block

  Blocks(const Tiles& one_image, int64_t other_channels, int64_t batch, int threads) : images(batch) {
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    const int64_t weights = kPoints * one_image.channels * other_channels * kFloat;
    const int64_t both = kPoints * one_image.count() * (one_image.channels + other_channels) * kFloat;
    const int64_t block = std::max(kCacheBytes * threads, 2 * weights);  // measured best from 32 to 512 channels
    const int64_t count = (both * batch + block - 1) / block;
    size = (batch + count - 1) / count;
  }
  int64_t last() const { return images % size; }  // 0: all blocks are equal
};

class WinogradConv : public Kernel {
 public:
  explicit WinogradConv(const KernelSpec& spec)
      : geometry_(conv_geometry(spec)),
        blocks_(input_tiles(1), geometry_.out_channels, geometry_.batch, spec.threads),
        threads_(spec.threads) {}

  std::size_t workspace_bytes() const override { return parts_.bytes(); }
  std::string describe() const override { return "winograd F(4x4,3x3), onednn " + product_.implementation(); }
  int reorders() const override { return 1; }

 protected:
  Tiles input_tiles(int64_t images) const { return tiles(images, geometry_.in_channels); }
  Tiles output_tiles(int64_t images) const { return tiles(images, geometry_.out_channels); }

  std::size_t add_floats(int64_t count) { return parts_.add(static_cast<std::size_t>(count) * sizeof(float)); }
  static float* floats(const KernelContext& context, std::size_t offset) {
    return static_cast<float*>(onednn::at(context.workspace, offset));
  }

  // Calls body(first image, images) for every block.
  template <typename Body>
  void for_each_block(Body&& body) const {
    for (int64_t first = 0; first < blocks_.images; first += blocks_.size) {
      body(first, std::min(blocks_.size, blocks_.images - first));
    }
  }

  ConvGeometry geometry_;
  Blocks blocks_;
  int threads_;
  onednn::WorkspaceParts parts_;
  Step product_;

 private:
  Tiles tiles(int64_t images, int64_t channels) const {
    return {images, geometry_.window.input[0], geometry_.window.input[1], channels};
  }
};

dnnl::memory::desc points(int64_t rows, int64_t columns) { return onednn::row_major({kPoints, rows, columns}); }

// m[point] = v[point] * u[point] over tiles x channels.
Step tile_product(int64_t tiles, int64_t from, int64_t to) {
  const auto v = points(tiles, from), u = points(from, to), m = points(tiles, to);
  const auto product = onednn::matrix_product(v, u, m, 1, false);
  return Step(product, dnnl::matmul(product), {{DNNL_ARG_SRC, v}, {DNNL_ARG_WEIGHTS, u}, {DNNL_ARG_DST, m}});
}

// Y from X, or dX from dY with flipped weights: the same with the channels exchanged.
class WinogradImages final : public WinogradConv {
 public:
  explicit WinogradImages(const KernelSpec& spec)
      : WinogradConv(spec), forward_(spec.op == kConv), has_bias_(forward_ && spec.has_input(2)) {
    const int64_t from = source(1).channels, to = target(1).channels;
    onednn::prepare(spec.node, threads_, [&] {
      product_ = tile_product(source(blocks_.size).count(), from, to);
      if (blocks_.last()) last_product_ = tile_product(source(blocks_.last()).count(), from, to);
    });
    u_ = add_floats(kPoints * from * to);
    v_ = add_floats(source(blocks_.size).transformed());
    m_ = add_floats(target(blocks_.size).transformed());
    scratchpad_ = parts_.add(std::max(product_.scratchpad_bytes(), last_product_.scratchpad_bytes()));
  }

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    float *u = floats(context, u_), *v = floats(context, v_), *m = floats(context, m_);
    (forward_ ? winograd::transform_weights : winograd::transform_flipped_weights)(
        context.in<float>(1), geometry_.out_channels, geometry_.in_channels, u);
    const float* bias = has_bias_ ? context.in<float>(2) : nullptr;
    for_each_block([&](int64_t first, int64_t images) {
      const Tiles from = source(images), to = target(images);
      const int64_t pixel = first * from.height * from.width;
      winograd::transform_input(from, context.in<float>(0) + pixel * from.channels, v);
      (images == blocks_.size ? product_ : last_product_).run({v, u, m}, onednn::at(context.workspace, scratchpad_));
      winograd::transform_output(to, m, bias, context.out<float>(0) + pixel * to.channels);
    });
  }

 private:
  Tiles source(int64_t images) const { return forward_ ? input_tiles(images) : output_tiles(images); }
  Tiles target(int64_t images) const { return forward_ ? output_tiles(images) : input_tiles(images); }

  bool forward_, has_bias_;
  Step last_product_;
  std::size_t u_, v_, m_, scratchpad_;
};

// p[point] (+)= g[point]^T * v[point]: out channels x in channels, summed over tiles.
Step weight_product(int64_t tiles, int64_t out, int64_t in, bool accumulate) {
  const auto g = onednn::strided({kPoints, out, tiles}, {tiles * out, 1, out});
  const auto v = points(tiles, in), p = points(out, in);
  const auto product = onednn::matrix_product(g, v, p, 1, accumulate);
  return Step(product, dnnl::matmul(product), {{DNNL_ARG_SRC, g}, {DNNL_ARG_WEIGHTS, v}, {DNNL_ARG_DST, p}});
}

class WinogradWeights final : public WinogradConv {
 public:
  explicit WinogradWeights(const KernelSpec& spec) : WinogradConv(spec) {
    const int64_t out = geometry_.out_channels, in = geometry_.in_channels;
    onednn::prepare(spec.node, threads_, [&] {
      product_ = weight_product(input_tiles(blocks_.size).count(), out, in, false);
      next_product_ = weight_product(input_tiles(blocks_.size).count(), out, in, true);
      if (blocks_.last()) last_product_ = weight_product(input_tiles(blocks_.last()).count(), out, in, true);
    });
    p_ = add_floats(kPoints * out * in);
    v_ = add_floats(input_tiles(blocks_.size).transformed());
    g_ = add_floats(output_tiles(blocks_.size).transformed());
    scratchpad_ = parts_.add(
        std::max({product_.scratchpad_bytes(), next_product_.scratchpad_bytes(), last_product_.scratchpad_bytes()}));
  }

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    float *p = floats(context, p_), *v = floats(context, v_), *g = floats(context, g_);
    for_each_block([&](int64_t first, int64_t images) {
      const Tiles x = input_tiles(images), dy = output_tiles(images);
      const int64_t pixel = first * x.height * x.width;
      winograd::transform_input(x, context.in<float>(0) + pixel * x.channels, v);
      winograd::transform_gradient(dy, context.in<float>(1) + pixel * dy.channels, g);
      Step& product = first == 0 ? product_ : images == blocks_.size ? next_product_ : last_product_;
      product.run({g, v, p}, onednn::at(context.workspace, scratchpad_));
    });
    winograd::inverse_transform_weights(p, geometry_.out_channels, geometry_.in_channels, context.out<float>(0));
  }

 private:
  Step next_product_, last_product_;
  std::size_t p_, v_, g_, scratchpad_;
};

bool all_equal(const Shape& list, int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
}

bool accepts(const KernelSpec& spec) {
  if (!spec.winograd) return false;
  constexpr int64_t kFewestChannels = 32;  // below, the transforms cost more than they save
  const ConvGeometry g = conv_geometry(spec);
  const Window& w = g.window;
  const auto fits = [](int64_t channels) { return channels >= kFewestChannels && channels % winograd::kLanes == 0; };
  return g.batch > 0 && g.groups == 1 && fits(g.in_channels) && fits(g.out_channels) && w.kernel == Shape{3, 3} &&
         all_equal(w.strides, 1) && all_equal(w.dilations, 1) && all_equal(w.pads_begin, 1) && all_equal(w.pads_end, 1);
}

template <typename K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<K>(spec);
}

}  // namespace

void add_winograd_kernels(Registry& registry) {
  const auto last = OperandLayout::kChannelsLast, row = OperandLayout::kRowMajor;
  for (const OpId& op : {kConv, kConvGradInput}) {
    registry.add(KernelDef{.op = op,
                           .dtype = DType::kFloat32,
                           .priority = 20,
                           .input_layouts = {last, row, row},
                           .output_layouts = {last},
                           .accepts = accepts,
                           .make = make<WinogradImages>});
  }
  registry.add(KernelDef{.op = kConvGradWeight,
                         .dtype = DType::kFloat32,
                         .priority = 20,
                         .input_layouts = {last, last},
                         .output_layouts = {row},
                         .accepts = accepts,
                         .make = make<WinogradWeights>});
}

}  // namespace onward
