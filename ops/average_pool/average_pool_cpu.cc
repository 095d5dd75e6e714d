// Plain average pooling, row-major; the reference that the channels-last kernels are tested against.
#include <algorithm>

#include "ops/average_pool/average_pool.h"
#include "ops/average_pool/average_pool_channels_last.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

class PlainPool : public Kernel {
 public:
  // `image` is the operand with the window's input positions.
  PlainPool(const KernelSpec& spec, const Operand& image)
      : window_(pooling_window(spec.attributes, image.shape)),
        taps_(window_taps(window_)),
        divisors_(average_divisors(spec.attributes, window_, taps_)),
        planes_(image.shape[0] * image.shape[1]) {}

 protected:
  int64_t in_size() const { return window_.input_count(); }
  int64_t out_size() const { return window_.output_count(); }
  const int32_t* taps(int64_t output) const { return taps_.data() + output * window_.positions(); }

  Window window_;
  std::vector<int32_t> taps_;
  std::vector<double> divisors_;
  int64_t planes_;
};

template <typename T>
class PlainAveragePool final : public PlainPool {
 public:
  explicit PlainAveragePool(const KernelSpec& spec) : PlainPool(spec, spec.inputs[0]) {}

  void run(const KernelContext& context) override {
    parallel_for(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        pool_plane(context.in<T>(0) + plane * in_size(), context.out<T>(0) + plane * out_size());
      }
    });
  }

 private:
  void pool_plane(const T* x, T* y) const {
    for (int64_t p = 0; p < out_size(); ++p) {
      T sum = 0;
      for (int64_t k = 0; k < window_.positions(); ++k) {
        if (taps(p)[k] >= 0) sum += x[taps(p)[k]];
      }
      y[p] = sum / static_cast<T>(divisors_[p]);
    }
  }
};

template <typename T>
class PlainAveragePoolGrad final : public PlainPool {
 public:
  explicit PlainAveragePoolGrad(const KernelSpec& spec) : PlainPool(spec, spec.outputs[0]) {}

  void run(const KernelContext& context) override {
    parallel_for(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        scatter_plane(context.in<T>(0) + plane * out_size(), context.out<T>(0) + plane * in_size());
      }
    });
  }

 private:
  void scatter_plane(const T* dy, T* dx) const {
    std::fill_n(dx, in_size(), T(0));
    for (int64_t p = 0; p < out_size(); ++p) {
      for (int64_t k = 0; k < window_.positions(); ++k) {
        if (taps(p)[k] >= 0) dx[taps(p)[k]] += dy[p] / static_cast<T>(divisors_[p]);
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
  registry.add(KernelDef{.op = kAveragePool, .dtype = dtype_of<T>(), .make = make<PlainAveragePool<T>>});
  registry.add(KernelDef{.op = kAveragePoolGrad, .dtype = dtype_of<T>(), .make = make<PlainAveragePoolGrad<T>>});
}

}  // namespace

void register_average_pool_cpu(Registry& registry) {
  add_kernels<float>(registry);
  add_kernels<double>(registry);
  add_channels_last_average_pool(registry);
}

}  // namespace onward
