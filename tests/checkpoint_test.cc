#include "runtime/checkpoint.h"

#include "graph/error.h"
#include "runtime/safetensors.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

TEST(Checkpoint, D1_PositionAndTensorsReadBackToTheSameBits) {
  Checkpoint saved;
  saved.position = {.step = 12,
                    .batch = 24,
                    .epoch = 1,
                    .batch_in_epoch = 4,
                    .epoch_samples = 512,
                    .epoch_loss = 0.1 + 0.2,
                    .skipped_steps = 1,
                    .best_accuracy = 1.0 / 3,
                    .best_epoch = 1};
  saved.tensors["fc.weight"] = HostTensor::from<float>({2}, {0.1f, -3e-42f});
  saved.tensors["odd/name"] = HostTensor::from<double>({1}, {5});
  saved.replica_tensors = {{{"bn.running_mean", HostTensor::from<float>({1}, {1})}},
                           {{"bn.running_mean", HostTensor::from<float>({1}, {2})}}};
  saved.metadata["config"] = "{\"lr\": 0.1}";
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  save_checkpoint(path, saved);
  const Checkpoint read = load_checkpoint(path);
  EXPECT_EQ(read.position.step, 12);
  EXPECT_EQ(read.position.batch_in_epoch, 4);
  EXPECT_EQ(read.position.epoch_loss, 0.1 + 0.2);
  EXPECT_EQ(read.position.best_accuracy, 1.0 / 3);
  EXPECT_EQ(read.tensors.at("fc.weight").values<float>()[1], -3e-42f);
  EXPECT_EQ(read.tensors.size(), 2u);
  ASSERT_EQ(read.replica_tensors.size(), 2u);
  EXPECT_EQ(read.replica_tensors[1].at("bn.running_mean").values<float>()[0], 2);
  EXPECT_EQ(read.metadata, saved.metadata);
}

TEST(Checkpoint, NamesThatTheFormatUsesItselfSurvive) {
  Checkpoint saved;
  const std::vector<std::string> names = {"__metadata__", "replica.0/w", "=", "=replica.1/w"};
  for (std::size_t i = 0; i < names.size(); ++i)
    saved.tensors[names[i]] = HostTensor::scalar<int64_t>(static_cast<int64_t>(i));
  saved.replica_tensors = {{{"w", HostTensor::scalar<int64_t>(9)}}};
  const TemporaryFolder folder;
  const std::string path = folder.file("names.safetensors");
  save_checkpoint(path, saved);
  const Checkpoint read = load_checkpoint(path);
  ASSERT_EQ(read.tensors.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(read.tensors.at(names[i]).to_int64()[0], static_cast<int64_t>(i));
  EXPECT_EQ(read.replica_tensors.at(0).at("w").to_int64()[0], 9);
}

TEST(Checkpoint, AnotherSafetensorsFileIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("other.safetensors");
  Safetensors other;
  other.tensors.emplace_back("w", HostTensor::scalar<float>(1));
  save_safetensors(path, other);
  EXPECT_THROW(load_checkpoint(path), Error);
}

TEST(Checkpoint, LocalStatisticsAreAveragedByTheSamplesOfTheLastStep) {
  const std::vector<TensorMap> replicas = {{{"m", HostTensor::from<float>({2}, {1, 10})}},
                                           {{"m", HostTensor::from<float>({2}, {4, 40})}}};
  const HostTensor mean = weighted_mean(replicas, {2, 1}).at("m");
  EXPECT_FLOAT_EQ(mean.values<float>()[0], 2);
  EXPECT_FLOAT_EQ(mean.values<float>()[1], 20);
  EXPECT_FLOAT_EQ(weighted_mean(replicas, {0, 0}).at("m").values<float>()[0], 2.5);
}

}  // namespace
}  // namespace onward::test
