#include "runtime/data/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/error.h"
#include "graph/random.h"

namespace onward {

std::vector<BatchShare> split_batch(int64_t count, int64_t replicas) {
  std::vector<BatchShare> shares(static_cast<std::size_t>(replicas));
  int64_t first = 0;
  for (int64_t i = 0; i < replicas; ++i) {
    const int64_t size = count / replicas + (i < count % replicas ? 1 : 0);
    shares[static_cast<std::size_t>(i)] = {first, size};
    first += size;
  }
  return shares;
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  if (options.samples < 1 || options.batch_size < 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a batch size of at least 1 and some samples, found batch size {} and {} samples",
                            options.batch_size, options.samples));
  }
  if (steps_per_epoch() == 0) {
    throw Error(ErrorKind::kUsage, fmt::format("expected at least one full batch, found {} samples for batch size {}; "
                                               "lower --batch-size or leave out --drop-last",
                                               options.samples, options.batch_size));
  }
}

int64_t Sampler::steps_per_epoch() const {
  const int64_t full = options_.samples / options_.batch_size;
  return full + (!options_.drop_last && options_.samples % options_.batch_size != 0 ? 1 : 0);
}

int64_t Sampler::samples_per_epoch() const {
  return std::min(options_.samples, steps_per_epoch() * options_.batch_size);
}

int64_t Sampler::batch_count(int64_t step) const {
  return std::clamp<int64_t>(options_.samples - step * options_.batch_size, 0, options_.batch_size);
}

std::vector<int64_t> Sampler::batch(int64_t epoch, int64_t step) {
  if (step < 0 || step >= steps_per_epoch()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a step in 0..{} of epoch {}, found {}", steps_per_epoch() - 1, epoch, step));
  }
  prepare(epoch);
  const auto first = order_.begin() + step * options_.batch_size;
  return {first, first + batch_count(step)};
}

// Fisher and Yates, with the number for each exchange keyed by (seed, epoch, position).
void Sampler::prepare(int64_t epoch) {
  if (prepared_epoch_ == epoch) return;
  order_.resize(static_cast<std::size_t>(options_.samples));
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.shuffle) {
    const RandomStream random(options_.seed, RandomPurpose::kShuffle);
    for (std::size_t i = order_.size(); i-- > 1;)
      std::swap(order_[i], order_[random.below(static_cast<uint64_t>(epoch), i, i + 1)]);
  }
  prepared_epoch_ = epoch;
}

}  // namespace onward
