#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/core/kernel.h"
#include "ops/core/program_source.h"

namespace onward {

enum class BatchNormMode : uint8_t { kSync, kLocal, kRank0 };
enum class OptimizerKind : uint8_t { kNone, kSgd, kMomentum, kNesterov, kAdam, kAdamW };
enum class LossKind : uint8_t { kNone, kAuto, kCrossEntropy };
enum class InitKind : uint8_t { kKeep, kKaiming };
// What a program does about a reduced gradient that is not finite.
enum class NonFinite : uint8_t {
  kIgnore,  // nothing: the step updates with it
  kReport,  // the step updates, and an output says so
  kSkip,    // the step changes nothing, and an output says so
};

// Everything the passes need to know, as plain data. The command line fills it.
struct ProgramOptions {
  int replicas = 1;
  Backend backend = Backend::kCpu;
  DType precision = DType::kFloat32;  // kFloat32 or kFloat64: the type of parameters and activations

  // Exact shapes of inputs, by name, over what the file declares; -1 stands for the local batch.
  std::map<std::string, Shape> input_shapes;
  // Leave BatchNormalization and Dropout in the form (training or inference) that the file has them in. Otherwise the
  // mode of the request decides.
  bool keep_file_mode = false;
  InitKind init = InitKind::kKeep;
  bool keep_tied = false;  // leave tensors that the file stores once for several readers one, see untie.h

  LossKind loss = LossKind::kAuto;
  BatchNormMode batch_norm = BatchNormMode::kSync;
  bool unbiased_running_variance = false;

  OptimizerKind optimizer = OptimizerKind::kAdam;
  double momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;
  bool no_decay_norm = false;       // BatchNorm scale and bias take no decay
  bool no_decay_bias = false;       // other one-dimensional biases take none
  std::vector<std::string> freeze;  // globs over parameter names

  double clip_norm = 0;   // 0: off; limit of the global L2 norm of the reduced gradient
  double clip_value = 0;  // 0: off; limit of every element of the reduced gradient
  NonFinite non_finite = NonFinite::kIgnore;

  double bucket_mib = 25;       // cap of a gradient bucket
  double first_bucket_mib = 1;  // the first is small, so that communication starts early
  uint64_t seed = 0;

  // Gradients that `onward run --grad` asks for besides the parameters: inputs too, unreduced over replicas where
  // split.
  bool input_gradients = false;
  // Differentiate this scalar output of the file instead of a loss; empty: the loss.
  std::string gradient_of;
  // Without it a program with a loss only computes it (over all replicas, as for the gradient): `onward run` forward.
  bool differentiate = true;
  // Keep the file's outputs as outputs of a training program, beside the loss.
  bool keep_outputs = false;
  // Keep the scores that predictions are read from (LossInfo::scores) as an output of an evaluation program.
  bool keep_scores = false;
  // Keep the gradients of parameters as graph outputs, named by gradient_name() (graph/scalars.h).
  bool keep_gradients = false;

  // Passes to leave out, by name (only those that are not needed for correctness: fuse).
  std::vector<std::string> disabled_passes;
};

// What a program is being made for.
struct ProgramRequest {
  ProgramMode mode = ProgramMode::kTrain;
  int64_t local_batch = 1;   // rows of this replica's share; may be 0
  int64_t global_batch = 0;  // rows over all replicas; 0: unknown (with one replica it is local_batch)
};

}  // namespace onward
