#include "passes/training_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace onward {
namespace {

// Networks with fewer convolutions were made before BatchNormalization, or do not need it.
constexpr int kFewestConvolutions = 5;
constexpr int kFewestAdditions = 2;
// Where half of the normalizations are left, the network may have been made so.
constexpr int kFewestFoldedForOneLeft = 2;

void warn_about_unread_tensors(const Graph& graph, PassContext& context) {
  std::vector<std::string> names;
  for (const Value* value : graph.value_list()) {
    const bool stored =
        value->role == Role::kConstant || value->role == Role::kParameter || value->role == Role::kState;
    if (stored && value->uses().empty() && !graph.is_kept(*value)) names.push_back("'" + value->name() + "'");
  }
  if (names.empty()) return;
  context.warnings.push_back(
      fmt::format("initializers that no node reads are not trained and stay as they are: {}", fmt::join(names, ", ")));
}

bool is_normalization(const Node& node) {
  static constexpr std::array kNames = {"BatchNormalization", "InstanceNormalization", "LayerNormalization",
                                        "GroupNormalization", "LRN"};
  return std::any_of(kNames.begin(), kNames.end(), [&](const char* name) { return node.is(name); });
}

// An addition of two branches, not of a bias.
bool is_residual(const Node& node) {
  return node.is("Add") && node.input(0) && node.input(1) && node.input(0)->producer() && node.input(1)->producer();
}

// Whether `word` is in the name, with no letter before or after it.
bool has_word(const std::string& name, const std::string& word) {
  const auto letter = [&](std::size_t i) {
    return i < name.size() && std::isalpha(static_cast<unsigned char>(name[i]));
  };
  for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
    if (!(at > 0 && letter(at - 1)) && !letter(at + word.size())) return true;
  }
  return false;
}

// Names of convolutions and their tensors after folding: of the BatchNormalization that is gone, or those that
// PyTorch's exporter gives to weights that it computed ("onnx::Conv_123").
bool names_tell(const Node& conv) {
  std::vector<std::string> names{conv.name, conv.output(0)->name(), conv.input(1)->name(), conv.input(2)->name()};
  const auto tells = [](std::string name) {
    if (name.rfind("onnx::Conv_", 0) == 0) return true;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::array words = {"bn", "batchnorm", "batch_norm", "batchnormalization", "fused", "folded"};
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return has_word(name, word); });
  };
  return std::any_of(names.begin(), names.end(), tells);
}

// What the network shows of folding.
struct Evidence {
  int convolutions = 0;    // none of whose readers normalises
  int named = 0;           // of these
  int additions = 0;       // of branches
  int normalizations = 0;  // that are left
};

bool is_normalized(const Node& conv) {
  const std::vector<Use>& uses = conv.output(0)->uses();
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.node->is("BatchNormalization"); });
}

// Nothing if some node cannot be what folding leaves.
std::optional<Evidence> find_evidence(const Graph& graph) {
  Evidence evidence;
  for (const auto& node : graph.nodes()) {
    const bool left = node->is("BatchNormalization");
    evidence.normalizations += left;
    if (!left && is_normalization(*node)) return std::nullopt;
    evidence.additions += is_residual(*node);
    if (!node->is("Conv") || is_normalized(*node)) continue;
    if (!node->input(2)) return std::nullopt;
    ++evidence.convolutions;
    evidence.named += names_tell(*node);
  }
  const bool few =
      evidence.convolutions < std::max(kFewestConvolutions, kFewestFoldedForOneLeft * evidence.normalizations);
  if (few || (evidence.named == 0 && evidence.additions < kFewestAdditions)) return std::nullopt;
  return evidence;
}

std::string text_of(const Evidence& evidence) {
  const int left = evidence.normalizations;
  return fmt::format(
      "the file has {}, and all of its {}{} convolutions have a bias{}: it seems that the exporter folded "
      "BatchNormalization into them",
      left == 0 ? "no BatchNormalization" : fmt::format("{} BatchNormalization node{}", left, left == 1 ? "" : "s"),
      evidence.convolutions, left == 0 ? "" : " other",
      evidence.named ? ", with names that folding leaves"
                     : fmt::format(", between {} residual additions", evidence.additions));
}

void warn_about_folded_batch_norm(const Graph& graph, PassContext& context) {
  const bool known = context.batch_norm_folded;
  const std::optional<Evidence> evidence = known ? std::nullopt : find_evidence(graph);
  if (!known && !evidence) return;
  const std::string found =
      known ? "onward export --fold-batch-norm folded BatchNormalization into the convolutions of the file"
            : text_of(*evidence);
  const bool some_left = evidence && evidence->normalizations > 0;
  context.warnings.push_back(fmt::format(
      "{}. The model trains without {}; to train with it, {}", found,
      some_left ? "it there, and --bn sync synchronises what is left" : "it, and --bn sync has nothing to synchronise",
      known ? "export the run without --fold-batch-norm" : "export the model in training mode, which keeps it"));
}

void tell_of_tensors_apart(PassContext& context) {
  if (context.apart.empty()) return;
  std::vector<std::string> tensors;
  for (const auto& [name, copies] : context.apart) tensors.push_back(fmt::format("'{}' as {}", name, copies + 1));
  context.facts.push_back(
      fmt::format("tensors that the file stores once for several readers are kept and trained apart: {}; --keep-tied "
                  "keeps each one tensor",
                  fmt::join(tensors, ", ")));
}

void warn_for_training(Graph& graph, PassContext& context) {
  tell_of_tensors_apart(context);
  warn_about_unread_tensors(graph, context);
  warn_about_folded_batch_norm(graph, context);
}

}  // namespace

Pass training_warnings_pass() { return {.name = "training-warnings", .run = warn_for_training}; }

}  // namespace onward
