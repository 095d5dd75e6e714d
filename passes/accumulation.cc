#include "passes/accumulation.h"

#include "passes/distributions.h"
#include "passes/emit.h"
#include "passes/metric_outputs.h"
#include "passes/outputs.h"
#include "passes/program_modes.h"

namespace onward {
namespace {

class Accumulation {
 public:
  Accumulation(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), registry_(context.registry), mode_(context.request.mode) {}

  void run() {
    if (!only_accumulates(mode_) && mode_ != ProgramMode::kTrainAccumulated) return;
    widen_metric_outputs(graph_, registry_);
    infer_distributions(graph_, context_.options.replicas, registry_);
    for (std::size_t i = 0; i < graph_.gradients().size(); ++i) {
      const auto [parameter, gradient] = graph_.gradients()[i];
      Value& total = add_up(*gradient, parameter->name());
      graph_.set_gradient(i, total);
      if (&total != gradient) take_name(graph_, *gradient, total, "micro_batch");
    }
    accumulate_metrics();
    if (only_accumulates(mode_)) graph_.clear_gradients();
  }

 private:
  void accumulate_metrics() {
    const std::vector<Value*> outputs = graph_.outputs();
    for (Value* output : outputs) {
      if (!is_metric_output(output->name())) continue;
      Value& total = add_up(*output, output->name());
      if (mode_ != ProgramMode::kTrainAccumulated) continue;
      replace_output(graph_, *output, total);
      take_name(graph_, *output, total, "micro_batch");
    }
  }

  // The sum over the micro-batches up to this one; all but the last leave it in the accumulator of the name.
  Value& add_up(Value& term, const std::string& name) {
    Value& accumulator =
        graph_.add_data(accumulated_name(name), HostTensor(term.type.dtype, term.type.shape()), Role::kState);
    accumulator.distribution = term.distribution;
    Value* total = &term;
    if (mode_ != ProgramMode::kAccumulateFirst) total = add(accumulator, term);
    if (only_accumulates(mode_)) graph_.add_update(accumulator, *total);
    return *total;
  }

  // Directly after the term is made, so that its reduction can start.
  Value* add(Value& accumulator, Value& term) {
    Node* next = nullptr;
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend() && node->get() != term.producer(); ++node) {
      next = node->get();
    }
    Node& sum =
        emit_node(graph_, registry_,
                  {{"", "Add"}, {&accumulator, &term}, {accumulator.name() + ".sum"}, {}, "accumulation"}, next);
    return sum.output(0);
  }

  Graph& graph_;
  PassContext& context_;
  const Registry& registry_;
  const ProgramMode mode_;
};

}  // namespace

Pass accumulation_pass() {
  return {.name = "accumulation",
          .run = [](Graph& graph, PassContext& context) { Accumulation(graph, context).run(); },
          .requires_ = {"static", "backward"}};
}

}  // namespace onward
