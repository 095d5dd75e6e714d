#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "graph/layout.h"
#include "graph/tensor.h"
#include "runtime/data/buffer_pool.h"
#include "runtime/data/dataset.h"
#include "runtime/data/sampler.h"
#include "runtime/data/transform.h"

namespace onward {

// The next batch to deliver. All that a checkpoint needs to go on with the next samples.
struct LoaderPosition {
  int64_t epoch = 0;
  int64_t step = 0;
  bool operator==(const LoaderPosition&) const = default;
};

// What one replica gets of a global batch: what an executor takes as its feeds.
struct ReplicaBatch {
  BatchShare share;   // its rows of the global batch; count may be 0
  HostTensor images;  // logical shape [share.count, sample...], float32 or float64, its bytes in `layout`
  Layout layout = Layout::kRowMajor;
  HostTensor labels;  // int64 [share.count]
};

// One global batch. The memory of its tensors goes back to the loader's pool with their last copy.
struct Batch {
  int64_t epoch = 0;
  int64_t step = 0;
  std::vector<int64_t> samples;  // index in the data set of each row of the global batch
  std::vector<int64_t> labels;   // the label of each row
  std::vector<ReplicaBatch> replicas;

  int64_t count() const { return static_cast<int64_t>(samples.size()); }
};

struct LoaderOptions {
  int64_t replicas = 1;
  int workers = 2;                    // threads that prepare samples; 0: next() does it
  int64_t prefetch = 4;               // batches prepared ahead, at most
  DType dtype = DType::kFloat32;      // or float64: the same values, widened
  Layout layout = Layout::kRowMajor;  // kChannelsLast only for inputs of C, H, W
  BufferPool::Allocate allocate;      // see BufferPool
};

// Delivers the batches of an epoch in order, prepared ahead by worker threads. What is in a batch depends on the data
// set, the transform, the sampling options and the position only. For evaluation give a Transform without augmentation
// and sampling without shuffle.
//
//   Loader loader(dataset, transform, sampling, options);
//   loader.begin({epoch, first_step});
//   while (std::optional<Batch> batch = loader.next()) { ... }
class Loader {
 public:
  // The data set must outlive the loader. Error(kUsage) for options that do not fit together.
  Loader(const Dataset& dataset, Transform transform, const SamplerOptions& sampling, const LoaderOptions& options);
  // Stops and waits for the workers, each of which finishes at most a few samples.
  ~Loader() = default;

  // Goes to a position and starts to prepare from there; what was prepared for another position is dropped.
  void begin(LoaderPosition position);
  // The next batch, or nothing at the end of the epoch and after stop(). An error of a worker is thrown here, in the
  // order of the batches; the epoch is over then.
  std::optional<Batch> next();
  // Ends the epoch now. May be called from another thread; a waiting next() returns nothing.
  void stop();
  // The batch that the next call of next() delivers; step 0 of the following epoch at the end of one.
  LoaderPosition position() const;

  int64_t steps_per_epoch() const { return sampler_.steps_per_epoch(); }
  int64_t samples_per_epoch() const { return sampler_.samples_per_epoch(); }
  // Size of the global batch of a step of an epoch.
  int64_t batch_count(int64_t step) const { return sampler_.batch_count(step); }

 private:
  // A batch in preparation, cut into chunks that workers claim one by one.
  struct Work {
    Batch batch;
    int64_t chunks = 0;
    int64_t claimed = 0;
    int64_t done = 0;
    std::exception_ptr error;
    bool finished() const { return done == chunks; }
  };
  struct Claim {
    std::shared_ptr<Work> work;
    int64_t chunk = 0;
  };

  void run_worker(const std::stop_token& stopping);
  std::optional<Claim> claim();
  std::shared_ptr<Work> open(int64_t step);
  Batch make_batch(int64_t step);
  HostTensor pooled(DType dtype, Shape shape);
  void prepare(const Claim& claim, std::unique_lock<std::mutex>& lock);
  void fill_chunk(Batch& batch, int64_t chunk) const;
  void fill_row(ReplicaBatch& replica, int64_t row, int64_t epoch, int64_t sample) const;
  bool all_opened() const { return next_to_open_ >= sampler_.steps_per_epoch(); }
  void end_epoch();

  const Dataset& dataset_;
  const Transform transform_;
  const LoaderOptions options_;
  const int64_t chunk_rows_;
  BufferPool pool_;

  mutable std::mutex mutex_;
  std::condition_variable_any work_ready_;
  std::condition_variable batch_ready_;
  Sampler sampler_;
  bool begun_ = false;
  LoaderPosition position_;
  int64_t next_to_open_ = 0;
  std::deque<std::shared_ptr<Work>> open_;
  std::vector<std::jthread> workers_;  // last, so that they end before anything they use
};

}  // namespace onward
