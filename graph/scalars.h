#pragma once

namespace onward {

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

// An output of training programs that look for it: bool, false when the reduced gradient was not finite.
inline constexpr const char* kFiniteOutput = "onward.finite";

}  // namespace onward
