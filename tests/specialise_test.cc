#include "passes/specialise.h"

#include "passes/bind_batch.h"
#include "passes/empty_share.h"
#include "passes/infer_graph.h"
#include "passes/supported_ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

std::string shape_of(const Graph& graph, const std::string& name) { return graph.find_value(name)->type.text(); }

TEST(BindBatch, SymbolicUnknownAndFixedRows) {
  Graph graph;
  add_image_input(graph, "named", {Dim("N"), 3});
  add_image_input(graph, "unnamed", {Dim(), 3});
  add_image_input(graph, "one", {1, 3});
  add_image_input(graph, "table", {7, 3});
  add_image_input(graph, "square", {Dim("M"), Dim("N")});
  add_image_input(graph, "number", {});
  bind_batch(graph, {}, 5);
  EXPECT_EQ(shape_of(graph, "named"), "float32[5,3]");
  EXPECT_EQ(shape_of(graph, "unnamed"), "float32[5,3]");
  EXPECT_EQ(shape_of(graph, "one"), "float32[5,3]");
  EXPECT_EQ(shape_of(graph, "table"), "float32[7,3]") << "another input leaves its rows open, so 7 is no batch";
  EXPECT_EQ(shape_of(graph, "square"), "float32[5,5]");
  EXPECT_EQ(shape_of(graph, "number"), "float32[]");
}

TEST(BindBatch, RowsFixedInTheFileAreBoundAgain) {
  Graph graph;
  add_image_input(graph, "x", {32, 3});
  add_image_input(graph, "labels", {32});
  add_image_input(graph, "other", {4, 3});
  bind_batch(graph, {}, 8);
  EXPECT_EQ(shape_of(graph, "x"), "float32[8,3]");
  EXPECT_EQ(shape_of(graph, "labels"), "float32[8]");
  EXPECT_EQ(shape_of(graph, "other"), "float32[4,3]");
}

TEST(BindBatch, OtherSymbolsNeedASize) {
  Graph graph;
  add_image_input(graph, "x", {Dim("N"), Dim("length")});
  expect_error(ErrorKind::kModel, "dimension 1 of the input 'x', found float32[N,length]",
               [&] { bind_batch(graph, {}, 2); });
  Graph unknown;
  unknown.add_input("x", {});
  expect_error(ErrorKind::kModel, "known number of dimensions", [&] { bind_batch(unknown, {}, 2); });
}

TEST(BindBatch, ExactShapesOverrideTheFile) {
  Graph graph;
  add_image_input(graph, "x", {Dim("N"), Dim("length")});
  add_image_input(graph, "y", {1, 2});
  bind_batch(graph, {.input_shapes = {{"x", {3, 4}}, {"y", {-1, 2}}}}, 5);
  EXPECT_EQ(shape_of(graph, "x"), "float32[3,4]");
  EXPECT_EQ(shape_of(graph, "y"), "float32[5,2]");
  expect_error(ErrorKind::kUsage, "found 'z'; the inputs are: x, y", [&] {
    bind_batch(graph, {.input_shapes = {{"z", {1}}}}, 5);
  });
  expect_error(ErrorKind::kUsage, "input 'x'", [&] { bind_batch(graph, {.input_shapes = {{"x", {1, 2, 3}}}}, 5); });
}

// y = relu(x * cast(2) + w)
Graph small_graph() {
  Graph graph;
  graph.opsets[""] = 17;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Value& two = graph.add_data("two", HostTensor::from<int64_t>({1}, {2}));
  Value& w = graph.add_data("w", HostTensor::from<float>({4}, {1, 2, 3, 4}));
  Node& cast = graph.add_node({"", "Cast"}, {&two}, {"factor"}, {{"to", int64_t{1}}});
  Node& product = graph.add_node({"", "Mul"}, {&x, cast.output(0)}, {"product"});
  Node& sum = graph.add_node({"", "Add"}, {product.output(0), &w}, {"sum"});
  Node& relu = graph.add_node({"", "Relu"}, {sum.output(0)}, {"y"});
  graph.add_output(*relu.output(0));
  return graph;
}

TEST(Specialise, TypesEveryValueFoldsConstantsAndKeepsParameters) {
  Graph graph = small_graph();
  PassDriver driver({}, {.local_batch = 6});
  driver.prepare_and_run(graph, {specialise_pass()});
  EXPECT_EQ(ops_of(graph), "Mul Add Relu");
  EXPECT_EQ(shape_of(graph, "y"), "float32[6,4]");
  const Value* factor = graph.find_value("factor");
  EXPECT_EQ(factor->role, Role::kConstant);
  EXPECT_EQ(factor->data.to_double(), std::vector<double>{2});
  EXPECT_EQ(graph.find_value("w")->role, Role::kParameter);
  EXPECT_EQ(graph.find_value("two"), nullptr) << "nothing reads it any more";
}

TEST(Specialise, DoesNotFoldParametersOrOutputs) {
  Graph graph;
  graph.opsets[""] = 17;
  Value& w = graph.add_data("w", HostTensor::from<float>({2}, {1, 2}));
  Value& k = graph.add_data("k", HostTensor::from<int64_t>({2}, {1, 2}));
  graph.add_output(*graph.add_node({"", "Neg"}, {&w}, {"minus_w"}).output(0));
  graph.add_output(*graph.add_node({"", "Neg"}, {&k}, {"minus_k"}).output(0));
  PassDriver driver;
  driver.prepare_and_run(graph, {specialise_pass()});
  EXPECT_EQ(ops_of(graph), "Neg Neg");
}

TEST(Specialise, ErrorsNameTheNodeAndThePass) {
  Graph graph = small_graph();
  graph.find_value("y")->producer()->name = "activation";
  graph.find_value("product")->producer()->name = "scaling";
  graph.find_value("x")->type.dims->push_back(Dim(5));
  PassDriver driver({}, {.local_batch = 6});
  expect_error(ErrorKind::kModel, "in the pass 'specialise'",
               [&] { driver.prepare_and_run(graph, {specialise_pass()}); });
}

TEST(Specialise, AnEmptyShareHasTheGraphOfNoRows) {
  Graph graph = small_graph();
  PassDriver driver({}, {.local_batch = 0});
  driver.prepare_and_run(graph, {specialise_pass()});
  EXPECT_EQ(shape_of(graph, "x"), "float32[0,4]");
  EXPECT_EQ(shape_of(graph, "y"), "float32[0,4]");
  EXPECT_EQ(shape_of(graph, "w"), "float32[4]");
}

// y = x + zeros(x.shape) + x.size(0)
Graph graph_with_batch_constants() {
  Graph graph;
  graph.opsets[""] = 17;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Node& shape = graph.add_node({"", "Shape"}, {&x}, {"shape"});
  Node& zeros = graph.add_node({"", "ConstantOfShape"}, {shape.output(0)}, {"zeros"});
  Node& rows =
      graph.add_node({"", "Gather"}, {shape.output(0), &graph.add_data("i", HostTensor::scalar<int64_t>(0))}, {"rows"});
  Node& count = graph.add_node({"", "Cast"}, {rows.output(0)}, {"count"}, {{"to", int64_t{1}}});
  Node& inverse = graph.add_node(
      {"", "Div"}, {&graph.add_data("one", HostTensor::from<float>({1}, {1})), count.output(0)}, {"inverse"});
  Value* sum = &x;
  for (Value* term : {zeros.output(0), count.output(0), inverse.output(0)}) {
    sum = graph.add_node({"", "Add"}, {sum, term}, {"sum"}).output(0);
  }
  graph.add_output(*sum);
  // The divided one is a constant of the file.
  graph.find_value("one")->role = Role::kConstant;
  return graph;
}

TEST(Specialise, ConstantsMadeFromTheBatchSizeAreMarked) {
  Graph graph = graph_with_batch_constants();
  PassDriver driver({}, {.local_batch = 5});
  driver.run(graph, specialise_pass());
  EXPECT_EQ(graph.find_value("zeros")->distribution, Distribution::kBatchSplit);
  EXPECT_EQ(graph.find_value("count")->distribution, Distribution::kPartial);
  EXPECT_EQ(graph.find_value("inverse")->distribution, Distribution::kLocal);
  EXPECT_EQ(graph.find_value("count")->data.to_double().front(), 5);
}

TEST(Specialise, AnEmptyShareHasConstantsWithoutRows) {
  Graph graph = graph_with_batch_constants();
  PassDriver driver({}, {.local_batch = 0});
  driver.run(graph, specialise_pass());
  EXPECT_EQ(shape_of(graph, "zeros"), "float32[0,4]");
  EXPECT_EQ(graph.find_value("zeros")->data.count(), 0);
}

Graph rows_graph(int64_t rows) {
  Graph graph;
  Value& x = graph.add_input("x", {DType::kFloat32, {rows, 2, 3}});
  Value& shape = graph.add_data("shape", HostTensor::from<int64_t>({2}, {rows * 2, 3}));
  Node& node =
      graph.add_node({"", "Reshape"}, {&x, &shape}, {"y"}, {{"shape", Shape{rows * 2, 3}}, {"axis", int64_t{1}}});
  node.output(0)->type = TensorType(DType::kFloat32, {rows * 2, 3});
  graph.add_output(*node.output(0));
  return graph;
}

TEST(EmptyShare, ExtendsSizesAttributesAndConstantsToNoRows) {
  Graph graph = rows_graph(2);
  extrapolate_to_no_rows(graph, rows_graph(3));
  EXPECT_EQ(shape_of(graph, "x"), "float32[0,2,3]");
  EXPECT_EQ(shape_of(graph, "y"), "float32[0,3]");
  EXPECT_EQ(graph.find_value("shape")->data.to_int64(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(graph.find_value("y")->producer()->attributes.get_ints("shape"), (Shape{0, 3}));
  EXPECT_EQ(graph.find_value("y")->producer()->attributes.get_int("axis"), 1);
}

TEST(EmptyShare, RefusesGraphsThatDoNotCorrespond) {
  Graph two = rows_graph(2), three = rows_graph(3), other = rows_graph(3);
  three.set_op(*three.find_value("y")->producer(), {"", "Flatten"});
  expect_error(ErrorKind::kModel, "give every replica a sample", [&] { extrapolate_to_no_rows(two, three); });
  other.add_node({"", "Relu"}, {other.find_value("y")}, {"z"});
  expect_error(ErrorKind::kModel, "the number of nodes", [&] { extrapolate_to_no_rows(two, other); });
}

TEST(SupportedOps, ListsEveryUnsupportedNodeAtOnce) {
  Graph graph = small_graph();
  graph.opsets["com.custom"] = 3;
  Node& first = graph.add_node({"", "NoSuchOp"}, {graph.find_value("y")}, {"a"});
  first.name = "first";
  Node& second = graph.add_node({"com.custom", "Fancy"}, {first.output(0)}, {"b"});
  second.name = "second";
  PassDriver driver;
  const auto run = [&] { driver.run(graph, supported_ops_pass()); };
  expect_error(ErrorKind::kModel,
               "found 2 nodes with others:\n  first (NoSuchOp): domain ai.onnx, opset 17, unknown\n  second "
               "(com.custom::Fancy): domain com.custom, opset 3, unknown",
               run);
}

TEST(SupportedOps, NamesTypesWithoutKernelsWithUnknownOps) {
  Graph graph = small_graph();
  graph.add_node({"", "NoSuchOp"}, {graph.find_value("y")}, {"a"});
  Value& half = graph.add_data("half", HostTensor(DType::kFloat16, {3, 3}));
  graph.add_node({"", "Gemm"}, {graph.find_value("y"), &half}, {"b"});
  ProgramOptions options;
  PassContext context{.options = options, .request = {}, .registry = registry()};
  const auto run = [&] { run_passes(graph, {supported_ops_pass()}, context); };
  expect_error(ErrorKind::kModel, "found 1 nodes with others", run);
  expect_error(ErrorKind::kModel, "no kernel for 'half' of type float16", run);
}

TEST(SupportedOps, RefusesOpsetsThatAreTooOldOrNotImported) {
  Graph graph = small_graph();
  graph.opsets = {};
  PassDriver driver;
  expect_error(ErrorKind::kModel, "an operator set that the file does not import",
               [&] { driver.run(graph, supported_ops_pass()); });
  Registry future;
  future.add(OpDef{.id = {"", "Relu"}, .versions = {18}});
  Graph old;
  old.opsets[""] = 17;
  old.add_node({"", "Relu"}, {&add_image_input(old, "x", {1})}, {"y"});
  ProgramOptions options;
  PassContext context{.options = options, .request = {}, .registry = future};
  expect_error(ErrorKind::kModel, "known from opset 18 on", [&] { run_passes(old, {supported_ops_pass()}, context); });
}

TEST(SupportedOps, WarnsOfAnOpsetNewerThanAllThatAreKnown) {
  const auto warnings = [](int64_t opset) {
    Registry known;
    known.add(OpDef{.id = {"", "Relu"}, .versions = {6, 14}});
    known.add(OpDef{.id = {"", "Neg"}, .versions = {6, 13}});
    Graph graph;
    graph.opsets[""] = opset;
    graph.add_node({"", "Relu"}, {&add_image_input(graph, "x", {1})}, {"y"});
    ProgramOptions options;
    PassContext context{.options = options, .request = {}, .registry = known};
    run_passes(graph, {supported_ops_pass()}, context);
    return context.warnings;
  };
  EXPECT_TRUE(warnings(14).empty());
  ASSERT_EQ(warnings(15).size(), 1u);
  EXPECT_THAT(warnings(15)[0], testing::HasSubstr("opset 15, newer than 14"));
}

}  // namespace
}  // namespace onward::test
