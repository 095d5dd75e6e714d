// Convolutions in fp64 through BLAS. The activations are channels-last, so that the patch under one output position is
// a list of contiguous runs of channels: a few hundred pixels at a time are copied out as rows of patches (K =
// positions * channels of a group) and multiplied by the weights, which are packed to (group, K, out channels) at every
// run. Threads take whole images; only the gradient of the weights, a sum over images, takes output channels instead,
// so that every element is added up in one order.
#include <algorithm>
#include <cstring>

#include "ops/conv/fast_kernels.h"
#include "ops/conv/geometry.h"
#include "ops/core/blas.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

constexpr int64_t kPixels = 256;  // rows of patches that are multiplied at once

class BlasConv : public Kernel {
 public:
  explicit BlasConv(const KernelSpec& spec)
      : geometry_(conv_geometry(spec)), taps_(window_taps(geometry_.window)), threads_(std::max(spec.threads, 1)) {
    blas::use_one_thread();
  }

  std::string describe() const override { return "blas"; }
  int reorders() const override { return 1; }
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(weight_count() + threads_ * patch_count()) * sizeof(double);
  }

 protected:
  int64_t in_size() const { return geometry_.window.input_count(); }
  int64_t out_size() const { return geometry_.window.output_count(); }
  int64_t positions() const { return geometry_.window.positions(); }
  int64_t weight_count() const { return geometry_.all_out_channels() * geometry_.filter_size(); }
  int64_t patch_count() const { return std::min(kPixels, out_size()) * geometry_.filter_size(); }

  double* packed(const KernelContext& context) const { return static_cast<double*>(context.workspace); }
  double* patches(const KernelContext& context, int64_t part) const {
    return packed(context) + weight_count() + part * patch_count();
  }

  // Calls body(image, part) for every image; images of one part run on one thread.
  template <typename Body>
  void for_each_image(Body&& body) const {
    parallel_for(threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t last = geometry_.batch * (part + 1) / threads_;
        for (int64_t image = geometry_.batch * part / threads_; image < last; ++image) body(image, part);
      }
    });
  }

  // Weights (O, C/group, kernel...) to (group, kernel..., C/group, O/group), or back.
  void pack(const double* w, double* to) const { move_weights<true>(const_cast<double*>(w), to); }
  void unpack(const double* from, double* w) const { move_weights<false>(w, const_cast<double*>(from)); }

  // The patches under output positions [begin, end) of one group of one image.
  void gather(const double* x, int64_t group, int64_t begin, int64_t end, double* patch) const {
    const int64_t channels = geometry_.in_channels;
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t k = 0; k < positions(); ++k, patch += channels) {
        const int32_t tap = taps_[static_cast<std::size_t>(p * positions() + k)];
        if (tap < 0) {
          std::fill_n(patch, channels, 0.0);
        } else {
          std::memcpy(patch, x + tap * geometry_.all_in_channels() + group * channels,
                      static_cast<std::size_t>(channels) * sizeof(double));
        }
      }
    }
  }

  // Adds patches back to where gather takes them from.
  void scatter(const double* patch, int64_t group, int64_t begin, int64_t end, double* x) const {
    const int64_t channels = geometry_.in_channels;
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t k = 0; k < positions(); ++k, patch += channels) {
        const int32_t tap = taps_[static_cast<std::size_t>(p * positions() + k)];
        if (tap < 0) continue;
        double* to = x + tap * geometry_.all_in_channels() + group * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] += patch[c];
      }
    }
  }

  ConvGeometry geometry_;
  std::vector<int32_t> taps_;
  int64_t threads_;

 private:
  template <bool kPack>
  void move_weights(double* w, double* packed) const {
    const int64_t outs = geometry_.out_channels, ins = geometry_.in_channels;
    parallel_for(geometry_.all_out_channels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        double* column = packed + o / outs * geometry_.filter_size() * outs + o % outs;
        for (int64_t c = 0; c < ins; ++c) {
          for (int64_t k = 0; k < positions(); ++k) {
            double& plain = w[(o * ins + c) * positions() + k];
            double& moved = column[(k * ins + c) * outs];
            (kPack ? moved : plain) = kPack ? plain : moved;
          }
        }
      }
    });
  }
};

class BlasConvForward final : public BlasConv {
 public:
  explicit BlasConvForward(const KernelSpec& spec) : BlasConv(spec), has_bias_(spec.has_input(2)) {}

  void run(const KernelContext& context) override {
    pack(context.in<double>(1), packed(context));
    for_each_image([&](int64_t image, int64_t part) {
      const double* x = context.in<double>(0) + image * in_size() * geometry_.all_in_channels();
      double* y = context.out<double>(0) + image * out_size() * geometry_.all_out_channels();
      start_with_bias(has_bias_ ? context.in<double>(2) : nullptr, y);
      for (int64_t group = 0; group < geometry_.groups; ++group) {
        for (int64_t begin = 0; begin < out_size(); begin += kPixels) {
          multiply(x, packed(context), group, begin, std::min(begin + kPixels, out_size()), patches(context, part), y);
        }
      }
    });
  }

 private:
  void start_with_bias(const double* bias, double* y) const {
    const int64_t channels = geometry_.all_out_channels();
    for (int64_t p = 0; p < out_size(); ++p) {
      for (int64_t c = 0; c < channels; ++c) y[p * channels + c] = bias ? bias[c] : 0.0;
    }
  }

  void multiply(const double* x, const double* weights, int64_t group, int64_t begin, int64_t end, double* patch,
                double* y) const {
    gather(x, group, begin, end, patch);
    const int64_t outs = geometry_.out_channels, k = geometry_.filter_size();
    blas::product(false, false, end - begin, outs, k, 1, patch, k, weights + group * k * outs, outs, 1,
                  y + begin * geometry_.all_out_channels() + group * outs, geometry_.all_out_channels());
  }

  bool has_bias_;
};

class BlasConvGradInput final : public BlasConv {
 public:
  using BlasConv::BlasConv;

  void run(const KernelContext& context) override {
    pack(context.in<double>(1), packed(context));
    for_each_image([&](int64_t image, int64_t part) {
      const double* dy = context.in<double>(0) + image * out_size() * geometry_.all_out_channels();
      double* dx = context.out<double>(0) + image * in_size() * geometry_.all_in_channels();
      std::fill_n(dx, in_size() * geometry_.all_in_channels(), 0.0);
      for (int64_t group = 0; group < geometry_.groups; ++group) {
        for (int64_t begin = 0; begin < out_size(); begin += kPixels) {
          multiply(dy, packed(context), group, begin, std::min(begin + kPixels, out_size()), patches(context, part),
                   dx);
        }
      }
    });
  }

 private:
  void multiply(const double* dy, const double* weights, int64_t group, int64_t begin, int64_t end, double* patch,
                double* dx) const {
    const int64_t outs = geometry_.out_channels, k = geometry_.filter_size();
    blas::product(false, true, end - begin, k, outs, 1, dy + begin * geometry_.all_out_channels() + group * outs,
                  geometry_.all_out_channels(), weights + group * k * outs, outs, 0, patch, k);
    scatter(patch, group, begin, end, dx);
  }
};

// Every thread owns a range of output channels and goes through all images: no partial sums to merge. The patches are
// copied once per thread, which is little next to the product unless there are very few channels.
class BlasConvGradWeight final : public BlasConv {
 public:
  using BlasConv::BlasConv;

  void run(const KernelContext& context) override {
    parallel_for(threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t outs = geometry_.out_channels;
        sum_images(context, outs * part / threads_, outs * (part + 1) / threads_, patches(context, part));
      }
    });
    unpack(packed(context), context.out<double>(0));
  }

 private:
  // Columns [first, last) of every group's weights.
  void sum_images(const KernelContext& context, int64_t first, int64_t last, double* patch) const {
    if (first == last) return;
    const int64_t outs = geometry_.out_channels, k = geometry_.filter_size();
    for (int64_t group = 0; group < geometry_.groups; ++group) {
      double* dw = packed(context) + group * k * outs + first;
      double beta = 0;  // the first product overwrites what the workspace holds
      for (int64_t image = 0; image < geometry_.batch; ++image) {
        const double* x = context.in<double>(0) + image * in_size() * geometry_.all_in_channels();
        const double* dy =
            context.in<double>(1) + image * out_size() * geometry_.all_out_channels() + group * outs + first;
        for (int64_t begin = 0; begin < out_size(); begin += kPixels, beta = 1) {
          const int64_t end = std::min(begin + kPixels, out_size());
          gather(x, group, begin, end, patch);
          blas::product(true, false, k, last - first, end - begin, 1, patch, k,
                        dy + begin * geometry_.all_out_channels(), geometry_.all_out_channels(), beta, dw, outs);
        }
      }
    }
  }
};

bool accepts(const KernelSpec& spec) {
  const ConvGeometry geometry = conv_geometry(spec);
  return geometry.batch > 0 && geometry.in_channels > 0 && geometry.out_channels > 0;
}

}  // namespace

void register_conv_blas(Registry& registry) {
  add_fast_conv_kernels<BlasConvForward, BlasConvGradInput, BlasConvGradWeight>(registry, DType::kFloat64, accepts);
}

}  // namespace onward
