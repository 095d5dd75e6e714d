#pragma once
#include "graph/attributes.h"
#include "graph/graph.h"

namespace onward {

// The records that the passes of batch normalization look for.
inline const OpId kBatchNormalization{"", "BatchNormalization"};
inline const OpId kBatchNormalizationGrad{kOnwardDomain, "BatchNormalizationGrad"};
inline const OpId kBatchNormalizationInferenceGrad{kOnwardDomain, "BatchNormalizationInferenceGrad"};
inline const OpId kSyncBatchNormalization{kOnwardDomain, "SyncBatchNormalization"};
inline const OpId kSyncBatchNormalizationGrad{kOnwardDomain, "SyncBatchNormalizationGrad"};

// The attributes with the standard's defaults.
inline double batch_norm_epsilon(const Attributes& attributes) { return attributes.get_double("epsilon", 1e-5); }
inline double batch_norm_momentum(const Attributes& attributes) { return attributes.get_double("momentum", 0.9); }
inline bool batch_norm_unbiased(const Attributes& attributes) { return attributes.get_int("unbiased", 0) != 0; }

}  // namespace onward
