// Copies elements by their size, so that one kernel serves every type.
#include "ops/core/parallel.h"
#include "ops/core/registry.h"
#include "ops/transpose/permutation.h"

namespace onward {
namespace {

class TransposeKernel final : public Kernel {
 public:
  explicit TransposeKernel(const KernelSpec& spec) : element_size_(dtype_size(spec.inputs[0].dtype)) {
    const Shape& input = spec.inputs[0].shape;
    const std::vector<int64_t> perm = permutation(spec.attributes, input.size());
    std::vector<int64_t> input_steps(input.size(), 1);
    for (std::size_t i = input.size(); i-- > 1;) input_steps[i - 1] = input_steps[i] * input[i];
    for (const int64_t i : perm) {
      extents_.push_back(input[static_cast<std::size_t>(i)]);
      steps_.push_back(input_steps[static_cast<std::size_t>(i)]);
    }
    if (extents_.empty()) {
      extents_ = {1};
      steps_ = {1};
    }
    rows_ = 1;
    for (std::size_t i = 0; i + 1 < extents_.size(); ++i) rows_ *= extents_[i];
  }

  void run(const KernelContext& context) override {
    switch (element_size_) {
      case 1: return copy(context.in<uint8_t>(0), context.out<uint8_t>(0));
      case 2: return copy(context.in<uint16_t>(0), context.out<uint16_t>(0));
      case 4: return copy(context.in<uint32_t>(0), context.out<uint32_t>(0));
      default: return copy(context.in<uint64_t>(0), context.out<uint64_t>(0));
    }
  }

 private:
  // Where row `row` of the output (all dimensions but the last) starts in the input.
  int64_t source_of(int64_t row) const {
    int64_t offset = 0;
    for (std::size_t i = extents_.size() - 1; i-- > 0;) {
      offset += row % extents_[i] * steps_[i];
      row /= extents_[i];
    }
    return offset;
  }

  template <typename T>
  void copy(const T* x, T* y) const {
    const int64_t length = extents_.back(), step = steps_.back();
    parallel_for(rows_, 4096 / (length + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = x + source_of(row);
        T* to = y + row * length;
        for (int64_t j = 0; j < length; ++j) to[j] = from[j * step];
      }
    });
  }

  std::size_t element_size_;
  std::vector<int64_t> extents_;  // of the output
  std::vector<int64_t> steps_;    // in the input, for one step of each output dimension
  int64_t rows_;
};

bool accepts(const KernelSpec& spec) {
  const std::size_t size = dtype_size(spec.inputs[0].dtype);
  return size == 1 || size == 2 || size == 4 || size == 8;
}

}  // namespace

void register_transpose_cpu(Registry& registry) {
  registry.add(KernelDef{.op = {"", "Transpose"},
                         .dtype = DType::kUndefined,
                         .accepts = accepts,
                         .make = [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
                           return std::make_unique<TransposeKernel>(spec);
                         }});
}

}  // namespace onward
