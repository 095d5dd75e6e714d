// The gradient of a whole network against central differences, through all passes, in fp64.
#include <algorithm>
#include <cmath>

#include "graph/scalars.h"
#include "tests/support/small_resnet.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

constexpr int64_t kRows = 3;
constexpr double kStep = 1e-5;

double loss_with(Trainer& trainer, const NamedTensors& batch, const std::string& name, HostTensor value, std::size_t i,
                 double step) {
  const HostTensor before = value;
  value.edit_values<double>()[i] += step;
  trainer.replicas.set_stored(name, value);
  const double loss = trainer.step(batch, 0).at(kLossOutput).to_double()[0];
  trainer.replicas.set_stored(name, before);
  return loss;
}

void expect_gradients_match(ProgramOptions options, const std::vector<int64_t>& shares) {
  options.optimizer = OptimizerKind::kSgd;
  options.keep_gradients = true;
  Trainer trainer(small_resnet, options, shares);
  const NamedTensors batch = small_resnet_batch(kRows, 5);
  const NamedTensors gradients = trainer.step(batch, 0);
  const NamedTensors stored = trainer.replicas.store();
  int checked = 0;
  for (const auto& [name, tensor] : stored) {
    if (!gradients.contains(gradient_name(name))) continue;
    const std::vector<double> gradient = gradients.at(gradient_name(name)).to_double();
    const std::size_t stride = std::max<std::size_t>(1, gradient.size() / 3);
    for (std::size_t i = 0; i < gradient.size(); i += stride, ++checked) {
      const double difference =
          (loss_with(trainer, batch, name, tensor, i, kStep) - loss_with(trainer, batch, name, tensor, i, -kStep)) /
          (2 * kStep);
      EXPECT_NEAR(gradient[i], difference, 1e-7 * (1 + std::abs(difference))) << name << " " << i;
    }
  }
  EXPECT_GT(checked, 50);
}

TEST(WholeGradient, OfAResnetMatchesDifferences) { expect_gradients_match({}, {kRows}); }
TEST(WholeGradient, OfAResnetOnTwoReplicasMatchesDifferences) { expect_gradients_match({}, {2, 1}); }
TEST(WholeGradient, WithoutFusingToo) {
  ProgramOptions options;
  options.disabled_passes = {"fuse"};
  expect_gradients_match(options, {kRows});
}

}  // namespace
}  // namespace onward::test
