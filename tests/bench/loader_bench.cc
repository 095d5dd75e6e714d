// Images per second that the loader delivers, without a model behind it: 3x32x32, batches of 128.

#include <benchmark/benchmark.h>

#include "runtime/data/loader.h"

namespace onward {
namespace {

const Dataset& dataset() {
  static const Dataset data = open_dataset("synthetic:50000,1000", DatasetKind::kSynthetic, Split::kTrain);
  return data;
}

// Argument 0: worker threads (0: on the caller). Argument 1: channels-last. Argument 2: augmented.
void deliver(benchmark::State& state) {
  const Dataset& data = dataset();
  const Augmentation augmentation = state.range(2) ? parse_augmentation("hflip,crop:4") : Augmentation{};
  const Transform transform(fit_images(data.shape, {3, 32, 32}, FitMode::kNone),
                            parse_normalisation("cifar10", data.name), augmentation);
  LoaderOptions options;
  options.workers = static_cast<int>(state.range(0));
  options.layout = state.range(1) ? Layout::kChannelsLast : Layout::kRowMajor;
  Loader loader(data, transform, {data.count(), 128, true}, options);
  int64_t epoch = 0, images = 0;
  loader.begin({epoch, 0});
  for ([[maybe_unused]] auto step : state) {
    std::optional<Batch> batch = loader.next();
    if (!batch) {
      loader.begin({++epoch, 0});
      batch = loader.next();
    }
    benchmark::DoNotOptimize(batch->replicas[0].images.data());
    images += batch->count();
  }
  state.counters["images/s"] = benchmark::Counter(static_cast<double>(images), benchmark::Counter::kIsRate);
}

BENCHMARK(deliver)
    ->ArgNames({"workers", "channels_last", "augment"})
    ->ArgsProduct({{0, 1, 2}, {0, 1}, {0, 1}})
    ->UseRealTime();

}  // namespace
}  // namespace onward
