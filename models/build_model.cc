// The list of models, and the checks of a recipe.
#include "models/build_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "models/builders.h"

namespace onward {
namespace {

// What a model is when the recipe leaves it open. No stages: not a ResNet.
struct KnownModel {
  const char* name;
  Graph (*build)(const ModelRecipe&);
  std::vector<int64_t> stages;
  Shape input;
  int64_t classes;
  bool has_stem = false;
};

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> models = {
      {"seed-resnet", build_seed_resnet, {1, 2, 2, 2}, {3, 32, 32}, 10},
      {"resnet8", build_cifar_resnet, {1, 1, 1}, {3, 32, 32}, 10},
      {"resnet20", build_cifar_resnet, {3, 3, 3}, {3, 32, 32}, 10},
      {"resnet56", build_cifar_resnet, {9, 9, 9}, {3, 32, 32}, 10},
      {"resnet18", build_imagenet_resnet, {2, 2, 2, 2}, {3, 224, 224}, 1000, true},
      {"resnet34", build_imagenet_resnet, {3, 4, 6, 3}, {3, 224, 224}, 1000, true},
      {"resnet50", build_imagenet_resnet, {3, 4, 6, 3}, {3, 224, 224}, 1000, true},
      {"lenet", build_lenet, {}, {1, 28, 28}, 10}};
  return models;
}

template <typename... Args>
Error usage(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kUsage, fmt::format(format, std::forward<Args>(args)...));
}

const KnownModel& find(const std::string& name) {
  for (const KnownModel& model : known_models()) {
    if (name == model.name) return model;
  }
  throw usage("expected the name of a model, found '{}'; the models are {}", name, fmt::join(model_names(), ", "));
}

void check_stages(const ModelRecipe& recipe, const KnownModel& model) {
  if (model.stages.empty() && (recipe.plain || !recipe.stages.empty())) {
    throw usage("{} is not a ResNet: it has neither stages nor shortcuts", model.name);
  }
  const bool positive = std::ranges::all_of(recipe.stages, [](int64_t blocks) { return blocks > 0; });
  if (!recipe.stages.empty() && (recipe.stages.size() != model.stages.size() || !positive)) {
    throw usage("expected {} stages of at least one block for {}, found {}", model.stages.size(), model.name,
                fmt::join(recipe.stages, ","));
  }
}

void check(const ModelRecipe& recipe, const KnownModel& model) {
  check_stages(recipe, model);
  if (recipe.stem != Stem::kImageNet && !model.has_stem) throw usage("{} has only one form of stem", model.name);
  if (recipe.classes < 0) throw usage("expected a positive number of classes, found {}", recipe.classes);
  const bool positive = std::ranges::all_of(recipe.input, [](int64_t dim) { return dim > 0; });
  if (!recipe.input.empty() && (recipe.input.size() != 3 || !positive)) {
    throw usage("expected an input of channels,height,width, found {}", fmt::join(recipe.input, ","));
  }
}

ModelRecipe resolve(ModelRecipe recipe, const KnownModel& model) {
  const bool small = model.has_stem && recipe.stem == Stem::kCifar;
  if (recipe.stages.empty()) recipe.stages = model.stages;
  if (recipe.input.empty()) recipe.input = small ? Shape{3, 32, 32} : model.input;
  if (recipe.classes == 0) recipe.classes = small ? 10 : model.classes;
  return recipe;
}

std::string text(const ModelRecipe& recipe, const KnownModel& model) {
  std::string text = fmt::format("{} --classes {} --input {} --seed {}", recipe.name, recipe.classes,
                                 fmt::join(recipe.input, ","), recipe.seed);
  if (!model.stages.empty()) text += fmt::format(" --stages {}", fmt::join(recipe.stages, ","));
  if (model.has_stem) text += recipe.stem == Stem::kCifar ? " --stem cifar" : " --stem imagenet";
  if (recipe.plain) text += " --plain";
  return text;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const KnownModel& model : known_models()) names.push_back(model.name);
  return names;
}

Model build_model(const ModelRecipe& recipe) {
  const KnownModel& model = find(recipe.name);
  check(recipe, model);
  const ModelRecipe resolved = resolve(recipe, model);
  return Model::from_graph(model.build(resolved), {{"onward.recipe", text(resolved, model)}});
}

}  // namespace onward
