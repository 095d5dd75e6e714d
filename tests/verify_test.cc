#include "graph/verify.h"

#include "graph/error.h"
#include "tests/support/expect_error.h"

namespace onward::test {
namespace {

TensorType pair_type() { return {DType::kFloat32, {2}}; }

// A value that nothing makes and that is no input.
Value& loose_value(Graph& graph, const std::string& name, TensorType type, Role role) {
  Value& value = graph.add_input(name, std::move(type), role);
  graph.remove_input(value);
  return value;
}

TEST(Verify, AcceptsAnEmptyGraphAndAChain) {
  Graph graph;
  verify(graph);
  Value& x = graph.add_input("x", pair_type());
  Node& a = graph.add_node({"", "Relu"}, {&x}, {"a"});
  Node& b = graph.add_node({"", "Add"}, {a.output(0), a.output(0), nullptr}, {"b", "", "c"});
  graph.add_output(*b.output(0));
  verify(graph);
}

TEST(Verify, RejectsAUseBeforeTheProducer) {
  Graph graph;
  Value& x = graph.add_input("x", pair_type());
  Node& a = graph.add_node({"", "Relu"}, {&x}, {"a"});
  Node& b = graph.add_node({"", "Neg"}, {a.output(0)}, {"b"});
  graph.move_before(b, a);
  expect_error(ErrorKind::kModel, "Neg -> b reads 'a' before Relu -> a makes it", [&] { verify(graph); });
}

TEST(Verify, RejectsAValueThatNothingMakes) {
  Graph graph;
  Value& lost = loose_value(graph, "lost", pair_type(), Role::kIntermediate);
  graph.add_node({"", "Relu"}, {&lost}, {"a"});
  expect_error(ErrorKind::kModel, "Relu -> a reads 'lost', which nothing makes", [&] { verify(graph); });
}

TEST(Verify, RejectsAnOutputThatNothingMakes) {
  Graph graph;
  graph.add_output(loose_value(graph, "lost", pair_type(), Role::kIntermediate));
  expect_error(ErrorKind::kModel, "nothing makes the output 'lost'", [&] { verify(graph); });
}

TEST(Verify, RejectsValuesOfAnotherGraph) {
  Graph graph, other;
  graph.add_node({"", "Relu"}, {&other.add_input("x", pair_type())}, {"a"});
  expect_error(ErrorKind::kModel, "input 0 of Relu -> a is not a value of the graph", [&] { verify(graph); });
}

TEST(Verify, RejectsAnInputRoleOutsideTheInputs) {
  Graph graph;
  loose_value(graph, "x", pair_type(), Role::kLabel);
  expect_error(ErrorKind::kModel, "'x' has the role label but is not among the inputs", [&] { verify(graph); });
}

TEST(Verify, RejectsDataThatIsMissingOrOfAnotherType) {
  Graph graph;
  Value& w = loose_value(graph, "w", pair_type(), Role::kParameter);
  expect_error(ErrorKind::kModel, "the parameter 'w' has no data", [&] { verify(graph); });
  w.data = HostTensor(DType::kFloat32, {3});
  expect_error(ErrorKind::kModel, "float32[2] but its data is float32[3]", [&] { verify(graph); });
}

TEST(Verify, ChecksUpdates) {
  Graph graph;
  Value& w = graph.add_data("w", HostTensor(DType::kFloat32, {2}), Role::kParameter);
  Value& next = *graph.add_node({"", "Neg"}, {&w}, {"next"}).output(0);
  graph.add_update(w, next);
  verify(graph);  // the new value is not typed yet
  next.type = pair_type();
  verify(graph);
  next.type = {DType::kFloat64, {2}};
  expect_error(ErrorKind::kModel, "'w', float32[2], is updated with 'next', float64[2]", [&] { verify(graph); });
  next.type = pair_type();
  graph.add_update(w, next);
  expect_error(ErrorKind::kModel, "'w' is updated twice", [&] { verify(graph); });
  graph.clear_updates();
  w.role = Role::kConstant;
  graph.add_update(w, next);
  expect_error(ErrorKind::kModel, "neither a parameter nor state", [&] { verify(graph); });
}

TEST(Verify, ChecksGradients) {
  Graph graph;
  Value& w = graph.add_data("w", HostTensor(DType::kFloat32, {2}), Role::kParameter);
  Value& dw = *graph.add_node({"", "Neg"}, {&w}, {"dw"}).output(0);
  graph.add_gradient(w, dw);
  expect_error(ErrorKind::kModel, "'w', float32[2], has the gradient 'dw', undefined", [&] { verify(graph); });
  dw.type = pair_type();
  verify(graph);
  graph.add_gradient(w, dw);
  expect_error(ErrorKind::kModel, "'w' has two gradients", [&] { verify(graph); });
}

}  // namespace
}  // namespace onward::test
