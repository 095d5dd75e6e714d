#include "ops/conv/geometry.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {
namespace {

void require(bool ok, const std::string& message) {
  if (!ok) throw Error(ErrorKind::kModel, message);
}

}  // namespace

Shape ConvGeometry::output_shape() const { return pooled_shape({batch, all_out_channels()}, window); }

double ConvGeometry::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(all_out_channels()) *
         static_cast<double>(window.output_count()) * static_cast<double>(filter_size());
}

ConvGeometry conv_geometry(const Attributes& attributes, const Shape& x, const Shape& w) {
  const Shape spatial = spatial_of(x);
  require(w.size() == x.size(), fmt::format("expected weights of rank {} like the input, found {} for the input {}",
                                            x.size(), to_string(w), to_string(x)));
  const Shape kernel(w.begin() + 2, w.end());
  require(attributes.get_ints("kernel_shape", kernel) == kernel,
          fmt::format("expected the attribute 'kernel_shape' to agree with the weights {}, found {}", to_string(w),
                      to_string(attributes.get_ints("kernel_shape", kernel))));
  const int64_t groups = attributes.get_int("group", 1);
  require(
      groups >= 1 && w[0] % groups == 0 && x[1] == w[1] * groups,
      fmt::format("expected input channels = group * weight channels and output channels that are a multiple of the "
                  "group, found the input {}, the weights {} and group {}",
                  to_string(x), to_string(w), groups));
  return {.batch = x[0],
          .groups = groups,
          .in_channels = w[1],
          .out_channels = w[0] / groups,
          .window = make_window(attributes, spatial, kernel)};
}

ConvGeometry conv_geometry(const KernelSpec& spec) {
  const Shape& x = spec.op == kConvGradInput ? spec.outputs[0].shape : spec.inputs[0].shape;
  const Shape& w = spec.op == kConvGradWeight ? spec.outputs[0].shape : spec.inputs[1].shape;
  return conv_geometry(spec.attributes, x, w);
}

}  // namespace onward
