// Convolutions in fp32 through oneDNN. Activations are channels-last. Weights come row-major and are packed into the
// layout that the primitive asks for at every run, because they change at every step (plain weights would cost up to
// 8x); the gradient of the weights is unpacked in the same way.
#include <algorithm>

#include "ops/conv/fast_kernels.h"
#include "ops/conv/geometry.h"
#include "ops/conv/winograd_onednn.h"
#include "ops/core/onednn.h"
#include "ops/core/parallel.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

using onednn::Step;

// The descriptors of one convolution. Weights get a leading dimension for the groups.
struct Tensors {
  dnnl::memory::desc x, y, w, packed;

  explicit Tensors(const ConvGeometry& geometry) {
    const Window& window = geometry.window;
    Shape input{geometry.batch, geometry.all_in_channels()};
    input.insert(input.end(), window.input.begin(), window.input.end());
    Shape weights{geometry.out_channels, geometry.in_channels};
    if (geometry.groups > 1) weights.insert(weights.begin(), geometry.groups);
    weights.insert(weights.end(), window.kernel.begin(), window.kernel.end());
    x = onednn::channels_last(input);
    y = onednn::channels_last(geometry.output_shape());
    w = onednn::row_major(weights);
    packed = onednn::any_layout(weights);
  }
};

// A convolution step with a copy of the weights before it (or of their gradient after it), if the primitive wants
// another layout than ours. The workspace holds the packed weights and a scratchpad for one step at a time.
class OnednnConv : public Kernel {
 public:
  explicit OnednnConv(const KernelSpec& spec) : threads_(spec.threads) {}

  std::size_t workspace_bytes() const override { return parts_.bytes(); }
  std::string describe() const override { return "onednn " + step_.implementation(); }
  int reorders() const override { return copy_ ? 1 : 0; }

 protected:
  void set_steps(Step step, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
    step_ = std::move(step);
    if (from != to) {
      copy_ = Step::copy(from, to);
      packed_ = parts_.add(std::max(from.get_size(), to.get_size()));
    }
    scratchpad_ = parts_.add(std::max(step_.scratchpad_bytes(), copy_ ? copy_.scratchpad_bytes() : 0));
  }

  // The weights as the primitive takes them.
  const void* pack(const KernelContext& context, std::size_t input) {
    if (!copy_) return context.inputs[input];
    void* packed = onednn::at(context.workspace, packed_);
    copy_.run({context.inputs[input], packed}, scratchpad(context));
    return packed;
  }

  void* scratchpad(const KernelContext& context) const { return onednn::at(context.workspace, scratchpad_); }

  int threads_;
  Step step_, copy_;
  onednn::WorkspaceParts parts_;
  std::size_t packed_ = 0, scratchpad_ = 0;
};

class OnednnConvForward final : public OnednnConv {
 public:
  explicit OnednnConvForward(const KernelSpec& spec) : OnednnConv(spec), has_bias_(spec.has_input(2)) {
    onednn::prepare(spec.node, threads_, [&] {
      const ConvGeometry geometry = conv_geometry(spec);
      const Tensors t(geometry);
      const dnnl::memory::desc bias = onednn::row_major({geometry.all_out_channels()});
      const auto forward =
          onednn::convolution_forward(geometry.window, t.x, t.packed, has_bias_ ? &bias : nullptr, t.y);
      std::vector<Step::Argument> arguments{
          {DNNL_ARG_SRC, t.x}, {DNNL_ARG_WEIGHTS, forward.weights_desc()}, {DNNL_ARG_DST, t.y}};
      if (has_bias_) arguments.push_back({DNNL_ARG_BIAS, bias});
      set_steps(Step(forward, dnnl::convolution_forward(forward), arguments), t.w, forward.weights_desc());
    });
  }

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    const void* w = pack(context, 1);
    step_.run({context.inputs[0], w, context.outputs[0], has_bias_ ? context.inputs[2] : nullptr}, scratchpad(context));
  }

 private:
  bool has_bias_;
};

class OnednnConvGradInput final : public OnednnConv {
 public:
  explicit OnednnConvGradInput(const KernelSpec& spec) : OnednnConv(spec) {
    onednn::prepare(spec.node, threads_, [&] {
      const ConvGeometry geometry = conv_geometry(spec);
      const Tensors t(geometry);
      const auto forward = onednn::convolution_forward(geometry.window, t.x, t.packed, nullptr, t.y);
      const auto backward = onednn::convolution_grad_input(geometry.window, t.x, t.packed, t.y, forward);
      set_steps(Step(backward, dnnl::convolution_backward_data(backward),
                     {{DNNL_ARG_DIFF_DST, t.y}, {DNNL_ARG_WEIGHTS, backward.weights_desc()}, {DNNL_ARG_DIFF_SRC, t.x}}),
                t.w, backward.weights_desc());
    });
  }

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    const void* w = pack(context, 1);
    step_.run({context.inputs[0], w, context.outputs[0]}, scratchpad(context));
  }
};

class OnednnConvGradWeight final : public OnednnConv {
 public:
  explicit OnednnConvGradWeight(const KernelSpec& spec) : OnednnConv(spec) {
    onednn::prepare(spec.node, threads_, [&] {
      const ConvGeometry geometry = conv_geometry(spec);
      const Tensors t(geometry);
      const auto forward = onednn::convolution_forward(geometry.window, t.x, t.packed, nullptr, t.y);
      const auto backward = onednn::convolution_grad_weight(geometry.window, t.x, t.packed, t.y, forward);
      set_steps(
          Step(backward, dnnl::convolution_backward_weights(backward),
               {{DNNL_ARG_SRC, t.x}, {DNNL_ARG_DIFF_DST, t.y}, {DNNL_ARG_DIFF_WEIGHTS, backward.diff_weights_desc()}}),
          backward.diff_weights_desc(), t.w);
    });
  }

  void run(const KernelContext& context) override {
    const TeamSizeScope team(threads_);
    void* dw = copy_ ? onednn::at(context.workspace, packed_) : context.outputs[0];
    step_.run({context.inputs[0], context.inputs[1], dw}, scratchpad(context));
    if (copy_) copy_.run({dw, context.outputs[0]}, scratchpad(context));
  }
};

// One to three spatial dimensions, nothing empty, no cropping: the rest is the plain kernel's.
bool accepts(const KernelSpec& spec) {
  const ConvGeometry geometry = conv_geometry(spec);
  const auto negative = [](const Shape& pads) {
    return std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; });
  };
  const bool empty = geometry.batch == 0 || geometry.in_channels == 0 || geometry.out_channels == 0;
  return geometry.window.input.size() <= 3 && !empty && !negative(geometry.window.pads_begin) &&
         !negative(geometry.window.pads_end);
}

}  // namespace

void register_conv_onednn(Registry& registry) {
  add_fast_conv_kernels<OnednnConvForward, OnednnConvGradInput, OnednnConvGradWeight>(registry, DType::kFloat32,
                                                                                      accepts);
  add_winograd_kernels(registry);
}

}  // namespace onward
