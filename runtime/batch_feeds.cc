#include "runtime/batch_feeds.h"

#include "graph/scalars.h"

namespace onward {

std::vector<StepFeeds> batch_feeds(const Batch& batch, const BatchInputs& inputs,
                                   const std::map<std::string, double>& scalars) {
  std::vector<StepFeeds> feeds;
  for (const ReplicaBatch& replica : batch.replicas) {
    StepFeeds feed;
    feed.local_batch = replica.share.count;
    feed.scalars = scalars;
    feed.scalars[kSampleOffset] = static_cast<double>(replica.share.first);
    feed.tensors[inputs.image] = {replica.images, replica.layout};
    if (!inputs.label.empty()) feed.tensors[inputs.label] = {replica.labels, Layout::kRowMajor};
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

double loss_denominator(const LossInfo& loss, const std::vector<Batch>& batches) {
  double sum = 0;
  for (const Batch& batch : batches) {
    if (loss.denominator != LossDenominator::kLabelWeights) {
      sum += static_cast<double>(batch.count());
      continue;
    }
    for (const int64_t label : batch.labels) {
      if (loss.ignore_index && label == *loss.ignore_index) continue;
      sum += loss.class_weights.empty() ? 1.0 : loss.class_weights.at(static_cast<std::size_t>(label));
    }
  }
  return sum;
}

void check_batch_labels(const Batch& batch, const LossInfo& loss) {
  if (loss.classes == 0) return;
  const int64_t* ignored = loss.ignore_index ? &*loss.ignore_index : nullptr;
  check_labels(batch.labels, loss.classes, batch.samples, ignored);
}

}  // namespace onward
