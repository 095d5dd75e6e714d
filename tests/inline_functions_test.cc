#include "passes/inline_functions.h"

#include "tests/support/expect_error.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

using Functions = std::map<OpId, Model::Function>;

const OpId kScale{"local", "Scale"}, kTwice{"local", "Twice"};

// Scale(x) {factor = 2}: x * factor
Model::Function scale() {
  Model::Function function;
  Value& x = function.graph.add_input("x", {});
  Node& factor = function.graph.add_node({"", "Constant"}, {}, {"f"}, {{"value_float", AttributeReference{"factor"}}});
  Node& product =
      function.graph.add_node({"", "Mul"}, {&x, factor.output(0)}, {"y"}, {{"note", AttributeReference{"absent"}}});
  product.name = "product";
  function.graph.add_output(*product.output(0));
  function.graph.opsets = {{"", 15}};
  function.attributes = {"factor"};
  function.defaults = {{"factor", 2.0f}};
  return function;
}

// Twice(x): Scale(Scale(x)), x
Model::Function twice() {
  Model::Function function;
  Value& x = function.graph.add_input("x", {});
  Node& first = function.graph.add_node(kScale, {&x}, {"a"}, {{"factor", 3.0f}});
  Node& second = function.graph.add_node(kScale, {first.output(0)}, {"b"});
  function.graph.add_output(*second.output(0));
  function.graph.add_output(x);
  function.graph.opsets = {{"local", 1}, {"extra", 4}};
  return function;
}

Graph call(const OpId& op, const std::vector<std::string>& outputs, std::size_t inputs = 1) {
  Graph graph;
  graph.opsets = {{"", 17}, {"local", 1}};
  std::vector<Value*> values;
  for (std::size_t i = 0; i < inputs; ++i) values.push_back(&add_image_input(graph, "in", {Dim("N"), 4}));
  Node& node = graph.add_node(op, values, outputs);
  node.name = "call";
  for (Value* value : node.outputs()) graph.add_output(*value);
  return graph;
}

Functions all_functions() {
  Functions functions;
  functions.emplace(kScale, scale());
  functions.emplace(kTwice, twice());
  return functions;
}

class InlineFunctions : public testing::Test {
 protected:
  void run(Graph& graph) {
    PassDriver driver;
    driver.context().functions = [this](const OpId& op) {
      const auto found = functions_.find(op);
      return found == functions_.end() ? nullptr : &found->second;
    };
    driver.run(graph, inline_functions_pass());
  }

  Functions functions_ = all_functions();
};

TEST_F(InlineFunctions, ReplacesACallByTheBodyAndKeepsTheNamesOfResults) {
  Graph graph = call(kScale, {"out"});
  run(graph);
  EXPECT_EQ(ops_of(graph), "Constant Mul");
  const Node* product = graph.find_value("out")->producer();
  EXPECT_EQ(product->name, "call/product");
  EXPECT_EQ(graph.outputs()[0], graph.find_value("out"));
  EXPECT_EQ(product->input(0)->name(), "in");
}

TEST_F(InlineFunctions, ResolvesAttributeReferencesByCallDefaultOrNotAtAll) {
  Graph given = call(kScale, {"out"});
  given.find_value("out")->producer()->attributes.set("factor", 5.0f);
  run(given);
  EXPECT_EQ(given.find_value("call/f")->producer()->attributes.get_double("value_float"), 5.0);
  Graph absent = call(kScale, {"out"});
  run(absent);
  EXPECT_EQ(absent.find_value("call/f")->producer()->attributes.get_double("value_float"), 2.0);
  EXPECT_FALSE(absent.find_value("out")->producer()->attributes.has("note"));
}

TEST_F(InlineFunctions, NestedCallsAndInputsPassedThrough) {
  Graph graph = call(kTwice, {"out", "same"});
  run(graph);
  EXPECT_EQ(ops_of(graph), "Constant Mul Constant Mul Identity");
  EXPECT_EQ(graph.outputs()[0]->name(), "out");
  EXPECT_EQ(graph.outputs()[1]->name(), "same");
  EXPECT_EQ(graph.outputs()[1]->producer()->input(0)->name(), "in");
  EXPECT_EQ(graph.opsets.at("extra"), 4);
  EXPECT_EQ(graph.opsets.at(""), 17) << "the file's own import stands";
}

TEST_F(InlineFunctions, UnusedResultsAndTwoCallsOfOneFunction) {
  Graph graph = call(kTwice, {"out"});
  Node& again = graph.add_node(kTwice, {graph.find_value("out")}, {"", "copy"});
  graph.add_output(*again.output(1));
  run(graph);
  EXPECT_EQ(graph.outputs()[1]->name(), "copy");
  EXPECT_EQ(graph.outputs()[1]->producer()->input(0)->name(), "out");
}

TEST_F(InlineFunctions, RefusesRecursionNamingTheChain) {
  Model::Function self;
  Value& x = self.graph.add_input("x", {});
  self.graph.add_output(*self.graph.add_node(kTwice, {&x}, {"y"}).output(0));
  functions_.at(kScale) = std::move(self);
  Graph graph = call(kTwice, {"out"});
  expect_error(ErrorKind::kModel, "local::Twice -> local::Scale -> local::Twice", [&] { run(graph); });
}

TEST_F(InlineFunctions, RefusesTooManyOperands) {
  Graph graph = call(kScale, {"out"}, 2);
  expect_error(ErrorKind::kModel, "at most 1 inputs and 1 outputs", [&] { run(graph); });
}

TEST_F(InlineFunctions, RefusesAnAbsentInputThatIsPassedThrough) {
  Graph graph = call(kTwice, {"out", "same"}, 0);
  functions_.erase(kScale);
  expect_error(ErrorKind::kModel, "output 1 of call", [&] { run(graph); });
}

}  // namespace
}  // namespace onward::test
