// B10: external data that is missing, short, or outside the folder of the model.
#include "graph/file_io.h"
#include "graph/model.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using testing::ElementsAre;

std::string entry(const std::string& key, const std::string& value) {
  return "external_data { key: '" + key + "' value: '" + value + "' } ";
}

// A model whose tensor 'w', two float32, lies elsewhere.
std::string model_with(const std::string& entries) {
  return graph_bytes("initializer { name: 'w' data_type: 1 dims: 2 data_location: EXTERNAL " + entries + " }");
}

const std::string kTwoFloats = std::string("\0\0\x80\x3f\0\0\0\x40", 8);  // 1, 2

TEST(ExternalData, IsReadFromOffsetAndLength) {
  const TemporaryFolder folder;
  folder.write("w.bin", "pad!" + kTwoFloats + "rest");
  const std::string path = folder.write("m.onnx", model_with(entry("location", "w.bin") + entry("offset", "4") +
                                                             entry("length", "8") + entry("checksum", "x")));
  EXPECT_THAT(Model::load(path).graph().find_value("w")->data.to_double(), ElementsAre(1, 2));
}

TEST(ExternalData, WithoutLengthReachesToTheEndOfTheFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "weights");
  folder.write("weights/w.bin", kTwoFloats);
  const std::string path = folder.write("m.onnx", model_with(entry("location", "weights/w.bin")));
  EXPECT_THAT(Model::load(path).graph().find_value("w")->data.to_double(), ElementsAre(1, 2));
}

TEST(ExternalData, IsWrittenInline) {
  const TemporaryFolder folder, elsewhere;
  folder.write("w.bin", kTwoFloats);
  const Model model = Model::load(folder.write("m.onnx", model_with(entry("location", "w.bin"))));
  model.save(elsewhere.file("m.onnx"));
  EXPECT_THAT(Model::load(elsewhere.file("m.onnx")).graph().find_value("w")->data.to_double(), ElementsAre(1, 2));
  const Model edited = model.edited({.tensors = {{"w", HostTensor::from<float>({2}, {3, 4})}}});
  edited.save(elsewhere.file("e.onnx"));
  EXPECT_THAT(Model::load(elsewhere.file("e.onnx")).graph().find_value("w")->data.to_double(), ElementsAre(3, 4));
}

TEST(ExternalData, IsReadForAttributesSubgraphsAndSparseTensors) {
  const TemporaryFolder folder;
  folder.write("w.bin", kTwoFloats);
  const std::string outside = "data_type: 1 dims: 2 data_location: EXTERNAL " + entry("location", "w.bin");
  const std::string path = folder.write(
      "m.onnx",
      graph_bytes("node { op_type: 'Constant' output: 'a' attribute { name: 'value' type: TENSOR t { " + outside +
                  " } } } node { op_type: 'If' input: 'a' output: 'b' attribute { name: 'then_branch' type: GRAPH g { "
                  "initializer { name: 'i' " +
                  outside + " } sparse_initializer { values { name: 's' " + outside + " } } } } }"));
  const Model model = Model::load(path);
  EXPECT_THAT(model.graph().node_list()[0]->attributes.get_tensor("value").to_double(), ElementsAre(1, 2));
  EXPECT_THAT(model_text(model.bytes()), testing::Not(testing::HasSubstr("EXTERNAL")));
}

TEST(ExternalData, B10_MissingOrShort) {
  const TemporaryFolder folder;
  const auto expect_load_error = [&](const std::string& entries, const std::string& part) {
    const std::string path = folder.write("m.onnx", model_with(entries));
    expect_error(ErrorKind::kModel, part, [&] { Model::load(path); });
    expect_error(ErrorKind::kModel, "in the external data of the tensor 'w'", [&] { Model::load(path); });
  };
  expect_load_error(entry("location", "none.bin"), "found none at '" + folder.file("none.bin") + "'");
  folder.write("w.bin", kTwoFloats.substr(0, 6));
  expect_load_error(entry("location", "w.bin") + entry("length", "8"),
                    "expected 8 bytes from byte 0 on in '" + folder.file("w.bin") + "', found 6");
  expect_load_error(entry("location", "w.bin") + entry("offset", "4") + entry("length", "8"),
                    "from byte 4 on in '" + folder.file("w.bin") + "', found 2");
  expect_load_error(entry("location", "w.bin") + entry("offset", "99") + entry("length", "8"), "found 0");
  expect_load_error(entry("location", "w.bin") + entry("length", "18446744073709551615"), "found 6");
  expect_load_error(entry("location", "w.bin") + entry("length", "many"),
                    "expected a number of bytes as 'length' of external data, found 'many'");
}

TEST(ExternalData, B10_LengthThatDoesNotFitTheShape) {
  const TemporaryFolder folder;
  folder.write("w.bin", kTwoFloats.substr(0, 4));
  const std::string path = folder.write("m.onnx", model_with(entry("location", "w.bin")));
  expect_error(ErrorKind::kModel, "expected 8 bytes for the tensor 'w', float32 of shape 2, found 4",
               [&] { Model::load(path); });
}

TEST(ExternalData, B10_RefusesPathsOutsideTheFolder) {
  const TemporaryFolder folder;
  const std::string inner = folder.file("inner");
  std::filesystem::create_directory(inner);
  const std::string outside = folder.write("w.bin", kTwoFloats);
  for (const std::string& location :
       {outside, std::string("../w.bin"), std::string("a/../../w.bin"), std::string("..")}) {
    const std::string path = folder.write("inner/m.onnx", model_with(entry("location", location)));
    expect_error(ErrorKind::kModel, "absolute paths and '..' are refused", [&] { Model::load(path); });
  }
  const std::string none = folder.write("inner/m.onnx", model_with(""));
  expect_error(ErrorKind::kModel, "found the location ''", [&] { Model::load(none); });
  const std::string pipe = folder.write("inner/m.onnx", model_with(entry("location", ".")));
  expect_error(ErrorKind::kModel, "found a folder", [&] { Model::load(pipe); });
}

TEST(ExternalData, CannotBeResolvedWithoutAFile) {
  expect_error(ErrorKind::kModel, "lies in another file",
               [] { Model::from_bytes(model_with(entry("location", "w.bin")), "a test"); });
}

}  // namespace
}  // namespace onward::test
