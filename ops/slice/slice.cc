// Slice: every `step`-th element of some axes, any element type. Normal form: attributes `axes` (ascending; only those
// that change), `starts` (of the first element), `steps` (may be negative) and `counts`. onward::SliceGrad puts dy back
// among zeros.
#include <algorithm>

#include "ops/core/axes.h"
#include "ops/core/distribution_context.h"
#include "ops/core/gradient_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/normalise_context.h"
#include "ops/core/registry.h"

namespace onward {
namespace {

const OpId kSliceGrad{kOnwardDomain, "SliceGrad"};

// The normal form's attributes of one node.
struct Slices {
  std::vector<int64_t> axes, starts, steps, counts;

  explicit Slices(const Attributes& a)
      : axes(a.get_ints("axes")),
        starts(a.get_ints("starts")),
        steps(a.get_ints("steps")),
        counts(a.get_ints("counts")) {}
  Slices() = default;
  Attributes attributes() const { return {{"axes", axes}, {"starts", starts}, {"steps", steps}, {"counts", counts}}; }
};

Shape sliced(const Shape& shape, const Slices& slices) {
  Shape result = shape;
  for (std::size_t i = 0; i < slices.axes.size(); ++i)
    result.at(static_cast<std::size_t>(slices.axes[i])) = slices.counts.at(i);
  return result;
}

void infer(InferContext& context) {
  const Slices slices(context.attributes());
  const Shape shape = context.shape(0);
  for (std::size_t i = 0; i < slices.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(resolve_axis(slices.axes[i], shape.size()));
    const int64_t last = slices.starts.at(i) + slices.steps.at(i) * (slices.counts.at(i) - 1);
    const bool inside = slices.starts[i] >= 0 && slices.starts[i] < shape[axis] && last >= 0 && last < shape[axis];
    context.require(slices.counts[i] == 0 || inside,
                    "elements within axis " + std::to_string(axis) + " of " + to_string(shape),
                    to_string(context.attributes()));
  }
  context.set(0, context.dtype(0), sliced(shape, slices));
}

void gradient(GradientContext& context) {
  Attributes attributes = context.attributes();
  attributes.set("input_shape", context.x(0)->type.shape());
  context.set_dx(0, context.emit(kSliceGrad, {context.dy(0)}, attributes));
}

// The range start:end:step of an axis, by the rules of ONNX: ends beyond the axis are clamped.
void add_range(Slices& slices, int64_t axis, int64_t size, int64_t start, int64_t end, int64_t step) {
  const auto clamp = [&](int64_t position, int64_t low, int64_t high) {
    return std::clamp(position < 0 ? position + size : position, low, high);
  };
  const bool forward = step > 0;
  const int64_t first = forward ? clamp(start, 0, size) : clamp(start, 0, size - 1);
  const int64_t stop = forward ? clamp(end, 0, size) : clamp(end, -1, size - 1);
  const int64_t span = forward ? stop - first : first - stop;
  const int64_t stride = forward ? step : -step;
  const int64_t count = span <= 0 ? 0 : (span - 1) / stride + 1;
  if (first == 0 && step == 1 && count == size) return;
  slices.axes.push_back(axis);
  slices.starts.push_back(first);
  slices.steps.push_back(step);
  slices.counts.push_back(count);
}

// Inputs 1 ... 4 of the newer form: starts, ends, axes, steps.
void inputs_to_attributes(NormaliseContext& context) {
  const char* names[] = {"starts", "ends", "axes", "steps"};
  for (std::size_t i = 0; i < 4; ++i) {
    if (const HostTensor* data = context.constant(i + 1)) context.node().attributes.set(names[i], data->to_int64());
  }
  context.drop_inputs_from(1);
}

void normalise(NormaliseContext& context) {
  Node& node = context.node();
  if (node.attributes.has("counts")) return;
  inputs_to_attributes(context);
  const Shape shape = node.input(0)->type.shape();
  const std::vector<int64_t> starts = node.attributes.get_ints("starts"), ends = node.attributes.get_ints("ends");
  std::vector<int64_t> all(starts.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  std::vector<int64_t> axes = node.attributes.get_ints("axes", all);
  const std::vector<int64_t> steps = node.attributes.get_ints("steps", std::vector<int64_t>(starts.size(), 1));
  for (int64_t& axis : axes) axis = resolve_axis(axis, shape.size());
  Slices slices;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto found = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis));
    if (found == axes.end()) continue;
    const auto i = static_cast<std::size_t>(found - axes.begin());
    add_range(slices, static_cast<int64_t>(axis), shape[axis], starts.at(i), ends.at(i), steps.at(i));
  }
  node.attributes = slices.attributes();
}

void distribute(DistributionContext& context) {
  const std::vector<int64_t> axes = context.node().attributes.get_ints("axes");
  if (context.input(0) == Distribution::kBatchSplit && std::count(axes.begin(), axes.end(), 0)) {
    context.fail("takes some rows of a batch that is split over the replicas");
  }
  context.set_all(context.input(0));
}

Attributes range_attributes(const Shape& axes, const Shape& starts, const Shape& steps, const Shape& counts) {
  return {{"axes", axes}, {"starts", starts}, {"steps", steps}, {"counts", counts}};
}

std::vector<SampleCase> samples() {
  return {{.name = "every_second",
           .inputs = {SampleInput{.shape = {2, 3, 5, 4}}},
           .attributes = range_attributes({2, 3}, {0, 1}, {2, 2}, {3, 2}),
           .gradients = {0}},
          {.name = "backwards",
           .inputs = {SampleInput{.shape = {2, 5}}},
           .attributes = range_attributes({1}, {4}, {-2}, {3}),
           .gradients = {0}},
          {.name = "rows",
           .inputs = {SampleInput{.shape = {4, 3}}},
           .attributes = range_attributes({0}, {1}, {1}, {2}),
           .gradients = {0}},
          {.name = "nothing",
           .inputs = {SampleInput{.shape = {2, 3}}},
           .attributes = range_attributes({1}, {3}, {1}, {0}),
           .gradients = {0}},
          {.name = "shape",
           .inputs = {SampleInput{.shape = {4}, .low = 0, .high = 9, .dtype = DType::kInt64}},
           .attributes = range_attributes({0}, {2}, {1}, {2})}};
}

void infer_grad(InferContext& context) {
  context.set(0, context.dtype(0), context.attributes().get_ints("input_shape"));
}

std::vector<SampleCase> grad_samples() {
  Attributes attributes = range_attributes({2}, {1}, {2}, {2});
  attributes.set("input_shape", Shape{2, 3, 4});
  return {{.name = "every_second", .inputs = {SampleInput{.shape = {2, 3, 2}}}, .attributes = attributes}};
}

}  // namespace

void register_slice(Registry& registry) {
  registry.add(OpDef{.id = {"", "Slice"},
                     .versions = {1, 10, 11, 13},
                     .summary = "every n-th element of some axes",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer,
                     .gradient = gradient,
                     .normalise = normalise,
                     .distribute = distribute,
                     .samples = samples});
  registry.add(OpDef{.id = kSliceGrad,
                     .summary = "gradient of Slice: dy among zeros",
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .infer = infer_grad,
                     .distribute = distribute,
                     .samples = grad_samples});
}

}  // namespace onward
