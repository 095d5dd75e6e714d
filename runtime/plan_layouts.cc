#include "runtime/plan_layouts.h"

#include <algorithm>

#include "ops/core/layout.h"
#include "runtime/min_cut.h"

namespace onward {

namespace {

// Sides of the cut: the source stands for channels-last, so that the smallest source side means row-major in case of
// doubt.
constexpr int kChannelsLastSide = MinCut::kSource;
constexpr int kRowMajorSide = MinCut::kSink;

bool same_shape_view(const ChosenKernel& entry) {
  const Value *input = entry.node->input(0), *output = entry.node->output(0);
  return !entry.kernel && input && output && entry.node->outputs().size() == 1 &&
         input->type.shape() == output->type.shape() && input->type.shape().size() >= 3;
}

class Chooser {
 public:
  Chooser(const Graph& graph, std::vector<ChosenKernel>& kernels) : graph_(graph), kernels_(kernels) {}

  LayoutChoice run() {
    add_producers();
    add_consumers();
    for (const Value* value : graph_.value_list()) connect(*value);
    const std::vector<bool> channels_last = cut_.source_side();
    const auto layout = [&](int side) {
      return channels_last[static_cast<std::size_t>(side)] ? Layout::kChannelsLast : Layout::kRowMajor;
    };
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (kernels_[i].kernel) assign_layouts(*kernels_[i].kernel, layout(group_[i]), kernels_[i].spec);
    }
    LayoutChoice choice;
    for (const auto& [value, side] : producer_) {
      choice.home[value] = value->type.shape().size() < 3 ? Layout::kRowMajor : layout(side);
    }
    return choice;
  }

 private:
  // The side on which an operand of node i lies.
  int side(std::size_t i, OperandLayout declared) const {
    if (declared == OperandLayout::kChannelsLast) return kChannelsLastSide;
    return declared == OperandLayout::kSame ? group_[i] : kRowMajorSide;
  }

  void add_producers() {
    for (const Value* input : graph_.inputs()) {
      const bool free = !input->producer() && input->type.shape().size() >= 3 &&
                        (input->role == Role::kInput || input->role == Role::kLabel);
      producer_[input] = free ? cut_.add_node() : kRowMajorSide;
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const ChosenKernel& entry = kernels_[i];
      const bool any = entry.kernel ? takes_any_layout(*entry.kernel, entry.spec) : same_shape_view(entry);
      group_.push_back(any ? cut_.add_node() : kRowMajorSide);
      for (std::size_t o = 0; o < entry.node->outputs().size(); ++o) {
        const Value* output = entry.node->output(o);
        if (output) producer_[output] = entry.kernel ? side(i, entry.kernel->output_layout(o)) : group_[i];
      }
    }
  }

  void add_consumers() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const ChosenKernel& entry = kernels_[i];
      for (std::size_t k = 0; k < entry.node->inputs().size(); ++k) {
        const Value* input = entry.node->input(k);
        if (input) consumers_[input].push_back(entry.kernel ? side(i, entry.kernel->input_layout(k)) : group_[i]);
      }
    }
    for (const Value* output : graph_.outputs()) consumers_[output].push_back(kRowMajorSide);
    for (const StateUpdate& update : graph_.updates()) consumers_[update.updated].push_back(kRowMajorSide);
  }

  // A conversion is paid once, however many consumers want the other layout: the extra nodes gather them.
  void connect(const Value& value) {
    if (value.role == Role::kConstant || !value.type.is_static() || !consumers_.contains(&value)) return;
    const Shape shape = value.type.shape();
    if (layouts_agree(shape, Layout::kRowMajor, Layout::kChannelsLast)) return;
    const auto found = producer_.find(&value);
    const int from = found == producer_.end() ? kRowMajorSide : found->second;
    const int64_t bytes = element_count(shape) * static_cast<int64_t>(dtype_size(value.type.dtype));
    const int to_row_major = cut_.add_node(), to_channels_last = cut_.add_node();
    cut_.add_edge(from, to_row_major, bytes);
    cut_.add_edge(to_channels_last, from, bytes);
    for (int consumer : consumers_[&value]) {
      cut_.add_edge(to_row_major, consumer, MinCut::kInfinite);
      cut_.add_edge(consumer, to_channels_last, MinCut::kInfinite);
    }
  }

  const Graph& graph_;
  std::vector<ChosenKernel>& kernels_;
  MinCut cut_;
  std::vector<int> group_;  // per node: the side of its kSame operands
  std::unordered_map<const Value*, int> producer_;
  std::unordered_map<const Value*, std::vector<int>> consumers_;
};

}  // namespace

LayoutChoice choose_layouts(const Graph& graph, std::vector<ChosenKernel>& kernels) {
  return Chooser(graph, kernels).run();
}

}  // namespace onward
