#pragma once
#include <set>

#include "ops/core/program_source.h"
#include "runtime/data/sampler.h"
#include "tools/session.h"

namespace onward::cli {

// A kind of batch: what its program does, and its rows over all replicas.
struct BatchKind {
  ProgramMode mode = ProgramMode::kTrain;
  int64_t global_batch = 0;
  auto operator<=>(const BatchKind&) const = default;
};

// The kinds of batches in a training with `accumulate` batches an update: those of the first update of an epoch and of
// its last, whose last batch may be short. A run that ends after `max_steps` updates (0: no limit) may not come to
// that.
std::set<BatchKind> batch_kinds(const Sampler& sampler, int64_t accumulate, int64_t max_steps);

// Makes and plans the program of every share of these batches, so that what is wrong with one of them is known before
// the first step. Error(kModel): one value per channel under batch normalization, where it is known only for this size.
void prepare_batches(const Session& session, const std::set<BatchKind>& kinds);

}  // namespace onward::cli
