#include "passes/onnx_form.h"

#include <algorithm>
#include <limits>

namespace onward {
namespace {

constexpr int64_t kOldestOpset = 17;
constexpr int64_t kReduceAxesAreInputs = 18;  // of all reductions but ReduceSum, whose axes are one since 13

class OnnxForm {
 public:
  explicit OnnxForm(Graph& graph) : graph_(graph) {
    opset_ = std::max(graph.opsets[""], kOldestOpset);
    graph.opsets[""] = opset_;
  }

  void run() {
    for (Node* node : graph_.node_list()) {
      if (node->op().domain.empty()) rewrite(*node);
    }
  }

 private:
  void rewrite(Node& node) {
    const std::string& op = node.op().name;
    if (op == "ReduceSum" || (op.starts_with("Reduce") && opset_ >= kReduceAxesAreInputs)) {
      ints_to_input(node, "axes", true);
    } else if (op.starts_with("Reduce")) {
      if (node.attributes.get_ints("axes", {}).empty()) node.attributes.erase("axes");
    } else if (op == "Squeeze" || op == "Unsqueeze") {
      ints_to_input(node, "axes");
    } else if (op == "Reshape") {
      ints_to_input(node, "shape");
    } else if (op == "Slice") {
      slice(node);
    } else if (op == "Clip") {
      clip(node);
    } else if (op == "MaxPool" && node.outputs().size() > 2) {
      graph_.set_op(node, {kOnwardDomain, op});  // the positions that its gradient reads are no output of ONNX's
    }
  }

  // No list at all means all axes; an empty one does in a reduction only, and is left out.
  void ints_to_input(Node& node, const std::string& attribute, bool empty_is_absent = false) {
    if (!node.attributes.has(attribute)) return;
    const std::vector<int64_t> list = node.attributes.get_ints(attribute);
    node.attributes.erase(attribute);
    if (!list.empty() || !empty_is_absent) add_input(node, attribute, ints(list));
  }

  // Counts become ends. An end before the first element cannot be written as -1, which is the last.
  void slice(Node& node) {
    const std::vector<int64_t> starts = node.attributes.get_ints("starts"), counts = node.attributes.get_ints("counts"),
                               steps = node.attributes.get_ints("steps"), axes = node.attributes.get_ints("axes");
    std::vector<int64_t> ends;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const int64_t end = starts[i] + counts[i] * steps[i];
      ends.push_back(end < 0 ? std::numeric_limits<int64_t>::min() : end);
    }
    node.attributes = Attributes{};
    add_input(node, "starts", ints(starts));
    add_input(node, "ends", ints(ends));
    add_input(node, "axes", ints(axes));
    add_input(node, "steps", ints(steps));
  }

  void clip(Node& node) {
    const DType dtype = node.input(0)->type.dtype;
    std::vector<Value*> inputs{node.input(0)};
    for (const char* bound : {"min", "max"}) {
      Value* value = nullptr;
      if (node.attributes.has(bound)) {
        value = &stored(node, bound, HostTensor::scalar<double>(node.attributes.get_double(bound)).cast(dtype));
      }
      inputs.push_back(value);
    }
    while (!inputs.back()) inputs.pop_back();
    node.attributes = Attributes{};
    graph_.set_inputs(node, inputs);
  }

  static HostTensor ints(const std::vector<int64_t>& list) {
    return HostTensor::from<int64_t>({static_cast<int64_t>(list.size())}, list);
  }

  Value& stored(const Node& node, const std::string& what, HostTensor tensor) {
    return graph_.add_data(node.output(0)->name() + "." + what, std::move(tensor));
  }

  void add_input(Node& node, const std::string& what, HostTensor tensor) {
    std::vector<Value*> inputs = node.inputs();
    inputs.push_back(&stored(node, what, std::move(tensor)));
    graph_.set_inputs(node, inputs);
  }

  Graph& graph_;
  int64_t opset_ = kOldestOpset;
};

}  // namespace

void to_onnx_form(Graph& graph) { OnnxForm(graph).run(); }

}  // namespace onward
