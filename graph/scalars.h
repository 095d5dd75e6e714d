#pragma once
#include <string>

namespace onward {

// Names that begin so belong to the program: what follows is found by them. A file that uses one is refused.
inline constexpr const char* kReservedPrefix = "onward.";

// Numbers that the trainer sets before every step. They are graph inputs with Role::kScalar, rank 0, found by these
// names; a program holds only those it needs. The trainer gives doubles, the executor converts to the value's element
// type.
inline constexpr const char* kLearningRate = "onward.learning_rate";    // float64
inline constexpr const char* kOptimizerStep = "onward.optimizer_step";  // int64, 1 on the first update
inline constexpr const char* kLossDenominator =
    "onward.loss_denominator";  // the loss's type: global count, or sum of class weights
inline constexpr const char* kGlobalBatch = "onward.global_batch";  // float64: samples of the step over all replicas
inline constexpr const char* kRandomStep = "onward.random_step";    // int64, the step that keys random masks
inline constexpr const char* kSampleOffset =
    "onward.sample_offset";  // int64, row of the global batch that is this replica's first

// The class labels of a program whose loss the program itself attached: int64, one a row.
inline constexpr const char* kLabelInput = "onward.label";

// The outputs that the loss pass adds: float64 scalars in the graphs that leave the pipeline.
inline constexpr const char* kLossOutput = "onward.loss";
inline constexpr const char* kCorrectTop1Output = "onward.correct_top1";
inline constexpr const char* kCorrectTop5Output = "onward.correct_top5";

// The complete gradient of the parameter or input `name`, an output where it is asked for.
inline constexpr const char* kGradientPrefix = "onward.gradient.";
inline std::string gradient_name(const std::string& name) { return kGradientPrefix + name; }

// State that holds the sum of `name` over the micro-batches of one update; nothing between two updates needs it.
inline constexpr const char* kAccumulatedPrefix = "onward.accumulated.";
inline std::string accumulated_name(const std::string& name) { return kAccumulatedPrefix + name; }

// An output of training programs that look for it: bool, false when the reduced gradient was not finite.
inline constexpr const char* kFiniteOutput = "onward.finite";

}  // namespace onward
