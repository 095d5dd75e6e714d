#pragma once
#include <vector>

#include "ops/core/op_def.h"

namespace onward {

// Sample cases of the lowered ops: ranks 2 to 4, channel counts that no vector width divides, one row, and enough rows
// that the fast kernels flush their sums several times.
std::vector<SampleCase> batch_norm_statistics_samples();
std::vector<SampleCase> batch_norm_finalize_samples();
std::vector<SampleCase> batch_norm_apply_samples();
std::vector<SampleCase> batch_norm_grad_reduce_samples();
std::vector<SampleCase> batch_norm_grad_apply_samples();
std::vector<SampleCase> batch_norm_grad_parameters_samples();

}  // namespace onward
