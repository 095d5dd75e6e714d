// Model -> graph() -> from_graph(): names, order, attributes, types and weights survive.
#include "graph/error.h"
#include "graph/file_io.h"
#include "graph/model.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "tests/support/onnx_text.h"

namespace onward::test {
namespace {

TEST(ModelRoundTrip, AllFilesOfOnnxTestData) {
  const std::vector<std::string> paths = onnx_test_models();
  if (paths.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const std::string bytes = read_file(path, ErrorKind::kModel);
    const Model model = Model::load(path);
    EXPECT_TRUE(same_model(model.bytes(), bytes));
    EXPECT_EQ(model.bytes(), model.bytes());
    const Graph graph = model.graph();
    verify(graph);
    const Model again = Model::from_graph(graph);
    EXPECT_EQ(print(again.graph()), print(graph));
    EXPECT_TRUE(same_model(model.edited({}).bytes(), bytes));
    // Sparse and string initializers come back as Constant nodes.
    if (model_text(bytes).find("sparse_initializer") == std::string::npos) {
      EXPECT_EQ(graph_summary(again.bytes()), graph_summary(bytes));
    }
  }
}

TEST(ModelRoundTrip, InferenceFormOfAllFilesOfOnnxTestDataLoads) {
  for (const std::string& path : onnx_test_models()) {
    try {
      verify(Model::load(path).edited({.inference_form = true}).graph());
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("to be used, so that it can be written in inference form")) << path;
    }
  }
}

TEST(ModelRoundTrip, UpdatesBecomeTrainingInformation) {
  Graph graph;
  graph.opsets = {{"", 21}, {"onward", 1}};
  Value& w = graph.add_data("w", HostTensor::from<float>({2}, {1, 2}), Role::kParameter);
  Value& lr = graph.add_input("lr", {DType::kFloat64, {}}, Role::kScalar);
  Node& step = graph.add_node({kOnwardDomain, "SgdStep"}, {&lr, nullptr, &w, &w}, {"w_next"}, {{"weight_decay", 0.5}});
  step.origin = "optimizer";
  step.output(0)->type = w.type;
  graph.add_update(w, *step.output(0));
  const Model model = Model::from_graph(graph, {{"b", "2"}, {"a", "1"}});
  EXPECT_EQ(model.ir_version(), 10);
  EXPECT_TRUE(same_model(model.bytes(), model_bytes(R"(ir_version: 10 producer_name: "onward"
    opset_import { domain: "" version: 21 } opset_import { domain: "onward" version: 1 }
    graph { name: "graph"
      input { name: "lr" type { tensor_type { elem_type: 11 shape { } } } }
      initializer { name: "w" data_type: 1 dims: 2 raw_data: "\000\000\200\077\000\000\000\100" }
      node { op_type: "SgdStep" domain: "onward" doc_string: "optimizer" input: ["lr", "", "w", "w"] output: "w_next"
             attribute { name: "weight_decay" type: FLOAT f: 0.5 } }
      output { name: "w_next" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } } }
    training_info { algorithm { name: "step" } update_binding { key: "w" value: "w_next" } }
    metadata_props { key: "a" value: "1" } metadata_props { key: "b" value: "2" })")))
      << model_text(model.bytes());
}

TEST(ModelRoundTrip, DomainsOfNodesAreImported) {
  Graph graph;
  graph.add_node({"mine", "Op"}, {}, {"y"});
  const Graph again = Model::from_graph(graph).graph();
  EXPECT_EQ(again.opsets, (std::map<std::string, int64_t>{{"", 17}, {"mine", 1}}));
}

}  // namespace
}  // namespace onward::test
