#include "tools/prepare_batches.h"

#include <algorithm>

#include "runtime/trainer.h"

namespace onward::cli {

std::set<BatchKind> batch_kinds(const Sampler& sampler, int64_t accumulate, int64_t max_steps) {
  const int64_t batches = sampler.steps_per_epoch();
  std::set<BatchKind> kinds;
  const auto add_update = [&](int64_t first) {
    const int64_t count = std::min(accumulate, batches - first);
    for (int64_t i = 0; i < count; ++i) {
      kinds.insert(
          {update_mode(static_cast<std::size_t>(i), static_cast<std::size_t>(count)), sampler.batch_count(first + i)});
    }
  };
  add_update(0);
  const int64_t last_update = (batches - 1) / accumulate;
  if (max_steps == 0 || max_steps > last_update) add_update(last_update * accumulate);
  return kinds;
}

void prepare_batches(const Session& session, const std::set<BatchKind>& kinds) {
  for (const BatchKind& kind : kinds) {
    std::set<int64_t> shares;
    for (const BatchShare& share : split_batch(kind.global_batch, static_cast<int64_t>(session.devices.size()))) {
      shares.insert(share.count);
    }
    // The key of a program says nothing of the other replicas: that theirs are empty must be said here.
    if (kind.global_batch == 1) session.program->program({kind.mode, 1, 1}, {});
    for (const int64_t share : shares) session.replicas->prepare({kind.mode, share});
  }
}

}  // namespace onward::cli
