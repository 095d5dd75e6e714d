#pragma once
#include "graph/graph.h"

namespace onward {

// What batch normalization is lowered to. Statistics travel as float64[2C+1]: mean[C], m2[C] (sums of squared
// deviations from the mean), count. Sums of backward travel as float64[2C]: sum g, sum g * xhat.
inline const OpId kBatchNormStatistics{kOnwardDomain, "BatchNormStatistics"};
inline const OpId kBatchNormFinalize{kOnwardDomain, "BatchNormFinalize"};
inline const OpId kBatchNormApply{kOnwardDomain, "BatchNormApply"};
inline const OpId kBatchNormGradReduce{kOnwardDomain, "BatchNormGradReduce"};
inline const OpId kBatchNormGradApply{kOnwardDomain, "BatchNormGradApply"};
inline const OpId kBatchNormGradParameters{kOnwardDomain, "BatchNormGradParameters"};

// How the gradient of a Relu that was fused into BatchNormApply is found again: attribute `mask`.
enum class ReluMask {
  kNone,       // "none": there was no Relu
  kRecompute,  // "recompute": it passed where (x - mean) * inv_std * scale + bias > 0
  kOutput,     // "y": it passed where the output y > 0, needed after a fused addition
};
// Error(kModel) for another text.
ReluMask relu_mask(const Attributes& attributes);

}  // namespace onward
