#include "ops/softmax_cross_entropy_loss/loss_samples.h"

namespace onward {

std::vector<SampleCase> loss_samples(double low, double high) {
  const SampleInput scores{.shape = {4, 5}, .low = low, .high = high};
  const SampleInput labels{.shape = {4}, .low = 0, .high = 4, .dtype = DType::kInt64};
  const SampleInput weights{.shape = {5}, .low = 0.5, .high = 2};
  const SampleInput map{.shape = {2, 3, 2, 3}, .low = low, .high = high};
  const SampleInput map_labels{.shape = {2, 2, 3}, .low = -1, .high = 2, .dtype = DType::kInt32};
  const SampleInput ignored{.shape = {4}, .dtype = DType::kInt64, .values = {2, 2, 2, 2}};
  const auto reduced = [](const char* reduction) { return Attributes{{"reduction", std::string(reduction)}}; };
  const auto ignoring = [](const char* reduction, int64_t index) {
    return Attributes{{"reduction", std::string(reduction)}, {"ignore_index", index}};
  };
  return {
      {.name = "mean", .inputs = {scores, labels}, .attributes = reduced("mean"), .gradients = {0}},
      {.name = "sum", .inputs = {scores, labels}, .attributes = reduced("sum"), .gradients = {0}},
      {.name = "none", .inputs = {scores, labels}, .attributes = reduced("none"), .gradients = {0}},
      {.name = "weighted_mean", .inputs = {scores, labels, weights}, .attributes = reduced("mean"), .gradients = {0}},
      {.name = "weighted_map",
       .inputs = {map, map_labels, SampleInput{.shape = {3}, .low = 0.5, .high = 2}},
       .attributes = ignoring("mean", -1),
       .gradients = {0}},
      {.name = "map_sum", .inputs = {map, map_labels}, .attributes = ignoring("sum", -1), .gradients = {0}},
      {.name = "map_none", .inputs = {map, map_labels}, .attributes = ignoring("none", -1), .gradients = {0}},
      {.name = "all_ignored", .inputs = {scores, ignored}, .attributes = ignoring("mean", 2), .gradients = {0}}};
}

std::vector<SampleCase> loss_grad_samples(const std::vector<SampleCase>& forward, bool with_scores) {
  std::vector<SampleCase> list;
  for (SampleCase sample : forward) {
    const bool per_label = sample.attributes.get_string("reduction") == "none";
    if (!with_scores) sample.attributes.set("input_shape", sample.inputs[0]->shape);
    SampleInput dloss{.shape = per_label ? sample.inputs[1]->shape : Shape{}};
    if (!with_scores) sample.inputs.erase(sample.inputs.begin());
    sample.inputs.insert(sample.inputs.begin(), dloss);
    sample.gradients.clear();
    list.push_back(sample);
  }
  return list;
}

}  // namespace onward
