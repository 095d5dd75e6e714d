// onward model: writes one of the models that come with the program, with initial weights.
#include <fmt/format.h>

#include <charconv>

#include "graph/error.h"
#include "models/build_model.h"
#include "tools/command.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> options_of_model() {
  return {
      {"Outputs", "output", "FILE", "", "the .onnx to write (-o)"},
      {"Model", "classes", "N", "", "outputs; default: as the model's authors have it"},
      {"Model", "input", "C,H,W", "", "channels, height and width; default: as the model's authors have it"},
      {"Model", "stages", "N,N,...", "", "blocks of each stage of a ResNet; default: as its authors have it"},
      {"Model", "plain", "", "", "a ResNet's layers without its shortcuts"},
      {"Model", "stem", "KIND", "imagenet", "first layers of resnet18, resnet34 and resnet50", {"imagenet", "cifar"}},
      {"Model", "seed", "S", "0", "seed of the initial weights"}};
}

// "1,2,2,2"
std::vector<int64_t> integers(const Options& options, const std::string& name) {
  std::vector<int64_t> numbers;
  const std::string text = options.text(name);
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const auto [next, error] = std::from_chars(p, end, numbers.emplace_back());
    if (error != std::errc() || (next < end && *next != ',') || next + 1 == end) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("expected --{} to be whole numbers with commas between them, found '{}'", name, text));
    }
    p = next < end ? next + 1 : end;
  }
  return numbers;
}

int run(const Options& options) {
  const std::string output = options.text("output");
  if (output.empty()) throw Error(ErrorKind::kUsage, "expected -o FILE, the .onnx to write, found none");
  ModelRecipe recipe{.name = options.positional().front()};
  if (options.given("classes")) recipe.classes = options.integer("classes", 1);
  recipe.input = integers(options, "input");
  recipe.stages = integers(options, "stages");
  recipe.plain = options.flag("plain");
  recipe.stem = options.text("stem") == "cifar" ? Stem::kCifar : Stem::kImageNet;
  recipe.seed = static_cast<uint64_t>(options.integer("seed", 0));
  const Model model = with_suggestion(recipe.name, model_names(), [&] { return build_model(recipe); });
  model.save(output);
  const Graph graph = model.graph();
  int64_t stored = 0;
  for (const Value* value : graph.values_with_role(Role::kConstant)) stored += value->data.count();
  fmt::print("wrote '{}': {}, {} -> {}, {} nodes, {} stored numbers\n", output, recipe.name,
             graph.inputs()[0]->type.text(), graph.outputs()[0]->type.text(), graph.nodes().size(), stored);
  return 0;
}

}  // namespace

Command model_command() {
  return {{.name = "model",
           .summary = "write one of the models that come with the program",
           .positional = "NAME",
           .min_positional = 1,
           .max_positional = 1,
           .options = options_of_model()},
          run};
}

}  // namespace onward::cli
