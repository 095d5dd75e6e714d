#include "passes/untie.h"

#include "graph/model.h"
#include "passes/model_program.h"
#include "tests/support/onnx_text.h"
#include "tests/support/pass_driver.h"

namespace onward::test {
namespace {

HostTensor ones(const Shape& shape) {
  return HostTensor::from<float>(shape, std::vector<float>(static_cast<std::size_t>(element_count(shape)), 1.0f));
}

// y = (x * w) + w', where w' is w itself or an Identity of it.
Graph shared_twice(const HostTensor& data, bool identity) {
  Graph graph;
  graph.opsets[""] = 15;
  Value& x = add_image_input(graph, "x", {Dim("N"), 4});
  Value& w = graph.add_data("w", data);
  Value* second = &w;
  if (identity) second = graph.add_node({"", "Identity"}, {&w}, {"w2"}).output(0);
  Node& a = graph.add_node({"", "Mul"}, {&x, &w}, {"a"});
  Node& b = graph.add_node({"", "Add"}, {a.output(0), second}, {"b"});
  graph.add_output(*b.output(0));
  return graph;
}

TEST(Untie, AnIdentityOfAUniformTensorBecomesATensorOfThatName) {
  Graph graph = shared_twice(ones({4}), true);
  PassDriver driver;
  driver.run(graph, untie_pass());
  EXPECT_EQ(ops_of(graph), "Mul Add");
  const Value* second = graph.find_value("b")->producer()->input(1);
  EXPECT_EQ(second->name(), "w2");
  EXPECT_EQ(second->data.data(), graph.find_value("w")->data.data()) << "the copy shares memory until it is written";
  EXPECT_TRUE(driver.context().untied.empty()) << "an export finds it by the name of the Identity";
}

TEST(Untie, EveryFurtherReaderOfAUniformTensorGetsACopy) {
  Graph graph = shared_twice(ones({4}), false);
  PassDriver driver;
  driver.run(graph, untie_pass());
  const Value* second = graph.find_value("b")->producer()->input(1);
  EXPECT_NE(second, graph.find_value("w"));
  ASSERT_EQ(driver.context().untied.size(), 1u);
  EXPECT_EQ(driver.context().untied[0].name, second->name());
  EXPECT_EQ(driver.context().untied[0].node_output, "b");
  EXPECT_EQ(driver.context().untied[0].input, 1);
}

TEST(Untie, KeepTiedKeepsAllSharing) {
  for (const bool identity : {true, false}) {
    Graph graph = shared_twice(ones({4}), identity);
    PassDriver driver({.keep_tied = true});
    driver.run(graph, untie_pass());
    EXPECT_EQ(graph.find_value("b")->producer()->input(1), graph.find_value("w"));
    EXPECT_EQ(ops_of(graph), "Mul Add");
    EXPECT_TRUE(driver.context().untied.empty());
    EXPECT_TRUE(driver.context().apart.empty());
  }
}

TEST(Untie, OtherSharingIsKept) {
  for (const bool identity : {true, false}) {
    Graph graph = shared_twice(HostTensor::from<float>({4}, {1, 1, 1, 2}), identity);
    PassDriver driver;
    driver.run(graph, untie_pass());
    EXPECT_EQ(graph.find_value("b")->producer()->input(1), graph.find_value("w"));
    EXPECT_EQ(ops_of(graph), "Mul Add");
    EXPECT_TRUE(driver.context().untied.empty());
  }
}

TEST(Untie, ScalarsAndIntegersStayShared) {
  for (const HostTensor& data : {HostTensor::scalar(1.0f), HostTensor::from<int64_t>({4}, {1, 1, 1, 1})}) {
    Graph graph = shared_twice(data, true);
    PassDriver driver;
    driver.run(graph, untie_pass());
    EXPECT_EQ(graph.find_value("b")->producer()->input(1), graph.find_value("w"));
  }
}

TEST(Untie, AnIdentityThatIsAnOutputStays) {
  Graph graph = shared_twice(ones({4}), true);
  graph.add_output(*graph.find_value("w2"));
  PassDriver driver;
  driver.run(graph, untie_pass());
  EXPECT_EQ(ops_of(graph), "Identity Mul Add");
}

// Two layers that share trained parameters and statistics, which differ between channels.
Graph shared_layers() {
  Graph graph;
  graph.opsets[""] = 15;
  Value* x = &add_image_input(graph, "x", {Dim("N"), 2, 3, 3});
  std::vector<Value*> shared;
  for (const char* name : {"scale", "bias", "mean", "var"})
    shared.push_back(&graph.add_data(name, HostTensor::from<float>({2}, {1, 2})));
  for (const char* name : {"first", "second"}) {
    Node& norm = graph.add_node({"", "BatchNormalization"}, {x, shared[0], shared[1], shared[2], shared[3]}, {name});
    norm.name = name;
    x = norm.output(0);
  }
  graph.add_output(*x);
  return graph;
}

TEST(Untie, EveryNodeKeepsItsOwnStatistics) {
  Graph graph = shared_layers();
  PassDriver driver;
  driver.prepare_and_run(graph);
  const Node &first = *graph.find_value("first")->producer(), &second = *graph.find_value("second")->producer();
  EXPECT_EQ(first.input(1), second.input(1));
  for (const std::size_t state : {3, 4}) {
    EXPECT_NE(first.input(state), second.input(state));
    EXPECT_EQ(second.input(state)->role, Role::kState);
    EXPECT_EQ(second.input(state)->data.to_double(), (std::vector<double>{1, 2}));
  }
  EXPECT_EQ(driver.context().apart, (std::map<std::string, int>{{"mean", 1}, {"var", 1}}));
}

TEST(Untie, KeepTiedKeepsStatisticsOfLayersShared) {
  Graph graph = shared_layers();
  PassDriver driver({.keep_tied = true});
  driver.prepare_and_run(graph);
  const Node &first = *graph.find_value("first")->producer(), &second = *graph.find_value("second")->producer();
  for (std::size_t i = 1; i <= 4; ++i) EXPECT_EQ(first.input(i), second.input(i));
  EXPECT_EQ(first.input(3)->role, Role::kState);
  EXPECT_TRUE(driver.context().apart.empty());
}

// A parameter is trained, a statistic is not; a mean is not a variance.
TEST(Untie, KeepTiedTiesNoStatisticsToAnythingElse) {
  Graph graph = shared_layers();
  for (const char* name : {"first", "second"}) {
    Node& norm = *graph.find_value(name)->producer();
    graph.set_input(norm, 3, graph.find_value("bias"));
  }
  graph.set_input(*graph.find_value("second")->producer(), 3, graph.find_value("var"));
  PassDriver driver({.keep_tied = true});
  driver.prepare_and_run(graph);
  const Node &first = *graph.find_value("first")->producer(), &second = *graph.find_value("second")->producer();
  const std::set<const Value*> states{first.input(3), first.input(4), second.input(3)};
  EXPECT_EQ(states.size(), 3u);
  EXPECT_FALSE(states.contains(first.input(2)));
  EXPECT_EQ(first.input(2), second.input(2));
  EXPECT_EQ(first.input(4), second.input(4));
}

// PyTorch's exporter leaves one of equal tensors, and Identity nodes under the names of the others.
Graph deduplicated() {
  Graph graph;
  graph.opsets[""] = 15;
  Value& x = add_image_input(graph, "x", {Dim("N"), 2, 3, 3});
  Value& weight = graph.add_data("bn.weight", ones({2}));
  Value& bias = graph.add_data("bn.bias", HostTensor(DType::kFloat32, {2}));
  const auto identity = [&](Value& of, const char* name) {
    return graph.add_node({"", "Identity"}, {&of}, {name}).output(0);
  };
  Value* variance = identity(weight, "bn.running_var");
  Value* mean = identity(bias, "bn.running_mean");
  Node& norm = graph.add_node({"", "BatchNormalization"}, {&x, &weight, &bias, mean, variance}, {"y"});
  norm.name = "/bn/BatchNormalization";
  graph.add_output(*norm.output(0));
  return graph;
}

TEST(Untie, StatisticsBehindIdentityTakeItsName) {
  ModelProgram program(deduplicated(), {.loss = LossKind::kNone});
  EXPECT_THAT(program.states(), testing::ElementsAre("bn.running_mean", "bn.running_var"));
  EXPECT_THAT(program.parameters(), testing::ElementsAre("bn.weight", "bn.bias"));
  EXPECT_THAT(program.untied(), testing::IsEmpty());
  for (const Value* value : program.prepared().value_list()) {
    EXPECT_TRUE(!value->uses().empty() || program.prepared().is_output(*value)) << value->name();
  }
  ModelEdits edits;
  edits.tensors["bn.running_mean"] = HostTensor::from<float>({2}, {5, 6});
  const Graph exported = Model::from_graph(deduplicated()).edited(edits).graph();
  const Node& norm = *exported.find_value("y")->producer();
  EXPECT_EQ(norm.input(3)->data.to_double(), (std::vector<double>{5, 6}));
  EXPECT_EQ(norm.input(2)->data.to_double(), (std::vector<double>{0, 0}));
}

// The file's own tensor goes to the node that reads it itself, even if another node comes first.
TEST(Untie, ADirectReaderKeepsTheTensor) {
  Graph graph = shared_layers();
  Node& first = *graph.find_value("first")->producer();
  graph.set_input(first, 3, graph.add_node({"", "Identity"}, {first.input(3)}, {"first.mean"}, {}, &first).output(0));
  PassDriver driver;
  driver.prepare_and_run(graph);
  EXPECT_EQ(graph.find_value("first")->producer()->input(3)->name(), "first.mean");
  EXPECT_EQ(graph.find_value("second")->producer()->input(3)->name(), "mean");
  EXPECT_EQ(ops_of(graph), "BatchNormalization BatchNormalization");
}

// A fresh network as an exporter writes it: one tensor of ones and one of zeros for two BatchNormalizations, directly
// and behind Identity.
Model shared_norms(int ir) {
  const auto tensor = [](const char* name, const char* value) {
    return std::string("initializer { name: \"") + name + "\" data_type: 1 dims: 2 float_data: " + value +
           " float_data: " + value + " } ";
  };
  const std::string image =
      R"(type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 2 } dim { dim_value: 3 } } } })";
  std::string graph = "name: \"g\" input { name: \"x\" " + image + " } output { name: \"y\" " + image + " } ";
  graph += tensor("ones", "1") + tensor("zeros", "0");
  graph += R"(
    node { op_type: "Identity" input: "ones" output: "bn2.weight" }
    node { op_type: "BatchNormalization" input: "x" input: "ones" input: "zeros" input: "zeros" input: "ones" output: "h" name: "bn1" }
    node { op_type: "BatchNormalization" input: "h" input: "bn2.weight" input: "zeros" input: "zeros" input: "ones" output: "y" name: "bn2" })";
  if (ir < 4) {
    for (const char* name : {"ones", "zeros"}) {
      graph += std::string(" input { name: \"") + name +
               "\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }";
    }
  }
  return Model::from_bytes(
      model_bytes("ir_version: " + std::to_string(ir) + " opset_import { version: 8 } graph {" + graph + "}"),
      "shared");
}

TEST(Untie, B3_AnExportStoresEveryTensorThatWasTrainedApart) {
  for (const int ir : {3, 8}) {
    const Model model = shared_norms(ir);
    ModelProgram program(model, {.loss = LossKind::kNone});
    const std::vector<std::string> parameters = program.parameters(), states = program.states();
    EXPECT_EQ(parameters.size(), 4u);
    EXPECT_EQ(states.size(), 4u);
    ModelEdits edits;
    std::map<std::string, UntiedTensor> copies;
    for (const UntiedTensor& copy : untied_tensors(model)) copies.emplace(copy.name, copy);
    float next = 2;
    for (const std::vector<std::string>* names : {&parameters, &states}) {
      for (const std::string& name : *names) {
        const HostTensor value = HostTensor::from<float>({2}, {next, next});
        ++next;
        if (copies.contains(name)) {
          edits.separate.push_back({name, value, copies.at(name).node_output, copies.at(name).input});
        } else {
          edits.tensors[name] = value;
        }
      }
    }
    const Model exported = model.edited(edits);
    const Graph graph = Model::from_bytes(exported.bytes(), "exported").graph();
    EXPECT_EQ(graph.inputs().size(), 1u);
    std::set<double> read;
    for (const char* output : {"h", "y"}) {
      for (std::size_t i = 1; i <= 4; ++i)
        read.insert(graph.find_value(output)->producer()->input(i)->data.to_double().front());
    }
    EXPECT_EQ(read.size(), 8u) << "every BatchNormalization reads tensors of its own";
    EXPECT_EQ(untied_tensors(exported).size(), 0u);
    const std::string text = model_text(exported.bytes());
    std::size_t inputs = 0;
    for (std::size_t at = text.find("\n  input {"); at != std::string::npos; at = text.find("\n  input {", at + 1))
      ++inputs;
    EXPECT_EQ(inputs, ir < 4 ? 9u : 1u) << "before IR 4 initializers are inputs too";
  }
}

}  // namespace
}  // namespace onward::test
