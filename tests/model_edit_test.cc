#include "graph/model.h"
#include "passes/model_program.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string edited(const std::string& graph_text, const ModelEdits& edits, int opset = 17) {
  return Model::from_bytes(graph_bytes(graph_text, opset), "a test").edited(edits).bytes();
}

// The edit turns the first graph into the second and changes nothing else.
void expect_edit(const std::string& before, const std::string& after, const ModelEdits& edits, int opset = 17) {
  const std::string bytes = edited(before, edits, opset);
  EXPECT_TRUE(same_model(bytes, graph_bytes(after, opset))) << model_text(bytes);
}

void expect_edit_error(const std::string& graph_text, const std::string& message, const ModelEdits& edits,
                       int opset = 17) {
  expect_error(ErrorKind::kModel, message, [&] { edited(graph_text, edits, opset); });
}

ModelEdits tensor(const std::string& name, HostTensor value) { return {.tensors = {{name, std::move(value)}}}; }
const HostTensor kNew = HostTensor::from<float>({2}, {3, 4});
const ModelEdits kInference{.inference_form = true};

TEST(ModelEdit, TypedTensorsStayTyped) {
  expect_edit("initializer { name: 'w' doc_string: 'kept' data_type: 1 dims: 2 float_data: [1, 2] }",
              "initializer { name: 'w' doc_string: 'kept' data_type: 1 dims: 2 float_data: [3, 4] }",
              tensor("w", kNew));
  expect_edit("initializer { name: 'w' data_type: 10 dims: 2 int32_data: [1, 2] }",
              "initializer { name: 'w' data_type: 10 dims: 2 int32_data: [16896, 17408] }",
              tensor("w", kNew.cast(DType::kFloat16)));
  expect_edit("initializer { name: 'w' data_type: 11 dims: 2 double_data: [1, 2] }",
              "initializer { name: 'w' data_type: 11 dims: 2 double_data: [3, 4] }",
              tensor("w", kNew.cast(DType::kFloat64)));
}

TEST(ModelEdit, RawTensorsStayRaw) {
  expect_edit(R"(initializer { name: "w" data_type: 1 dims: 1 raw_data: "\000\000\200\077" })",
              R"(initializer { name: "w" data_type: 1 dims: 1 raw_data: "\000\000\000\100" })",
              tensor("w", HostTensor::from<float>({1}, {2})));
}

TEST(ModelEdit, ReplacesConstantNodes) {
  expect_edit(
      "node { op_type: 'Constant' output: 'w' attribute { name: 'value' type: TENSOR t { data_type: 1 dims: 2 "
      "float_data: [1, 2] } } }",
      "node { op_type: 'Constant' output: 'w' attribute { name: 'value' type: TENSOR t { data_type: 1 dims: 2 "
      "float_data: [3, 4] } } }",
      tensor("w", kNew));
  expect_edit("node { op_type: 'Constant' output: 'w' attribute { name: 'value_floats' type: FLOATS floats: [1, 2] } }",
              R"(node { op_type: "Constant" output: "w" attribute { name: "value" type: TENSOR
                 t { data_type: 1 dims: 2 raw_data: "\000\000\100\100\000\000\200\100" } } })",
              tensor("w", kNew));
}

TEST(ModelEdit, UntiesCopies) {
  const std::string tied = R"(initializer { name: "a" data_type: 1 dims: 2 float_data: [1, 2] }
    node { op_type: "Identity" input: "a" output: "b" } node { op_type: "Identity" input: "b" output: "c" }
    node { op_type: "Add" input: "b" input: "c" output: "y" } output { name: "y" })";
  expect_edit(tied, R"(initializer { name: "a" data_type: 1 dims: 2 float_data: [1, 2] }
    initializer { name: "c" data_type: 1 dims: 2 raw_data: "\000\000\100\100\000\000\200\100" }
    node { op_type: "Identity" input: "a" output: "b" }
    node { op_type: "Add" input: "b" input: "c" output: "y" } output { name: "y" })",
              tensor("c", kNew));
  // The source and the copies at once.
  const std::string bytes = edited(tied, {.tensors = {{"a", kNew}, {"b", kNew}, {"c", kNew}}});
  EXPECT_THAT(model_text(bytes), Not(HasSubstr("Identity")));
}

TEST(ModelEdit, GivesANodeATensorOfItsOwn) {
  const std::string shared = R"(initializer { name: "a" data_type: 1 dims: 2 float_data: [1, 2] }
    node { op_type: "Neg" input: "a" output: "x" } node { op_type: "Add" input: "x" input: "a" output: "y" })";
  expect_edit(shared, R"(initializer { name: "a" data_type: 1 dims: 2 float_data: [1, 2] }
    initializer { name: "a.y" data_type: 1 dims: 2 raw_data: "\000\000\100\100\000\000\200\100" }
    node { op_type: "Neg" input: "a" output: "x" } node { op_type: "Add" input: "x" input: "a.y" output: "y" })",
              {.separate = {{"a.y", kNew, "y", 1}}});
  expect_edit_error(shared, "a node that makes 'z' with an input 0", {.separate = {{"a.z", kNew, "z", 0}}});
  expect_edit_error(shared, "a node that makes 'x' with an input 1", {.separate = {{"a.x", kNew, "x", 1}}});
  expect_edit_error(shared, "one definition of 'x'", {.separate = {{"x", kNew, "y", 1}}});
}

TEST(ModelEdit, RejectsOtherTypesAndUnknownNames) {
  const std::string graph =
      "input { name: 'x' } initializer { name: 'w' data_type: 1 dims: 2 float_data: [1, 2] } "
      "node { op_type: 'Identity' input: 'w' output: 'v' }";
  expect_edit_error(graph, "expected the file to store a tensor 'x'", tensor("x", kNew));
  expect_edit_error(graph, "new values for 'w' as the file has it, float32[2], found float64[2]",
                    tensor("w", kNew.cast(DType::kFloat64)));
  expect_edit_error(graph, "'v' as the file has it, float32[2], found float32[1,2]",
                    tensor("v", HostTensor::from<float>({1, 2}, {3, 4})));
}

TEST(ModelEdit, LeavesTheOriginalAlone) {
  const Model model =
      Model::from_bytes(graph_bytes("initializer { name: 'w' data_type: 1 dims: 2 float_data: [1, 2] }"), "a test");
  const std::string before = model.bytes();
  EXPECT_NE(model.edited(tensor("w", kNew)).bytes(), before);
  EXPECT_EQ(model.bytes(), before);
}

// The outputs of two rows, by name, as the evaluation of a training computes them.
std::map<std::string, std::vector<double>> evaluated(const Model& model) {
  ModelProgram program(model, {.loss = LossKind::kNone});
  const Graph graph = program.program({ProgramMode::kEvaluate, 2});
  const Tensors values = evaluate(graph, {{graph.find_value("x"), HostTensor::from<float>({2, 2}, {1, 2, 3, 4})}});
  std::map<std::string, std::vector<double>> outputs;
  for (const Value* output : graph.outputs()) outputs[output->name()] = values.at(output).to_double();
  return outputs;
}

// ---- B3: inference form from the forms of every opset

const std::string kInputs =
    "input { name: 'x' } input { name: 's' } input { name: 'b' } input { name: 'm' } input { name: 'v' } ";

std::string batch_norm(const std::string& outputs, const std::string& attributes, const std::string& rest = "") {
  return kInputs + "node { op_type: 'BatchNormalization' name: 'bn' input: ['x', 's', 'b', 'm', 'v'] output: [" +
         outputs + "] attribute { name: 'epsilon' type: FLOAT f: 0.1 } " + attributes + " } " + rest;
}

TEST(ModelEdit, B3_BatchNormalizationOfOpset14And15) {
  const std::string mode = "attribute { name: 'training_mode' type: INT i: 1 }";
  const std::string infos = "value_info { name: 'y' } value_info { name: 'rm' }";
  expect_edit(batch_norm("'y', 'rm', 'rv'", mode, infos), batch_norm("'y'", "", "value_info { name: 'y' }"), kInference,
              14);
  expect_edit(batch_norm("'y', '', 'rv'", mode), batch_norm("'y'", ""), kInference, 15);
  expect_edit(batch_norm("'y'", mode), batch_norm("'y'", ""), kInference, 15);
}

TEST(ModelEdit, B3_BatchNormalizationOfOpset7And9) {
  for (const int opset : {7, 8, 9, 13}) {
    expect_edit(batch_norm("'y', 'rm', 'rv', 'dead-0', 'dead-1'", ""), batch_norm("'y'", ""), kInference, opset);
    expect_edit(batch_norm("'y'", ""), batch_norm("'y'", ""), kInference, opset);
  }
}

TEST(ModelEdit, B3_BatchNormalizationOfOpset1And6) {
  const std::string test = "attribute { name: 'is_test' type: INT i: 1 }";
  const std::string train = "attribute { name: 'is_test' type: INT i: 0 }";
  for (const int opset : {1, 6}) {
    expect_edit(batch_norm("'y', 'rm', 'rv', 'sm', 'sv'", ""), batch_norm("'y'", test), kInference, opset);
    expect_edit(batch_norm("'y'", train), batch_norm("'y'", test), kInference, opset);
    expect_edit(batch_norm("'y'", test), batch_norm("'y'", test), kInference, opset);
  }
}

std::string identity(const std::string& from, const std::string& to) {
  return "node { op_type: 'Identity' input: '" + from + "' output: '" + to + "' } ";
}

TEST(ModelEdit, B3_UsedStatisticsAreThoseInForce) {
  const std::string mode = "attribute { name: 'training_mode' type: INT i: 1 }";
  const auto expect_copies = [&](const std::string& copies, const std::string& rest) {
    expect_edit(batch_norm("'y', 'rm', 'rv'", mode, rest), batch_norm("'y'", "", copies + rest), kInference);
  };
  expect_copies(identity("m", "rm"), "output { name: 'rm' } value_info { name: 'rm' }");
  expect_copies(identity("v", "rv"), "node { op_type: 'Neg' input: 'rv' output: 'z' }");
  expect_copies(identity("m", "rm") + identity("v", "rv"),
                "node { op_type: 'Add' input: ['rm', 'rv'] output: 'z' } output { name: 'rm' }");
  expect_copies(identity("v", "rv"), R"(node { op_type: "If" input: "x" output: "z" attribute { name: "then_branch"
      type: GRAPH g { node { op_type: "Neg" input: "rv" output: "o" } } } })");
  expect_edit(batch_norm("'y', 'rm', 'rv', 'sm', 'sv'", "", "output { name: 'rv' } output { name: 'sm' }"),
              batch_norm("'y'", "",
                         identity("v", "rv") + identity("m", "sm") +
                             "output { name: 'rv' } output { name: "
                             "'sm' }"),
              kInference, 9);
}

// The running statistics are outputs of the file: under their names they are what the file stores, before and after.
TEST(ModelEdit, B3_AnEditedFileEvaluatesTheSame) {
  const auto info = [](const std::string& name, const std::string& dims) {
    return "name: '" + name + "' type { tensor_type { elem_type: 1 shape { " + dims + " } } } ";
  };
  const auto stored = [](const std::string& name, const std::string& values) {
    return "initializer { name: '" + name + "' data_type: 1 dims: 2 float_data: [" + values + "] } ";
  };
  const std::string image = "dim { dim_param: 'N' } dim { dim_value: 2 } ", channels = "dim { dim_value: 2 } ";
  const std::string tensors = stored("s", "1, 2") + stored("b", "0, 1") + stored("m", "7, 8") + stored("v", "5, 6");
  const std::string interface = "input { " + info("x", image) + "} output { " + info("y", image) + "} output { " +
                                info("rm", channels) + "} output { " + info("rv", channels) + "} ";
  const std::string node = "node { op_type: 'BatchNormalization' input: ['x', 's', 'b', 'm', 'v'] output: ";
  for (const auto& [opset, outputs] : {std::pair{15,
                                                 "['y', 'rm', 'rv'] attribute { name: 'training_mode' type: INT i: "
                                                 "1 } }"},
                                       std::pair{9, "['y', 'rm', 'rv', 'sm', 'sv'] }"}}) {
    const Model before = Model::from_bytes(graph_bytes(interface + tensors + node + outputs, opset), "a test");
    const std::map<std::string, std::vector<double>> expected = evaluated(before);
    EXPECT_EQ(expected.at("rv"), (std::vector<double>{5, 6})) << opset;
    EXPECT_EQ(evaluated(before.edited(kInference)), expected) << opset;
    const ModelEdits trained{.tensors = {{"m", kNew}}, .inference_form = true};
    EXPECT_EQ(evaluated(before.edited(trained)).at("rm"), (std::vector<double>{3, 4})) << opset;
    EXPECT_EQ(evaluated(before.edited(trained).edited(trained)), evaluated(before.edited(trained))) << opset;
  }
}

TEST(ModelEdit, B3_ReachesSubgraphsAndFunctions) {
  const std::string training =
      "op_type: 'BatchNormalization' input: ['x', 's', 'b', 'm', 'v'] output: ['y', 'rm', 'rv'] attribute { name: "
      "'training_mode' ref_attr_name: 't' type: INT }";
  const std::string inference = "op_type: 'BatchNormalization' input: ['x', 's', 'b', 'm', 'v'] output: 'y'";
  const auto file = [](const std::string& node) {
    return model_bytes(
        "ir_version: 8 opset_import { version: 17 } graph { " + kInputs +
        "node { op_type: 'If' input: 'x' output: 'z' attribute { name: 'then_branch' type: GRAPH g { node { " + node +
        " } } } } } functions { name: 'F' attribute: 't' opset_import { version: 16 } input: ['x', 's', 'b', 'm', 'v'] "
        "output: 'y' node { " +
        node + " } }");
  };
  const std::string bytes = Model::from_bytes(file(training), "a test").edited(kInference).bytes();
  EXPECT_TRUE(same_model(bytes, file(inference))) << model_text(bytes);
}

TEST(ModelEdit, B13_DropoutOfEveryOpset) {
  const auto dropout = [](const std::string& inputs, const std::string& rest) {
    return "input { name: 'x' } node { op_type: 'Dropout' input: [" + inputs + "] output: ['y', 'mask'] " + rest;
  };
  const std::string is_test = "attribute { name: 'is_test' type: INT i: 1 } }";
  expect_edit(dropout("'x'", "}"), dropout("'x'", is_test), kInference, 6);
  expect_edit(dropout("'x'", "}"), dropout("'x'", "}"), kInference, 7);
  expect_edit(dropout("'x'", "}"), dropout("'x'", "}"), kInference, 10);
  const std::string before =
      "input { name: 'x' } input { name: 't' } initializer { name: 'r' data_type: 1 float_data: 0.5 } initializer { "
      "name: 't' data_type: 9 int32_data: 1 } ";
  const std::string after = "input { name: 'x' } initializer { name: 'r' data_type: 1 float_data: 0.5 } ";
  const std::string node = "node { op_type: 'Dropout' output: ['y', 'mask'] input: ";
  expect_edit(before + node + "['x', 'r', 't'] }", after + node + "['x', 'r'] }", kInference, 12);
  expect_edit(before + node + "['x', '', 't'] }", after + node + "['x'] }", kInference, 13);
  expect_edit(before + node + "['x', 'r', 't'] } node { op_type: 'Not' input: 't' output: 'n' }",
              before + node + "['x', 'r'] } node { op_type: 'Not' input: 't' output: 'n' }", kInference, 13);
}

TEST(ModelEdit, B13_ConstantTrainingModeDisappearsWithItsLastDropout) {
  const std::string constant =
      "node { op_type: 'Constant' output: 't' attribute { name: 'value' type: TENSOR t { data_type: 9 int32_data: 1 } "
      "} } ";
  const std::string input = "input { name: 'x' } ";
  expect_edit(
      input + constant +
          "node { op_type: 'Dropout' input: ['x', '', 't'] output: 'h' } node { op_type: 'Dropout' input: ['h', '', "
          "'t'] output: 'y' }",
      input + "node { op_type: 'Dropout' input: 'x' output: 'h' } node { op_type: 'Dropout' input: 'h' output: 'y' }",
      kInference);
}

TEST(ModelEdit, OtherDomainsAreLeftAlone) {
  const std::string graph =
      "input { name: 'x' } node { op_type: 'BatchNormalization' domain: 'mine' input: 'x' output: ['y', 'z'] attribute "
      "{ name: 'training_mode' type: INT i: 1 } }";
  expect_edit(graph, graph, kInference);
}

}  // namespace
}  // namespace onward::test
