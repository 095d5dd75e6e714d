// The plain convolution: the reference that faster ones are tested against. Row-major, loops as in the definition; a
// table of window taps stands for all index arithmetic, so that one loop serves every rank, stride, dilation and
// padding.
#include <algorithm>

#include "ops/conv/geometry.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

class PlainConv : public Kernel {
 public:
  explicit PlainConv(const KernelSpec& spec)
      : geometry_(conv_geometry(spec)),
        taps_(window_taps(geometry_.window)),
        has_bias_(spec.op == kConv && spec.has_input(2)) {}

 protected:
  int64_t in_size() const { return geometry_.window.input_count(); }
  int64_t out_size() const { return geometry_.window.output_count(); }
  int64_t positions() const { return geometry_.window.positions(); }
  const int32_t* taps(int64_t output) const { return taps_.data() + output * positions(); }

  ConvGeometry geometry_;
  std::vector<int32_t> taps_;
  bool has_bias_;
};

// The products of one filter plane with the input plane under one output position.
template <typename T>
T dot(const T* x, const T* w, const int32_t* taps, int64_t positions) {
  T sum = 0;
  for (int64_t k = 0; k < positions; ++k) {
    if (taps[k] >= 0) sum += x[taps[k]] * w[k];
  }
  return sum;
}

template <typename T>
class PlainConvForward final : public PlainConv {
 public:
  using PlainConv::PlainConv;

  void run(const KernelContext& context) override {
    parallel_for(geometry_.batch * geometry_.all_out_channels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) output_plane(context, plane);
    });
  }

 private:
  void output_plane(const KernelContext& context, int64_t plane) const {
    const int64_t image = plane / geometry_.all_out_channels(), o = plane % geometry_.all_out_channels();
    const int64_t group = o / geometry_.out_channels;
    const T* x = context.in<T>(0) + (image * geometry_.all_in_channels() + group * geometry_.in_channels) * in_size();
    const T* w = context.in<T>(1) + o * geometry_.filter_size();
    const T* bias = has_bias_ ? context.in<T>(2) : nullptr;
    T* y = context.out<T>(0) + plane * out_size();
    for (int64_t p = 0; p < out_size(); ++p) {
      T sum = bias ? bias[o] : T(0);
      for (int64_t c = 0; c < geometry_.in_channels; ++c) {
        sum += dot(x + c * in_size(), w + c * positions(), taps(p), positions());
      }
      y[p] = sum;
    }
  }
};

template <typename T>
class PlainConvGradInput final : public PlainConv {
 public:
  using PlainConv::PlainConv;

  void run(const KernelContext& context) override {
    parallel_for(geometry_.batch * geometry_.all_in_channels(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) input_plane(context, plane);
    });
  }

 private:
  void input_plane(const KernelContext& context, int64_t plane) const {
    const int64_t image = plane / geometry_.all_in_channels(), channel = plane % geometry_.all_in_channels();
    const int64_t group = channel / geometry_.in_channels, c = channel % geometry_.in_channels;
    T* dx = context.out<T>(0) + plane * in_size();
    std::fill_n(dx, in_size(), T(0));
    for (int64_t o = group * geometry_.out_channels; o < (group + 1) * geometry_.out_channels; ++o) {
      const T* dy = context.in<T>(0) + (image * geometry_.all_out_channels() + o) * out_size();
      const T* w = context.in<T>(1) + o * geometry_.filter_size() + c * positions();
      for (int64_t p = 0; p < out_size(); ++p) {
        for (int64_t k = 0; k < positions(); ++k) {
          if (taps(p)[k] >= 0) dx[taps(p)[k]] += dy[p] * w[k];
        }
      }
    }
  }
};

template <typename T>
class PlainConvGradWeight final : public PlainConv {
 public:
  using PlainConv::PlainConv;

  void run(const KernelContext& context) override {
    parallel_for(geometry_.all_out_channels() * geometry_.in_channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) filter_plane(context, plane);
    });
  }

 private:
  void filter_plane(const KernelContext& context, int64_t plane) const {
    const int64_t o = plane / geometry_.in_channels, c = plane % geometry_.in_channels;
    const int64_t channel = o / geometry_.out_channels * geometry_.in_channels + c;
    T* dw = context.out<T>(0) + plane * positions();
    std::fill_n(dw, positions(), T(0));
    for (int64_t image = 0; image < geometry_.batch; ++image) {
      const T* x = context.in<T>(0) + (image * geometry_.all_in_channels() + channel) * in_size();
      const T* dy = context.in<T>(1) + (image * geometry_.all_out_channels() + o) * out_size();
      for (int64_t p = 0; p < out_size(); ++p) {
        for (int64_t k = 0; k < positions(); ++k) {
          if (taps(p)[k] >= 0) dw[k] += dy[p] * x[taps(p)[k]];
        }
      }
    }
  }
};

template <typename K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<K>(spec);
}

template <typename T>
void add_kernels(Registry& registry) {
  registry.add(KernelDef{.op = kConv, .dtype = dtype_of<T>(), .make = make<PlainConvForward<T>>});
  registry.add(KernelDef{.op = kConvGradInput, .dtype = dtype_of<T>(), .make = make<PlainConvGradInput<T>>});
  registry.add(KernelDef{.op = kConvGradWeight, .dtype = dtype_of<T>(), .make = make<PlainConvGradWeight<T>>});
}

}  // namespace

void register_conv_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
}

}  // namespace onward
