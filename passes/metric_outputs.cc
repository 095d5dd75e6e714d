#include "passes/metric_outputs.h"

#include "passes/emit.h"
#include "passes/outputs.h"

namespace onward {

void widen_metric_outputs(Graph& graph, const Registry& registry) {
  const std::vector<Value*> outputs = graph.outputs();
  for (Value* value : outputs) {
    if (!is_metric_output(value->name()) || value->type.dtype == DType::kFloat64) continue;
    Node& cast =
        emit_node(graph, registry,
                  {{"", "Cast"}, {value}, {value->name()}, {{"to", static_cast<int64_t>(DType::kFloat64)}}, "metrics"});
    replace_output(graph, *value, *cast.output(0));
    take_name(graph, *value, *cast.output(0), dtype_name(value->type.dtype));
  }
}

}  // namespace onward
