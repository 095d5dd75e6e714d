// All-reduce in shared memory. Every rank publishes its buffer; after a rendezvous each reads the buffers of all ranks.
//
// Small sums: every rank adds all buffers, in ascending rank, into scratch of its own, and after a second rendezvous
// (nobody reads any more) copies that over its buffer. Large sums: rank r adds slice r only, writing it into its own
// buffer, where no other rank reads that slice; after the second rendezvous every rank copies the other slices from
// their owners. Both orders of additions are the same, so the bits do not depend on the size.
#include "runtime/local_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

#include "graph/error.h"
#include "ops/core/simd.h"

namespace onward {

namespace {

enum class Kind : uint8_t { kNone, kAllReduce, kAllGather, kBroadcast };

constexpr const char* kind_name(Kind kind) {
  constexpr const char* kNames[] = {"nothing", "all-reduce", "all-gather", "broadcast"};
  return kNames[static_cast<std::size_t>(kind)];
}

// What one rank brings to a collective. All but the pointer must agree.
struct Call {
  Kind kind = Kind::kNone;
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kUndefined;
  int root = 0;

  bool agrees(const Call& other) const {
    return kind == other.kind && count == other.count && dtype == other.dtype && root == other.root;
  }
  std::string text() const {
    return fmt::format("{} of {} x {}{}", kind_name(kind), count, dtype_name(dtype),
                       kind == Kind::kBroadcast ? fmt::format(" from rank {}", root) : "");
  }
};

constexpr std::size_t kSmallBytes = 32 * 1024;
constexpr int kSpins = 400;

class Group {
 public:
  Group(int size, double timeout_seconds) : calls(static_cast<std::size_t>(size)), timeout_(timeout_seconds) {}

  int size() const { return static_cast<int>(calls.size()); }

  // Blocks until every rank is here. What ranks wrote before is visible to all after.
  void rendezvous(int rank) {
    std::unique_lock lock(mutex_);
    throw_if_aborted();
    const uint64_t generation = generation_.load(std::memory_order_relaxed);
    here_.resize(calls.size());
    here_[static_cast<std::size_t>(rank)] = true;
    if (++arrived_ == size()) {
      release();
      return;
    }
    lock.unlock();
    for (int spin = 0; spin < kSpins; ++spin) {
      if (generation_.load(std::memory_order_acquire) != generation) break;
    }
    lock.lock();
    const auto over = [&] { return generation_.load(std::memory_order_relaxed) != generation || aborted_; };
    if (!changed_.wait_for(lock, std::chrono::duration<double>(timeout_), over)) abort_locked(missing_text());
    // A rendezvous that everybody reached counts, even if the group was aborted since.
    if (generation_.load(std::memory_order_relaxed) == generation) throw_if_aborted();
  }

  void abort(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    abort_locked(reason);
  }

  // One entry per rank, written by that rank before a rendezvous and read by all after it.
  std::vector<Call> calls;

 private:
  void release() {
    arrived_ = 0;
    here_.assign(calls.size(), false);
    generation_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
  }
  void abort_locked(const std::string& reason) {
    if (aborted_) return;
    aborted_ = true;
    reason_ = reason;
    changed_.notify_all();
  }
  void throw_if_aborted() const {
    if (aborted_) throw Error(ErrorKind::kDevice, "a collective was abandoned: " + reason_);
  }
  std::string missing_text() const {
    std::vector<int> missing;
    for (int rank = 0; rank < size(); ++rank) {
      if (!here_[static_cast<std::size_t>(rank)]) missing.push_back(rank);
    }
    return fmt::format("waited {} seconds for rank {}", timeout_, fmt::join(missing, ", "));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<uint64_t> generation_{0};
  int arrived_ = 0;
  std::vector<bool> here_;
  bool aborted_ = false;
  std::string reason_;
  double timeout_;
};

template <typename T>
ONWARD_SIMD void add_values(const T* values, T* total, int64_t count) {
  for (int64_t i = 0; i < count; ++i) total[i] += values[i];
}

template <typename T>
void copy_values(const T* from, T* to, int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  void all_reduce_sum(void* data, int64_t count, DType dtype) override {
    enter({Kind::kAllReduce, data, count, dtype});
    switch (dtype) {
      case DType::kFloat32: sum<float>(static_cast<float*>(data), count); break;
      case DType::kFloat64: sum<double>(static_cast<double*>(data), count); break;
      case DType::kInt64: sum<uint64_t>(static_cast<uint64_t*>(data), count); break;  // the same bits, overflow defined
      default:
        throw Error(ErrorKind::kDevice,
                    fmt::format("expected a sum of float32, float64 or int64, found {}", dtype_name(dtype)));
    }
  }

  void all_gather(const void* send, void* receive, std::size_t bytes) override {
    enter({Kind::kAllGather, const_cast<void*>(send), static_cast<int64_t>(bytes), DType::kUInt8});
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (bytes) std::memcpy(static_cast<std::byte*>(receive) + r * bytes, group_->calls[r].data, bytes);
    }
    leave();
  }

  void broadcast(void* data, std::size_t bytes, int root) override {
    enter({Kind::kBroadcast, data, static_cast<int64_t>(bytes), DType::kUInt8, root});
    if (rank_ != root && bytes) std::memcpy(data, group_->calls[static_cast<std::size_t>(root)].data, bytes);
    leave();
  }

  void abort(const char* reason) override { group_->abort(reason); }

 private:
  std::size_t ranks() const { return group_->calls.size(); }

  void enter(const Call& call) {
    group_->calls[static_cast<std::size_t>(rank_)] = call;
    group_->rendezvous(rank_);
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (group_->calls[r].agrees(call)) continue;
      const std::string message =
          fmt::format("rank {}: {}; rank {}: {}", rank_, call.text(), r, group_->calls[r].text());
      group_->abort(message);
      throw Error(ErrorKind::kDevice, "replicas disagree about a collective: " + message);
    }
  }

  // Nobody goes on to change buffers that others still read.
  void leave() { group_->rendezvous(rank_); }

  // target[i] = sum over ranks of their element first + i. Target may be this rank's own elements.
  template <typename T>
  void add_ranks(T* target, int64_t first, int64_t count) const {
    constexpr int64_t kChunk = 1024;
    alignas(64) T total[kChunk];
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t n = std::min(kChunk, count - begin);
      for (std::size_t r = 0; r < ranks(); ++r) {
        const T* values = static_cast<const T*>(group_->calls[r].data) + first + begin;
        r == 0 ? copy_values(values, total, n) : add_values(values, total, n);
      }
      copy_values(total, target + begin, n);
    }
  }

  template <typename T>
  void sum(T* data, int64_t count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes <= kSmallBytes) {
      T* scratch = reinterpret_cast<T*>(scratch_.data());
      add_ranks(scratch, 0, count);
      leave();
      if (bytes) std::memcpy(data, scratch, bytes);
      return;
    }
    const auto slice = [&](std::size_t r) { return count * static_cast<int64_t>(r) / static_cast<int64_t>(ranks()); };
    const auto mine = static_cast<std::size_t>(rank_);
    add_ranks(data + slice(mine), slice(mine), slice(mine + 1) - slice(mine));
    leave();
    for (std::size_t r = 0; r < ranks(); ++r) {
      const int64_t begin = slice(r), end = slice(r + 1);
      if (r == mine || begin == end) continue;
      std::memcpy(data + begin, static_cast<const T*>(group_->calls[r].data) + begin,
                  static_cast<std::size_t>(end - begin) * sizeof(T));
    }
    leave();
  }

  std::shared_ptr<Group> group_;
  int rank_;
  alignas(64) std::array<std::byte, kSmallBytes> scratch_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local_communicators(int size, double timeout_seconds) {
  auto group = std::make_shared<Group>(size, timeout_seconds);
  std::vector<std::unique_ptr<Communicator>> members;
  for (int rank = 0; rank < size; ++rank) members.push_back(std::make_unique<LocalCommunicator>(group, rank));
  return members;
}

}  // namespace onward
