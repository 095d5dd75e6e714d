#pragma once

namespace onward {

class Registry;

// Generated: calls register_<op>_cuda of every ops/<op>/<op>_cuda.cu and *_cuda.cc. It adds kernels only; the records
// of their ops are those of register_all.
void register_cuda_kernels(Registry& registry);

}  // namespace onward
