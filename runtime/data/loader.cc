#include "runtime/data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/error.h"

namespace onward {

namespace {

// Elements of a chunk: enough to make the lock's cost small, few enough that workers share one batch and stop soon.
constexpr int64_t kChunkElements = 3 * 32 * 32 * 32;

void check(const Dataset& dataset, const Transform& transform, const SamplerOptions& sampling,
           const LoaderOptions& options) {
  const auto require = [](bool good, const std::string& message) {
    if (!good) throw Error(ErrorKind::kUsage, message);
  };
  require(options.replicas >= 1, fmt::format("expected at least one replica, found {}", options.replicas));
  require(options.workers >= 0, fmt::format("expected --workers 0 or more, found {}", options.workers));
  require(options.prefetch >= 1,
          fmt::format("expected at least one batch to be prefetched, found {}", options.prefetch));
  require(options.dtype == DType::kFloat32 || options.dtype == DType::kFloat64,
          fmt::format("expected images as float32 or float64, found {}", dtype_name(options.dtype)));
  require(options.layout == Layout::kRowMajor || transform.fit().sample.size() == 3,
          fmt::format("expected a model input of C, H, W for channels-last images, found {}",
                      to_string(transform.fit().sample)));
  require(transform.fit().image == dataset.shape, fmt::format("expected a transform for images of {}, found one for {}",
                                                              dataset.shape.text(), transform.fit().image.text()));
  require(sampling.samples == dataset.count(),
          fmt::format("expected a sampler of the data set's {} samples, found one of {}", dataset.count(),
                      sampling.samples));
}

}  // namespace

Loader::Loader(const Dataset& dataset, Transform transform, const SamplerOptions& sampling,
               const LoaderOptions& options)
    : dataset_(dataset),
      transform_(std::move(transform)),
      options_(options),
      chunk_rows_(std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, transform_.fit().output.count()))),
      pool_(options.allocate),
      sampler_(sampling) {
  check(dataset_, transform_, sampling, options_);
  next_to_open_ = sampler_.steps_per_epoch();
  for (int i = 0; i < options_.workers; ++i) {
    workers_.emplace_back([this](const std::stop_token& stopping) { run_worker(stopping); });
  }
}

void Loader::begin(LoaderPosition position) {
  if (position.epoch < 0 || position.step < 0 || position.step > sampler_.steps_per_epoch()) {
    throw Error(ErrorKind::kUsage, fmt::format("expected a position in an epoch of {} steps, found epoch {}, step {}",
                                               sampler_.steps_per_epoch(), position.epoch, position.step));
  }
  const std::lock_guard lock(mutex_);
  open_.clear();
  begun_ = true;
  position_ = position;
  next_to_open_ = position.step;
  work_ready_.notify_all();
}

std::optional<Batch> Loader::next() {
  std::unique_lock lock(mutex_);
  if (!begun_) throw Error(ErrorKind::kUsage, "expected begin() before next()");
  const auto ready = [&] { return open_.empty() ? all_opened() : open_.front()->finished(); };
  if (options_.workers == 0) {
    while (!ready()) {
      if (const std::optional<Claim> claimed = claim()) prepare(*claimed, lock);
    }
  } else {
    batch_ready_.wait(lock, ready);
  }
  if (open_.empty()) return std::nullopt;
  const std::shared_ptr<Work> work = std::move(open_.front());
  open_.pop_front();
  if (work->error) {
    end_epoch();
    std::rethrow_exception(work->error);
  }
  ++position_.step;
  work_ready_.notify_all();
  return std::move(work->batch);
}

void Loader::stop() {
  const std::lock_guard lock(mutex_);
  end_epoch();
  batch_ready_.notify_all();
}

// Workers that still hold a dropped batch finish their chunk of it; nobody looks at it any more.
void Loader::end_epoch() {
  open_.clear();
  next_to_open_ = sampler_.steps_per_epoch();
}

LoaderPosition Loader::position() const {
  const std::lock_guard lock(mutex_);
  if (position_.step == sampler_.steps_per_epoch()) return {position_.epoch + 1, 0};
  return position_;
}

void Loader::run_worker(const std::stop_token& stopping) {
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Claim> claimed;
    if (!work_ready_.wait(lock, stopping, [&] { return stopping.stop_requested() || (claimed = claim()).has_value(); }))
      return;
    if (!claimed) return;
    prepare(*claimed, lock);
  }
}

// The first unclaimed chunk in the order of the batches; opens a batch if there is room. With the mutex held.
std::optional<Loader::Claim> Loader::claim() {
  while (true) {
    for (const std::shared_ptr<Work>& work : open_) {
      if (work->claimed < work->chunks) return Claim{work, work->claimed++};
    }
    if (all_opened() || static_cast<int64_t>(open_.size()) >= options_.prefetch) return std::nullopt;
    open_.push_back(open(next_to_open_++));
  }
}

// An error here belongs to this batch as one of its chunks' would.
std::shared_ptr<Loader::Work> Loader::open(int64_t step) {
  auto work = std::make_shared<Work>();
  try {
    work->batch = make_batch(step);
    work->chunks = (work->batch.count() + chunk_rows_ - 1) / chunk_rows_;
  } catch (...) {
    work->error = std::current_exception();
    batch_ready_.notify_one();
  }
  return work;
}

Batch Loader::make_batch(int64_t step) {
  Batch batch{position_.epoch, step, sampler_.batch(position_.epoch, step)};
  for (const int64_t sample : batch.samples) batch.labels.push_back(dataset_.labels[static_cast<std::size_t>(sample)]);
  for (const BatchShare& share : split_batch(batch.count(), options_.replicas)) {
    Shape shape{share.count};
    shape.insert(shape.end(), transform_.fit().sample.begin(), transform_.fit().sample.end());
    ReplicaBatch replica{share, pooled(options_.dtype, std::move(shape)), options_.layout,
                         pooled(DType::kInt64, {share.count})};
    std::copy_n(batch.labels.begin() + share.first, share.count, replica.labels.edit_values<int64_t>().begin());
    batch.replicas.push_back(std::move(replica));
  }
  return batch;
}

HostTensor Loader::pooled(DType dtype, Shape shape) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * dtype_size(dtype);
  return HostTensor(dtype, std::move(shape), pool_.take(bytes));
}

// Fills a chunk with the mutex released.
void Loader::prepare(const Claim& claim, std::unique_lock<std::mutex>& lock) {
  std::exception_ptr error;
  lock.unlock();
  try {
    fill_chunk(claim.work->batch, claim.chunk);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (error) claim.work->error = error;
  ++claim.work->done;
  if (claim.work->finished()) batch_ready_.notify_one();
}

void Loader::fill_chunk(Batch& batch, int64_t chunk) const {
  const int64_t end = std::min(batch.count(), (chunk + 1) * chunk_rows_);
  auto replica = batch.replicas.begin();
  for (int64_t row = chunk * chunk_rows_; row < end; ++row) {
    while (row >= replica->share.first + replica->share.count) ++replica;
    fill_row(*replica, row - replica->share.first, batch.epoch, batch.samples[static_cast<std::size_t>(row)]);
  }
}

void Loader::fill_row(ReplicaBatch& replica, int64_t row, int64_t epoch, int64_t sample) const {
  const std::span<const uint8_t> image = dataset_.image(sample);
  const int64_t offset = row * transform_.fit().output.count();
  void* rows = replica.images.edit();  // not shared yet
  if (replica.images.dtype() == DType::kFloat64) {
    transform_.apply(image, epoch, sample, replica.layout, static_cast<double*>(rows) + offset);
  } else {
    transform_.apply(image, epoch, sample, replica.layout, static_cast<float*>(rows) + offset);
  }
}

}  // namespace onward
