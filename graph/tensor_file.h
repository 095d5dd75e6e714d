#pragma once
#include <string>

#include "graph/tensor.h"

namespace onward {

// Tensors in files, by the ending of the name: NumPy's .npy (https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html) or ONNX's TensorProto as .pb.

// .npy: versions 1 to 3, C or Fortran order, either byte order, bool, integers of 1 to 8 bytes, floats of 2, 4 and 8
// bytes. .pb: a TensorProto with data inside, any type that HostTensor holds. The result is row-major. Error(kData):
// missing, another ending, another type, damaged, shorter or longer than its shape says.
HostTensor read_tensor_file(const std::string& path);

// Row-major. bfloat16, which NumPy lacks, is written to .npy as float32. Error(kData) for another ending and for types
// that the format lacks; Error(kRun) when writing fails, and nothing is left behind.
void write_tensor_file(const std::string& path, const HostTensor& tensor);

// The same on bytes; `name` is for messages.
HostTensor tensor_from_npy(const std::string& bytes, const std::string& name);
std::string tensor_to_npy(const HostTensor& tensor);
HostTensor tensor_from_pb(const std::string& bytes, const std::string& name);
std::string tensor_to_pb(const HostTensor& tensor);

}  // namespace onward
