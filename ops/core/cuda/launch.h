#pragma once
// How kernels are started, and the little of CUDA that differs from plain C++. The tests put a header of the same name
// before this one in the include path, under which a .cu file is plain C++ that runs on fibers (docs/cuda.md); device
// code therefore includes this header and no other of CUDA's.
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "graph/error.h"

namespace onward {

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;  // of dynamic shared memory
};

// Starts kernel(arguments...) on a stream (a cudaStream_t) and returns at once. An empty grid starts nothing.
// Error(kDevice) when CUDA refuses the launch.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, void* stream, const Arguments&... arguments) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
  kernel<<<shape.grid, shape.block, shape.shared_bytes, static_cast<cudaStream_t>(stream)>>>(
      static_cast<Parameters>(arguments)...);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) {
    throw Error(ErrorKind::kDevice,
                std::string("expected a CUDA kernel to start, found the error: ") + cudaGetErrorString(status));
  }
}

// The block's dynamic shared memory, 16-byte aligned.
template <typename T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

// One write of 16 bytes to global memory. A plain assignment may become four of 4 bytes.
__device__ inline void store_whole(uint4* to, const uint4& value) { __stcg(to, value); }

}  // namespace onward

// Declares T name[count] in the block's static shared memory.
#define ONWARD_SHARED(T, name, count) __shared__ T name[count]
