#pragma once
#include <cstdint>
#include <vector>

namespace onward {

// A replica's rows of a global batch.
struct BatchShare {
  int64_t first = 0;
  int64_t count = 0;
  bool operator==(const BatchShare&) const = default;
};

// Cuts a global batch into consecutive shares that differ by at most one; the first replicas take the larger ones. 100
// on 3: 34, 33, 33. A share may be empty.
std::vector<BatchShare> split_batch(int64_t count, int64_t replicas);

struct SamplerOptions {
  int64_t samples = 0;     // in the data set
  int64_t batch_size = 1;  // global
  bool shuffle = false;    // off for evaluation: every sample once, in the data set's order
  bool drop_last = false;  // leave out a last batch that is not full
  uint64_t seed = 0;
};

// Which samples make up which global batch: a function of (seed, epoch, step), so a position is just these two numbers
// and a resume in the middle of an epoch goes on with the next indices. The number of replicas plays no part.
class Sampler {
 public:
  // Error(kUsage) if there is no sample, the batch size is below 1, or drop_last leaves no batch.
  explicit Sampler(const SamplerOptions& options);

  int64_t steps_per_epoch() const;
  // Samples that one epoch delivers.
  int64_t samples_per_epoch() const;
  // Size of the batch of a step (the last may be smaller).
  int64_t batch_count(int64_t step) const;
  // The data set's indices of a global batch. Keeps one epoch's order, so it is cheap while the epoch stays the same;
  // not to be called from two threads at once.
  std::vector<int64_t> batch(int64_t epoch, int64_t step);
  const SamplerOptions& options() const { return options_; }

 private:
  void prepare(int64_t epoch);

  SamplerOptions options_;
  int64_t prepared_epoch_ = -1;
  std::vector<int64_t> order_;
};

}  // namespace onward
