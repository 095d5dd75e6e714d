#include "runtime/data/loader.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>

#include "graph/error.h"
#include "tests/support/expect_error.h"

namespace onward::test {
namespace {

Dataset small(int64_t samples = 203, ImageShape shape = {3, 8, 6}) {
  SyntheticOptions options;
  options.shape = shape;
  options.train_samples = samples;
  return open_dataset("synthetic", DatasetKind::kSynthetic, Split::kTrain, options);
}

Transform training(const Dataset& data, const char* augmentation = "hflip,vflip,crop:2") {
  return {fit_images(data.shape, {-1, -1, -1}, FitMode::kNone), parse_normalisation("cifar10", ""),
          parse_augmentation(augmentation), 11};
}

struct Delivered {
  std::vector<int64_t> samples;  // in the order of the global batches
  std::vector<int64_t> labels;
  std::map<int64_t, std::vector<float>> images;  // by sample
  std::vector<int64_t> batch_sizes;
};

// One epoch, joined over its batches and replicas.
Delivered deliver(Loader& loader, LoaderPosition position) {
  Delivered all;
  loader.begin(position);
  while (const std::optional<Batch> batch = loader.next()) {
    EXPECT_EQ(batch->epoch, position.epoch);
    EXPECT_EQ(batch->step, position.step++);
    all.batch_sizes.push_back(batch->count());
    all.samples.insert(all.samples.end(), batch->samples.begin(), batch->samples.end());
    int64_t row = 0;
    for (const ReplicaBatch& replica : batch->replicas) {
      EXPECT_EQ(replica.share.first, row);
      EXPECT_EQ(replica.images.shape()[0], replica.share.count);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(replica.images.data()) % 64, 0u);
      const auto labels = replica.labels.values<int64_t>();
      all.labels.insert(all.labels.end(), labels.begin(), labels.end());
      const auto values = replica.images.values<float>();
      const std::size_t size = replica.share.count ? values.size() / static_cast<std::size_t>(replica.share.count) : 0;
      for (int64_t i = 0; i < replica.share.count; ++i, ++row) {
        EXPECT_EQ(batch->labels[static_cast<std::size_t>(row)], labels[static_cast<std::size_t>(i)]);
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(size) * i;
        all.images[batch->samples[static_cast<std::size_t>(row)]] = {first, first + static_cast<std::ptrdiff_t>(size)};
      }
    }
    EXPECT_EQ(row, batch->count());
  }
  return all;
}

TEST(Loader, C5_SameBatchesForAnyNumberOfWorkersAndReplicas) {
  const Dataset data = small();
  const SamplerOptions sampling{data.count(), 32, true, false, 7};
  Delivered expected;
  for (const int workers : {0, 1, 4}) {
    for (const int64_t replicas : {1, 2, 3}) {
      LoaderOptions options;
      options.workers = workers;
      options.replicas = replicas;
      Loader loader(data, training(data), sampling, options);
      const Delivered all = deliver(loader, {2, 0});
      if (expected.samples.empty()) expected = all;
      EXPECT_EQ(all.batch_sizes, (std::vector<int64_t>{32, 32, 32, 32, 32, 32, 11}));
      EXPECT_EQ(all.samples, expected.samples);
      EXPECT_EQ(all.images, expected.images);
      ASSERT_EQ(all.images.size(), 203u);
      for (std::size_t i = 0; i < all.samples.size(); ++i)
        ASSERT_EQ(all.labels[i], data.labels[static_cast<std::size_t>(all.samples[i])]);
    }
  }
  Loader loader(data, training(data), sampling, {});
  EXPECT_NE(deliver(loader, {3, 0}).images, expected.images);  // another epoch, other augmentations
}

TEST(Loader, A9_ReplicasSeeTheSameSamplesInEachGlobalStep) {
  const Dataset data = small(100);
  LoaderOptions one, four;
  four.replicas = 4;
  Loader a(data, training(data), {100, 30, true}, one), b(data, training(data), {100, 30, true}, four);
  a.begin({0, 0});
  b.begin({0, 0});
  for (int64_t step = 0; step < 4; ++step) EXPECT_EQ(a.next()->samples, b.next()->samples);
}

TEST(Loader, A7_TenSamplesOnThreeReplicas) {
  const Dataset data = small(10);
  LoaderOptions options;
  options.replicas = 3;
  Loader loader(data, training(data, "none"), {10, 6}, options);
  const Delivered all = deliver(loader, {0, 0});
  EXPECT_EQ(all.batch_sizes, (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(all.images.size(), 10u);
  Loader tiny(data, training(data, "none"), {10, 9}, options);  // the last batch leaves two replicas empty
  EXPECT_EQ(deliver(tiny, {0, 0}).images.size(), 10u);
}

TEST(Loader, C7_EvaluationIsPlainAndInOrder) {
  const Dataset data = small(50);
  Loader loader(data, training(data, "none"), {50, 16}, {});
  const Delivered first = deliver(loader, {0, 0}), second = deliver(loader, {1, 0});
  EXPECT_EQ(first.images, second.images);
  EXPECT_EQ(first.labels, data.labels);
  const NormaliseTable table(parse_normalisation("cifar10", ""), 3);
  for (int64_t i = 0; i < 50; ++i) {
    for (int64_t k = 0; k < data.shape.count(); ++k) {
      ASSERT_EQ(first.images.at(i)[static_cast<std::size_t>(k)],
                table.value(k / 48, data.image(i)[static_cast<std::size_t>(k)]));
    }
  }
}

TEST(Loader, D3_ResumesInTheMiddleOfAnEpoch) {
  const Dataset data = small();
  const SamplerOptions sampling{data.count(), 32, true, false, 7};
  Loader whole(data, training(data), sampling, {});
  const Delivered all = deliver(whole, {4, 0});
  EXPECT_EQ(whole.position(), (LoaderPosition{5, 0}));

  Loader stopped(data, training(data), sampling, {});
  stopped.begin({4, 0});
  for (int i = 0; i < 3; ++i) stopped.next();
  const LoaderPosition position = stopped.position();
  EXPECT_EQ(position, (LoaderPosition{4, 3}));
  Loader resumed(data, training(data), sampling, {});
  const Delivered rest = deliver(resumed, position);
  EXPECT_EQ(rest.samples, std::vector<int64_t>(all.samples.begin() + 96, all.samples.end()));
  for (const auto& [sample, image] : rest.images) EXPECT_EQ(image, all.images.at(sample));
}

TEST(Loader, ChannelsLastAndDoubleHoldTheSameValues) {
  const Dataset data = small(40);
  const SamplerOptions sampling{40, 40, true};
  LoaderOptions last, wide;
  last.layout = Layout::kChannelsLast;
  wide.dtype = DType::kFloat64;
  Loader a(data, training(data), sampling, {}), b(data, training(data), sampling, last),
      c(data, training(data), sampling, wide);
  for (Loader* loader : {&a, &b, &c}) loader->begin({0, 0});
  const Batch rows = *a.next(), channels = *b.next(), doubles = *c.next();
  const auto x = rows.replicas[0].images.values<float>(), y = channels.replicas[0].images.values<float>();
  const auto z = doubles.replicas[0].images.values<double>();
  EXPECT_EQ(channels.replicas[0].layout, Layout::kChannelsLast);
  EXPECT_EQ(channels.replicas[0].images.shape(), (Shape{40, 3, 8, 6}));
  for (std::size_t n = 0; n < 40; ++n) {
    for (std::size_t ch = 0; ch < 3; ++ch) {
      for (std::size_t i = 0; i < 48; ++i) {
        const std::size_t at = (n * 3 + ch) * 48 + i;
        ASSERT_EQ(y[(n * 48 + i) * 3 + ch], x[at]);
        ASSERT_EQ(z[at], x[at]);
      }
    }
  }
}

TEST(Loader, BatchesThatTheCallerKeepsAreNotOverwritten) {
  const Dataset data = small(120);
  LoaderOptions options;
  options.prefetch = 1;
  Loader loader(data, training(data), {120, 10, true}, options);
  loader.begin({0, 0});
  std::vector<Batch> kept;
  std::vector<std::vector<float>> copies;
  while (std::optional<Batch> batch = loader.next()) {
    const auto values = batch->replicas[0].images.values<float>();
    copies.emplace_back(values.begin(), values.end());
    kept.push_back(std::move(*batch));
  }
  ASSERT_EQ(kept.size(), 12u);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto values = kept[i].replicas[0].images.values<float>();
    EXPECT_TRUE(std::equal(values.begin(), values.end(), copies[i].begin()));
  }
}

TEST(Loader, BuffersAreReusedAndMayOutliveTheLoader) {
  const Dataset data = small(200);
  std::atomic<int> allocated = 0;
  LoaderOptions options;
  options.allocate = [&](std::size_t bytes) {
    ++allocated;
    return BufferPool::Buffer(static_cast<std::byte*>(std::aligned_alloc(64, bytes)),
                              [](std::byte* p) { std::free(p); });
  };
  std::optional<Batch> last;
  {
    Loader loader(data, training(data), {200, 10, true}, options);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      loader.begin({epoch, 0});
      while (std::optional<Batch> batch = loader.next()) last = std::move(batch);
    }
  }
  EXPECT_LE(allocated,
            2 * 7);  // images and labels of the four ahead, the one delivered, the one before it, one in between
  EXPECT_EQ(last->count(), 10);
  last.reset();
}

TEST(Loader, ErrorsOfWorkersReachTheCaller) {
  const Dataset data = small(100);
  for (const int workers : {0, 1, 3}) {
    std::atomic<int> left = 5;  // images and labels of two batches, then the third fails
    LoaderOptions options;
    options.workers = workers;
    options.allocate = [&](std::size_t bytes) {
      if (--left < 0) throw Error(ErrorKind::kDevice, "no pinned memory left");
      return BufferPool::Buffer(static_cast<std::byte*>(std::aligned_alloc(64, bytes)),
                                [](std::byte* p) { std::free(p); });
    };
    Loader loader(data, training(data), {100, 10}, options);
    loader.begin({0, 0});
    const std::optional<Batch> first = loader.next(), second = loader.next();
    ASSERT_TRUE(first && second);
    expect_error(ErrorKind::kDevice, "no pinned memory left", [&] { loader.next(); });
    EXPECT_FALSE(loader.next());
    left = 1000;
    EXPECT_EQ(deliver(loader, {0, 0}).images.size(), 100u);
  }
}

TEST(Loader, StopsAtAnyTime) {
  const Dataset data = small(400);
  for (int round = 0; round < 30; ++round) {
    LoaderOptions options;
    options.workers = round % 4;
    Loader loader(data, training(data), {400, 7, true}, options);
    if (round % 5 == 0) continue;  // never begun
    loader.begin({round, 0});
    for (int i = 0; i < round % 7; ++i) loader.next();
    if (round % 2) loader.begin({round, 3});
    if (round % 3 == 0) {
      loader.stop();
      EXPECT_FALSE(loader.next());
    } else {
      EXPECT_TRUE(loader.next());
    }
  }
}

TEST(Loader, StopWakesAWaitingCaller) {
  const Dataset data = small(50);
  std::atomic<bool> release = false, entered = false;
  LoaderOptions options;
  options.workers = 1;
  options.allocate = [&](std::size_t bytes) {
    entered = true;
    while (!release) std::this_thread::yield();
    return BufferPool::Buffer(static_cast<std::byte*>(std::aligned_alloc(64, bytes)),
                              [](std::byte* p) { std::free(p); });
  };
  Loader loader(data, training(data), {50, 50}, options);
  loader.begin({0, 0});
  std::jthread stopper([&] {
    while (!entered) std::this_thread::yield();
    release = true;
    loader.stop();
  });
  while (loader.next()) {
  }
}

TEST(Loader, RefusesWhatDoesNotFit) {
  const Dataset data = small(20);
  const auto make = [&](SamplerOptions sampling, const std::function<void(LoaderOptions&)>& change) {
    LoaderOptions options;
    change(options);
    Loader loader(data, training(data), sampling, options);
  };
  expect_error(ErrorKind::kUsage, "data set's 20 samples, found one of 21", [&] {
    make({21, 4}, [](LoaderOptions&) {});
  });
  expect_error(ErrorKind::kUsage, "--workers 0 or more", [&] {
    make({20, 4}, [](LoaderOptions& o) { o.workers = -1; });
  });
  expect_error(ErrorKind::kUsage, "at least one replica", [&] {
    make({20, 4}, [](LoaderOptions& o) { o.replicas = 0; });
  });
  expect_error(ErrorKind::kUsage, "at least one batch", [&] {
    make({20, 4}, [](LoaderOptions& o) { o.prefetch = 0; });
  });
  expect_error(ErrorKind::kUsage, "float32 or float64, found bfloat16", [&] {
    make({20, 4}, [](LoaderOptions& o) { o.dtype = DType::kBFloat16; });
  });
  const Dataset gray = small(20, {1, 8, 6});
  expect_error(ErrorKind::kUsage, "expected a transform for images of 1x8x6, found one for 3x8x6", [&] {
    Loader(gray, training(data), {20, 4}, {});
  });
  LoaderOptions last;
  last.layout = Layout::kChannelsLast;
  const Transform flat(fit_images(gray.shape, {48}, FitMode::kNone), parse_normalisation("none", ""));
  expect_error(ErrorKind::kUsage, "C, H, W for channels-last images, found 48", [&] {
    Loader(gray, flat, {20, 4}, last);
  });
  Loader loader(gray, flat, {20, 4}, {});
  expect_error(ErrorKind::kUsage, "expected begin() before next()", [&] { loader.next(); });
  expect_error(ErrorKind::kUsage, "found epoch 0, step 6", [&] { loader.begin({0, 6}); });
  loader.begin({0, 5});
  EXPECT_FALSE(loader.next());
  loader.begin({0, 4});
  EXPECT_EQ(loader.next()->replicas[0].images.shape(), (Shape{4, 48}));
}

}  // namespace
}  // namespace onward::test
