#include "ops/core/onednn.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "ops/core/parallel.h"

namespace onward::onednn {
namespace {

constexpr auto kFloat = dnnl::memory::data_type::f32;

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::memory::desc strided(const Shape& shape, const Shape& steps) { return {shape, kFloat, steps}; }

dnnl::memory::desc any_layout(const Shape& shape) { return {shape, kFloat, dnnl::memory::format_tag::any}; }

dnnl::memory::desc row_major(const Shape& shape) {
  Shape steps(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * shape[i];
  return strided(shape, steps);
}

dnnl::memory::desc channels_last(const Shape& shape) {
  Shape steps(shape.size(), 1);
  int64_t step = shape[1];
  for (std::size_t i = shape.size(); i-- > 2;) {
    steps[i] = step;
    step *= shape[i];
  }
  steps[0] = step;
  return strided(shape, steps);
}

Step::Step(const dnnl::primitive_desc_base& descriptor, const dnnl::primitive& primitive,
           const std::vector<Argument>& arguments)
    : primitive_(primitive), stream_(engine()), implementation_(descriptor.impl_info_str()) {
  const dnnl::memory::desc scratchpad = descriptor.scratchpad_desc();
  scratchpad_bytes_ = scratchpad.get_size();
  for (const Argument& argument : arguments) {
    memories_.push_back(dnnl::memory(argument.desc, engine(), DNNL_MEMORY_NONE));
    arguments_.push_back({argument.name, memories_.back().get()});
  }
  memories_.push_back(dnnl::memory(scratchpad, engine(), DNNL_MEMORY_NONE));
  arguments_.push_back({DNNL_ARG_SCRATCHPAD, memories_.back().get()});
}

Step Step::copy(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc descriptor(engine(), from, engine(), to, attr);
  return Step(descriptor, dnnl::reorder(descriptor), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Step::run(std::initializer_list<const void*> buffers, void* scratchpad) {
  for (std::size_t i = 0; i + 1 < memories_.size(); ++i)
    memories_[i].set_data_handle(const_cast<void*>(buffers.begin()[i]));
  memories_.back().set_data_handle(scratchpad_bytes_ ? scratchpad : nullptr);
  // The C call takes the prepared list; the C++ one would make a map and a list for every run.
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success) {
    throw Error(ErrorKind::kRun,
                fmt::format("oneDNN's {} failed with status {}", implementation_, static_cast<int>(status)));
  }
}

void prepare(const std::string& node, int threads, void (*body)(void*), void* state) {
  const TeamSizeScope team(threads);
  try {
    body(state);
  } catch (const dnnl::error& error) {
    throw Error(ErrorKind::kRun, fmt::format("{}: oneDNN cannot prepare it: {} (status {})", node, error.what(),
                                             static_cast<int>(error.status)));
  }
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::memory::dims gaps(const Window& window) {
  dnnl::memory::dims gaps = window.dilations;
  for (auto& gap : gaps) --gap;
  return gaps;
}

}  // namespace onward::onednn
