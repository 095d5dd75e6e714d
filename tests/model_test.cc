#include "graph/model.h"

#include "graph/file_io.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using testing::ElementsAre;

const char* const kLinear = R"(
  name: "linear" doc_string: "one layer"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 3 } dim { } } } } }
  initializer { name: "w" data_type: 1 dims: 2 dims: 3 float_data: [1, 2, 3, 4, 5, 6] }
  initializer { name: "axes" data_type: 7 dims: 1 int64_data: -1 }
  node { name: "fc" op_type: "Gemm" domain: "ai.onnx" input: "x" input: "w" input: "" output: "h" doc_string: "layer"
         attribute { name: "transB" type: INT i: 1 } attribute { name: "alpha" type: FLOAT f: 0.5 } }
  node { op_type: "Relu" input: "h" output: "y" }
  value_info { name: "h" type { tensor_type { elem_type: 1 } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 2 } } } } })";

Graph import(const std::string& graph_text, int opset = 17) {
  return Model::from_bytes(graph_bytes(graph_text, opset), "a test").graph();
}

void expect_rejected(const std::string& graph_text, const std::string& message) {
  expect_error(ErrorKind::kModel, message, [&] { Model::from_bytes(graph_bytes(graph_text), "a test"); });
}

TEST(Model, ImportsAGraph) {
  const Graph graph = import(kLinear);
  verify(graph);
  EXPECT_EQ(print(graph),
            "input %x: float32[N,3,?]\n"
            "constant %w: float32[2,3] = [1,2,3,4,5,6]\n"
            "constant %axes: int64[1] = [-1]\n"
            "%h: float32[?] = Gemm(%x, %w, -) alpha=0.5 transB=1  # fc\n"
            "%y: float32[N,2] = Relu(%h)\n"
            "output %y\n");
  EXPECT_EQ(graph.name, "linear");
  EXPECT_EQ(graph.doc, "one layer");
  EXPECT_EQ(graph.opsets.at(""), 17);
  EXPECT_EQ(graph.node_list()[0]->doc, "layer");
}

TEST(Model, GraphsShareTheWeights) {
  const Model model = Model::from_bytes(graph_bytes(kLinear), "a test");
  const Graph a = model.graph(), b = model.graph();
  EXPECT_EQ(a.find_value("w")->data.data(), b.find_value("w")->data.data());
}

TEST(Model, B7_InitializersListedAsInputsAreNotInputs) {
  const std::string inputs =
      R"(input { name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } } } } })";
  EXPECT_EQ(print(import(kLinear)), print(import(inputs + kLinear)));
}

TEST(Model, ReadsRawAndTypedDataOfEveryType) {
  const auto read = [](const std::string& tensor) {
    return import("initializer { name: 't' " + tensor + " }").find_value("t")->data;
  };
  EXPECT_THAT(read("data_type: 1 dims: 2 float_data: [1.5, -2]").to_double(), ElementsAre(1.5, -2));
  EXPECT_THAT(read(R"(data_type: 1 dims: 1 raw_data: "\000\000\200\077")").to_double(), ElementsAre(1));
  EXPECT_THAT(read("data_type: 2 dims: 2 int32_data: [0, 255]").to_int64(), ElementsAre(0, 255));
  EXPECT_THAT(read("data_type: 3 dims: 2 int32_data: [-128, 127]").to_int64(), ElementsAre(-128, 127));
  EXPECT_THAT(read("data_type: 4 dims: 1 int32_data: 65535").to_int64(), ElementsAre(65535));
  EXPECT_THAT(read("data_type: 5 dims: 1 int32_data: -32768").to_int64(), ElementsAre(-32768));
  EXPECT_THAT(read("data_type: 6 dims: 1 int32_data: -7").to_int64(), ElementsAre(-7));
  EXPECT_THAT(read("data_type: 7 int64_data: -9000000000").to_int64(), ElementsAre(-9000000000));
  EXPECT_THAT(read("data_type: 9 dims: 2 int32_data: [1, 0]").to_int64(), ElementsAre(1, 0));
  EXPECT_THAT(read("data_type: 10 dims: 2 int32_data: [15360, 49152]").to_double(), ElementsAre(1, -2));
  EXPECT_THAT(read(R"(data_type: 10 dims: 1 raw_data: "\000\074")").to_double(), ElementsAre(1));
  EXPECT_THAT(read("data_type: 11 dims: 1 double_data: 0.1").to_double(), ElementsAre(0.1));
  EXPECT_THAT(read("data_type: 12 dims: 1 uint64_data: 4294967295").to_int64(), ElementsAre(4294967295));
  EXPECT_THAT(read("data_type: 13 dims: 1 uint64_data: 5").to_int64(), ElementsAre(5));
  EXPECT_EQ(read("data_type: 14 dims: 1 float_data: [1, 2]").bytes(), 8u);
  EXPECT_EQ(read("data_type: 15 dims: 1 double_data: [1, 2]").bytes(), 16u);
  EXPECT_THAT(read("data_type: 16 dims: 2 int32_data: [16256, 49152]").to_double(), ElementsAre(1, -2));
  EXPECT_EQ(read("data_type: 1 dims: 0").count(), 0);
  EXPECT_EQ(read("data_type: 1 dims: 0 dims: 4").shape(), (Shape{0, 4}));
}

TEST(Model, RejectsTensorsWhoseDataDoesNotFit) {
  expect_rejected("initializer { name: 't' data_type: 1 dims: 3 float_data: 1 }",
                  "expected 12 bytes for the tensor 't', float32 of shape 3, found 4");
  expect_rejected("initializer { name: 't' data_type: 1 dims: 2 raw_data: 'abc' }", "found 3");
  expect_rejected("initializer { name: 't' data_type: 7 dims: 2 }", "expected 16 bytes");
  expect_rejected("initializer { name: 't' data_type: 1 dims: -1 }", "expected a shape that fits in memory, found -1");
  expect_rejected("initializer { name: 't' data_type: 1 dims: 4611686018427387904 dims: 4 }", "fits in memory");
  expect_rejected("initializer { name: 't' data_type: 1 dims: 1 float_data: 1 segment { begin: 0 end: 1 } }",
                  "segment");
}

TEST(Model, KeepsWhatItDoesNotInterpretOpaque) {
  const Graph graph = import(R"(
    initializer { name: "words" data_type: 8 dims: 1 string_data: "a" }
    initializer { name: "tiny" data_type: 17 dims: 2 raw_data: "ab" }
    sparse_initializer { values { name: "sparse" data_type: 1 dims: 1 float_data: 1 } indices { data_type: 7 dims: 1 int64_data: 3 } dims: 9 }
    input { name: "c" type { tensor_type { elem_type: 9 } } }
    input { name: "list" type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } }
    node { op_type: "If" input: "c" output: "y" attribute { name: "then_branch" type: GRAPH g { name: "g" } } })");
  verify(graph);
  EXPECT_EQ(print(graph),
            "input %c: bool[?]\n"
            "input %list: undefined[?]\n"
            "%words: undefined[?] = Constant() value=<26 bytes>\n"
            "%tiny: undefined[?] = Constant() value=<26 bytes>\n"
            "%sparse: undefined[?] = Constant() sparse_value=<51 bytes>\n"
            "%y: undefined[?] = If(%c) then_branch=<21 bytes>\n");
}

TEST(Model, ReadsAttributesOfEveryKind) {
  const Graph graph = import(R"(node { op_type: "Op" output: "y"
      attribute { name: "f" type: FLOAT f: 1.5 } attribute { name: "i" type: INT i: -3 }
      attribute { name: "s" type: STRING s: "text" } attribute { name: "fs" type: FLOATS floats: [1, 2] }
      attribute { name: "is" type: INTS } attribute { name: "ss" type: STRINGS strings: ["a", "b"] }
      attribute { name: "t" type: TENSOR t { data_type: 7 int64_data: 4 } }
      attribute { name: "untyped" ints: [1, 2] } attribute { name: "zero" f: 0 } })");
  const Attributes& attributes = graph.node_list()[0]->attributes;
  EXPECT_EQ(to_string(attributes), "f=1.5 fs=[1,2] i=-3 is=[] s=text ss=[a,b] t=int64[] untyped=[1,2] zero=0");
  EXPECT_EQ(attributes.get_tensor("t").to_int64()[0], 4);
  EXPECT_TRUE(attributes.get_ints("is").empty());
}

TEST(Model, RejectsGraphsThatAreNotInOrder) {
  expect_rejected("node { op_type: 'Relu' input: 'x' output: 'y' name: 'act' }",
                  "act (Relu) reads 'x', which nothing before it makes");
  expect_rejected("node { op_type: 'A' output: 'y' } node { op_type: 'B' output: 'y' }",
                  "one definition of 'y', found a second: B -> y");
  expect_rejected("input { name: 'x' } input { name: 'x' }", "one definition of 'x'");
  expect_rejected("initializer { name: 'w' data_type: 1 dims: 0 } initializer { name: 'w' data_type: 1 dims: 0 }",
                  "one definition of 'w'");
  expect_rejected("initializer { data_type: 1 dims: 0 }", "expected a name for an initializer");
  expect_rejected("output { name: 'y' }", "expected something to make the output 'y'");
  expect_rejected("node { op_type: 'A' output: 'y' attribute { name: 'a' i: 1 } attribute { name: 'a' i: 2 } }",
                  "the attribute 'a' twice");
}

TEST(Model, OutputsMayBeInputsOrConstants) {
  const Graph graph = import(R"(input { name: "x" } initializer { name: "w" data_type: 1 dims: 1 float_data: 1 }
                                output { name: "x" } output { name: "w" })");
  verify(graph);
  EXPECT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.inputs()[0]->role, Role::kInput);
}

TEST(Model, EveryTruncationIsAnErrorOrAValidModel) {
  const std::string bytes = model_bytes(R"(ir_version: 8 producer_name: "p" graph { )" + std::string(kLinear) +
                                        R"( } opset_import { version: 17 } metadata_props { key: "k" value: "v" })");
  int valid = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    try {
      const Model model = Model::from_bytes(bytes.substr(0, length), "a truncated file");
      verify(model.graph());
      EXPECT_EQ(print(model.graph()), print(import(kLinear))) << "cut after byte " << length;
      ++valid;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kModel);
    }
  }
  EXPECT_EQ(valid, 1);  // exactly the metadata cut off
}

TEST(Model, EveryDamagedByteIsAnErrorOrAModel) {
  const std::string bytes = graph_bytes(kLinear);
  for (std::size_t position = 0; position < bytes.size(); ++position) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[position] = static_cast<char>(damaged[position] ^ change);
      try {
        verify(Model::from_bytes(damaged, "a damaged file").graph());
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kModel) << error.what();
      }
    }
  }
}

TEST(Model, LoadSaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& path) { return [path] { Model::load(path); }; };
  expect_error(ErrorKind::kModel, "found none at", load(folder.file("missing.onnx")));
  expect_error(ErrorKind::kModel, "found a folder at", load(folder.path().string()));
  expect_error(ErrorKind::kModel, "found a device at", load("/dev/zero"));
  expect_error(ErrorKind::kModel, "found an empty file", load(folder.write("empty.onnx", "")));
  expect_error(ErrorKind::kModel, "truncated, damaged or of another kind",
               load(folder.write("text.onnx", "hello, world\n")));
  expect_error(ErrorKind::kModel, "without a graph", load(folder.write("tiny.onnx", "\x08\x08")));
  expect_error(ErrorKind::kModel, "in the file", load(folder.write("cut.onnx", graph_bytes(kLinear).substr(0, 100))));
}

TEST(Model, OldFilesImplyTheFirstOpset) {
  const Graph graph =
      Model::from_bytes(model_bytes("ir_version: 2 graph { node { op_type: 'Relu' output: 'y' } }"), "a test").graph();
  EXPECT_EQ(graph.opsets.at(""), 1);
  expect_error(ErrorKind::kModel, "expected an opset_import", [] {
    Model::from_bytes(model_bytes("ir_version: 3 graph { node { op_type: 'Relu' output: 'y' } }"), "a test");
  });
}

TEST(Model, SavesWhatItLoaded) {
  const TemporaryFolder folder;
  const std::string bytes = graph_bytes(kLinear);
  const Model model = Model::load(folder.write("a.onnx", bytes));
  EXPECT_EQ(model.path(), folder.file("a.onnx"));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_THAT(model.initializers(), ElementsAre("w", "axes"));
  model.save(folder.file("b.onnx"));
  EXPECT_EQ(read_file(folder.file("b.onnx"), ErrorKind::kRun), model.bytes());
  EXPECT_TRUE(same_model(model.bytes(), bytes));
}

TEST(Model, AFailedSaveLeavesNothingBehind) {
  const TemporaryFolder folder;
  const Model model = Model::from_bytes(graph_bytes(kLinear), "a test");
  expect_error(ErrorKind::kRun, "cannot write", [&] { model.save(folder.file("no/such/folder.onnx")); });
  std::filesystem::create_directories(folder.file("taken/inside"));
  expect_error(ErrorKind::kRun, "cannot write", [&] { model.save(folder.file("taken")); });
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Model, KeepsUnknownFieldsAndNewerVersions) {
  // Field 100 of the model, and an attribute of a kind that no release has.
  std::string bytes =
      model_bytes(R"(ir_version: 99 opset_import { version: 99 } graph { node { op_type: "New" output: "y" } })");
  bytes += std::string("\xa2\x06\x03", 3) + "new";
  const Model model = Model::from_bytes(bytes, "a newer file");
  EXPECT_EQ(model.bytes(), bytes);
  EXPECT_EQ(model.edited({.inference_form = true}).bytes(), bytes);
}

TEST(Model, ReadsFunctions) {
  const std::string text = R"(ir_version: 8 opset_import { version: 17 } opset_import { domain: "mine" version: 1 }
    graph { input { name: "x" } node { op_type: "Twice" domain: "mine" input: "x" output: "y" attribute { name: "by" type: INT i: 2 } } output { name: "y" } }
    functions { name: "Twice" domain: "mine" input: "a" output: "b" attribute: "by" opset_import { version: 15 }
      node { op_type: "Mul" input: "a" input: "a" output: "b" attribute { name: "k" ref_attr_name: "by" type: INT } } })";
  std::string bytes = model_bytes(text);
  const Model model = Model::from_bytes(bytes, "a test");
  EXPECT_EQ(print(model.graph()), "input %x: undefined[?]\n%y: undefined[?] = mine::Twice(%x) by=2\noutput %y\n");
  EXPECT_EQ(model.function({"mine", "Thrice"}), nullptr);
  const Model::Function* twice = model.function({"mine", "Twice"});
  ASSERT_TRUE(twice);
  EXPECT_EQ(print(twice->graph), "input %a: undefined[?]\n%b: undefined[?] = Mul(%a, %a) k=@by\noutput %b\n");
  EXPECT_THAT(twice->attributes, ElementsAre("by"));
  EXPECT_EQ(twice->graph.opsets.at(""), 15);
}

TEST(Model, ReadsDefaultsOfFunctionAttributes) {
  // FunctionProto.attribute_proto, field 11, is newer than the ONNX messages of some systems: written by hand.
  const std::string attribute = std::string("\x0a\x01k\x18\x05\xa0\x01\x02", 8);  // name "k", i 5, type INT
  const std::string function =
      "\x0a\x01"
      "F" +
      std::string("\x5a\x08", 2) + attribute;  // name, attribute_proto
  std::string bytes = graph_bytes("name: 'g'");
  bytes += std::string("\xca\x01", 2) + static_cast<char>(function.size()) + function;  // functions, field 25
  const Model model = Model::from_bytes(bytes, "a test");
  const Model::Function* f = model.function({"", "F"});
  ASSERT_TRUE(f);
  EXPECT_EQ(std::get<int64_t>(f->defaults.at("k")), 5);
  EXPECT_THAT(f->attributes, ElementsAre("k"));
}

TEST(Model, RejectsFunctionsOfOneName) {
  const auto load = [](const std::string& functions) {
    Model::from_bytes(overloaded_model_bytes("ir_version: 10 graph { name: 'g' } " + functions), "a test");
  };
  expect_error(ErrorKind::kModel, "expected one function F, found two of that name and overload",
               [&] { load("functions { name: 'F' } functions { name: 'F' }"); });
  expect_error(ErrorKind::kModel, "expected one function F:a, found two",
               [&] { load("functions { name: 'F' } functions { name: 'F:a' } functions { name: 'F:a' }"); });
}

TEST(Model, FunctionsOfOneNameDifferByTheirOverload) {
  const std::string bytes = overloaded_model_bytes(
      "ir_version: 10 graph { input { name: 'x' } node { op_type: 'F:half' domain: 'mine' input: 'x' output: 'y' } } "
      "functions { name: 'F' domain: 'mine' } functions { name: 'F:half' domain: 'mine' input: 'a' output: 'b' node { "
      "op_type: 'F' domain: 'mine' input: 'a' output: 'b' } }");
  const Model model = Model::from_bytes(bytes, "a test");
  EXPECT_EQ(print(model.graph()), "input %x: undefined[?]\n%y: undefined[?] = mine::F:half(%x)\n");
  ASSERT_TRUE(model.function({"mine", "F"}));
  ASSERT_TRUE(model.function({"mine", "F:half"}));
  EXPECT_EQ(model.function({"mine", "F:half"})->graph.nodes().front()->op(), (OpId{"mine", "F"}));
  EXPECT_EQ(model.edited({.inference_form = true}).bytes(), bytes);
}

}  // namespace
}  // namespace onward::test
