#include "runtime/evaluate.h"

#include <optional>

#include "graph/scalars.h"

namespace onward {

namespace {

double scalar_output(const StepOutputs& outputs, const char* name) {
  const auto found = outputs.find(name);
  return found == outputs.end() ? 0 : found->second.to_double().front();
}

double sum_over_replicas(const std::vector<StepOutputs>& outputs, const char* name) {
  double sum = 0;
  for (const StepOutputs& replica : outputs) sum += scalar_output(replica, name);
  return sum;
}

}  // namespace

Evaluation evaluate(ReplicaGroup& replicas, Loader& loader, const BatchInputs& inputs, const LossInfo& loss,
                    const std::function<void(const Batch&, const std::vector<StepOutputs>&)>& visit,
                    const std::function<bool()>& interrupted) {
  Evaluation total;
  double loss_sum = 0, weight_sum = 0, top1 = 0, top5 = 0;
  loader.begin({0, 0});
  while (std::optional<Batch> batch = loader.next()) {
    check_batch_labels(*batch, loss);
    const double weight = loss_denominator(loss, {*batch});
    const std::map<std::string, double> scalars = {{kGlobalBatch, static_cast<double>(batch->count())}};
    const std::vector<StepOutputs> outputs = replicas.run(ProgramMode::kEvaluate, batch_feeds(*batch, inputs, scalars));
    loss_sum += sum_over_replicas(outputs, kLossOutput);
    top1 += sum_over_replicas(outputs, kCorrectTop1Output);
    top5 += sum_over_replicas(outputs, kCorrectTop5Output);
    weight_sum += weight;
    total.samples += batch->count();
    if (visit) visit(*batch, outputs);
    if (interrupted && interrupted()) break;
  }
  const double samples = total.samples ? static_cast<double>(total.samples) : 1;
  total.loss = weight_sum > 0 ? loss_sum / weight_sum : 0;
  total.accuracy = top1 / samples;
  total.top5 = top5 / samples;
  return total;
}

}  // namespace onward
