#include "ops/batch_norm_lowered/channels_last_kernels.h"
#include "ops/batch_norm_lowered/normalise_rows.h"

namespace onward {
namespace {

class ApplyKernel final : public Kernel {
 public:
  explicit ApplyKernel(const KernelSpec& spec)
      : rows_(spec.inputs[0].shape), residual_(spec.has_input(5)), relu_(spec.attributes.get_int("relu", 0) != 0) {}

  std::size_t workspace_bytes() const override { return rows_.workspace_bytes(); }

  void run(const KernelContext& context) override {
    const float *mean = context.in<float>(1), *inv_std = context.in<float>(2);
    const float *scale = context.in<float>(3), *bias = context.in<float>(4);
    const NormaliseRows::Lanes lanes = rows_.lanes(context.workspace);
    for (int64_t c = 0; c < rows_.channels(); ++c) {
      lanes.mean[c] = mean[c];
      lanes.factor[c] = scale[c] * inv_std[c];
      lanes.bias[c] = bias[c];
    }
    rows_.run(lanes, context.in<float>(0), residual_ ? context.in<float>(5) : nullptr, relu_, context.out<float>(0));
  }

  std::string describe() const override { return "channels-last"; }

 private:
  NormaliseRows rows_;
  bool residual_, relu_;
};

}  // namespace

std::unique_ptr<Kernel> make_channels_last_apply(const KernelSpec& spec) { return std::make_unique<ApplyKernel>(spec); }

}  // namespace onward
