#include "models/build_model.h"

#include <cmath>
#include <map>

#include "graph/print.h"
#include "graph/verify.h"
#include "models/initialise.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"

namespace onward::test {
namespace {

using testing::HasSubstr;

int64_t parameter_count(const Graph& graph) {
  int64_t count = 0;
  for (const Value* value : graph.values_with_role(Role::kConstant)) {
    if (value->name().find("running_") == std::string::npos) count += value->data.count();
  }
  return count;
}

int count_nodes(const Graph& graph, const char* op) {
  int count = 0;
  for (const auto& node : graph.nodes()) count += node->is(op);
  return count;
}

Graph build(const ModelRecipe& recipe) {
  Graph graph = build_model(recipe).graph();
  verify(graph);
  return graph;
}

// As the authors have it; built once, because drawing the weights of the large ones takes seconds.
const Graph& standard(const std::string& name) {
  static std::map<std::string, Graph> graphs;
  const auto found = graphs.find(name);
  return found != graphs.end() ? found->second : graphs.emplace(name, build({.name = name})).first->second;
}

// Counts of torchvision 0.14 for resnet18 and 50, and of the PyTorch programs of the others.
TEST(BuildModel, HasTheParametersOfThePyTorchModels) {
  EXPECT_EQ(parameter_count(standard("seed-resnet")), 14'041'802);
  EXPECT_EQ(parameter_count(standard("resnet8")), 78'042);
  EXPECT_EQ(parameter_count(standard("resnet20")), 272'474);
  EXPECT_EQ(parameter_count(standard("resnet56")), 855'770);
  EXPECT_EQ(parameter_count(standard("resnet18")), 11'689'512);
  EXPECT_EQ(parameter_count(standard("resnet50")), 25'557'032);
  EXPECT_EQ(parameter_count(standard("lenet")), 61'706);
}

TEST(BuildModel, SeedResNetIsThatOfTheDocument) {
  const Graph& graph = standard("seed-resnet");
  const std::string text = print(graph, {.origins = false});
  EXPECT_THAT(text, HasSubstr("input %input: float32[N,3,32,32]\n"));
  EXPECT_THAT(text, HasSubstr("%conv1: float32[N,64,32,32] = Conv(%input, %conv1.weight) kernel_shape=[7,7] "
                              "pads=[3,3,3,3] strides=[1,1]\n"));
  EXPECT_THAT(
      text,
      HasSubstr("%bn1: float32[N,64,32,32] = BatchNormalization(%conv1, %bn1.weight, %bn1.bias, %bn1.running_mean, "
                "%bn1.running_var) epsilon=1e-05 momentum=0.9 training_mode=0\n"));
  EXPECT_THAT(
      text,
      HasSubstr("%maxpool: float32[N,64,16,16] = MaxPool(%relu) kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]\n"));
  EXPECT_THAT(text, HasSubstr("%layers1.0.identity: float32[N,128,16,16] = Conv(%maxpool, %layers1.0.identity.weight, "
                              "%layers1.0.identity.bias)"));
  EXPECT_THAT(text, HasSubstr("%maxpool2: float32[N,256,8,8] = MaxPool(%layers2.1.relu)"));
  EXPECT_THAT(text, HasSubstr("%maxpool4: float32[N,512,4,4] = MaxPool(%layers4.1.relu)"));
  EXPECT_THAT(text,
              HasSubstr("%logits: float32[N,10] = Gemm(%flatten, %fc.weight, %fc.bias) transB=1\noutput %logits\n"));
  EXPECT_EQ(count_nodes(graph, "Conv"), 1 + 7 * 4);
  EXPECT_EQ(count_nodes(graph, "BatchNormalization"), 1 + 7 * 3);
  EXPECT_EQ(count_nodes(graph, "MaxPool"), 3);
}

TEST(BuildModel, OptionsChangeTheModel) {
  EXPECT_EQ(count_nodes(build({.name = "seed-resnet", .stages = {1, 1, 1, 1}}), "Add"), 4);
  const Graph plain = build({.name = "seed-resnet", .plain = true});
  EXPECT_EQ(count_nodes(plain, "Add"), 0);
  EXPECT_EQ(plain.find_value("layers1.0.identity.weight"), nullptr);
  const Graph wide = build({.name = "lenet", .classes = 7, .input = {2, 32, 36}});
  EXPECT_EQ(wide.outputs()[0]->type.text(), "float32[N,7]");
  EXPECT_EQ(wide.inputs()[0]->type.text(), "float32[N,2,32,36]");
  EXPECT_EQ(wide.find_value("fc1.weight")->data.shape(), (Shape{120, 16 * 6 * 7}));
  const Graph cifar = build({.name = "resnet18", .stages = {1, 1, 1, 1}, .stem = Stem::kCifar});
  EXPECT_EQ(cifar.find_value("conv1")->type.text(), "float32[N,64,32,32]");
  EXPECT_EQ(cifar.outputs()[0]->type.text(), "float32[N,10]");
  EXPECT_EQ(count_nodes(cifar, "MaxPool"), 0);
  EXPECT_EQ(count_nodes(build({.name = "resnet20", .plain = true}), "Conv"), 19);
}

TEST(BuildModel, ShortcutsChangeShapeWhereTheBlockDoes) {
  const Graph& basic = standard("resnet18");
  EXPECT_EQ(basic.find_value("layer1.0.downsample.0"), nullptr);
  EXPECT_EQ(basic.find_value("layer2.0.downsample.0")->type.text(), "float32[N,128,28,28]");
  const Graph& bottleneck = standard("resnet50");
  EXPECT_EQ(bottleneck.find_value("layer1.0.downsample.0")->type.text(), "float32[N,256,56,56]");
  EXPECT_EQ(bottleneck.find_value("layer4.2.relu")->type.text(), "float32[N,2048,7,7]");
}

TEST(BuildModel, IsAFunctionOfItsRecipe) {
  const Model model = build_model({.name = "resnet8"});
  EXPECT_EQ(model.bytes(), build_model({.name = "resnet8"}).bytes());
  EXPECT_NE(model.bytes(), build_model({.name = "resnet8", .seed = 1}).bytes());
  EXPECT_EQ(model.ir_version(), 8);
  const std::string text = model_text(model.bytes());
  EXPECT_THAT(text, HasSubstr("resnet8 --classes 10 --input 3,32,32 --seed 0 --stages 1,1,1"));
  EXPECT_THAT(text, HasSubstr("ResNet for 32x32 images"));
  EXPECT_THAT(text, HasSubstr("3x3 convolution, stride 1, 3 -> 16 channels"));
}

TEST(BuildModel, RejectsWhatAModelDoesNotHave) {
  const auto reject = [](const ModelRecipe& recipe, const std::string& part) {
    expect_error(ErrorKind::kUsage, part, [&] { build_model(recipe); });
  };
  reject({.name = "resnet21"}, "found 'resnet21'; the models are seed-resnet, resnet8,");
  reject({.name = "lenet", .stages = {1}}, "lenet is not a ResNet");
  reject({.name = "lenet", .plain = true}, "lenet is not a ResNet");
  reject({.name = "resnet20", .stages = {1, 2}}, "expected 3 stages of at least one block for resnet20, found 1,2");
  reject({.name = "resnet20", .stages = {1, 0, 1}}, "found 1,0,1");
  reject({.name = "resnet20", .stem = Stem::kCifar}, "resnet20 has only one form of stem");
  reject({.name = "resnet20", .input = {3, 32}}, "expected an input of channels,height,width, found 3,32");
  reject({.name = "resnet20", .input = {3, 0, 32}}, "found 3,0,32");
  reject({.name = "resnet20", .classes = -1}, "found -1");
  reject({.name = "lenet", .input = {1, 8, 8}},
         "the layer conv2 takes windows of 5x5 pixels but gets images whose side is 4");
}

struct Moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};

Moments moments(const HostTensor& tensor) {
  Moments m;
  const auto values = tensor.values<float>();
  for (const float v : values) {
    m.mean += v / static_cast<double>(values.size());
    m.variance += static_cast<double>(v) * v / static_cast<double>(values.size());
    m.low = std::min<double>(m.low, v);
    m.high = std::max<double>(m.high, v);
  }
  m.variance -= m.mean * m.mean;
  return m;
}

TEST(Initialise, WeightsHaveTheStatedDistributions) {
  Initialiser initialiser(3);
  const Moments normal = moments(initialiser.kaiming_normal({256, 64, 3, 3}));
  EXPECT_NEAR(normal.mean, 0, 1e-3);
  EXPECT_NEAR(normal.variance * (64 * 9) / 2, 1, 0.02);
  EXPECT_GT(normal.high, 3.5 * std::sqrt(2.0 / (64 * 9)));
  const Moments uniform = moments(initialiser.uniform({500, 100}, 25));
  EXPECT_NEAR(uniform.variance * 3 * 25, 1, 0.02);
  EXPECT_NEAR(uniform.low, -0.2, 1e-3);
  EXPECT_NEAR(uniform.high, 0.2, 1e-3);
}

TEST(Initialise, ParametersDiffer) {
  Initialiser initialiser(3);
  EXPECT_NE(initialiser.uniform({4}, 1).to_double(), initialiser.uniform({4}, 1).to_double());
}

}  // namespace
}  // namespace onward::test
