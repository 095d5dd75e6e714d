// TensorProto and HostTensor. A file stores elements either as little-endian raw bytes or in one of five typed lists,
// where several element types share a list: 16-bit floats (as bits) and small integers lie in int32_data, one element
// an entry.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <bit>
#include <cstring>

#include "graph/error.h"
#include "graph/onnx_convert.h"

namespace onward {
namespace {

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian");

std::string label(const onnx::TensorProto& tensor) {
  return tensor.name().empty() ? "a tensor" : fmt::format("the tensor '{}'", tensor.name());
}

DType element_type(const onnx::TensorProto& tensor) {
  const auto number = tensor.data_type();
  return number >= 0 && number <= 255 ? static_cast<DType>(number) : DType::kUndefined;
}

Shape shape_of(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

// Bytes that the shape asks for. Checked before anything is allocated: a damaged file may ask for anything.
std::size_t needed_bytes(const onnx::TensorProto& tensor) {
  auto bytes = static_cast<int64_t>(dtype_size(element_type(tensor)));
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) {
      throw Error(ErrorKind::kModel, fmt::format("expected a shape that fits in memory, found {} in {}",
                                                 to_string(shape_of(tensor)), label(tensor)));
    }
  }
  return static_cast<std::size_t>(bytes);
}

void check_size(const onnx::TensorProto& tensor, std::size_t found) {
  const std::size_t needed = needed_bytes(tensor);
  if (found == needed) return;
  throw Error(ErrorKind::kModel,
              fmt::format("expected {} bytes for {}, {} of shape {}, found {}", needed, label(tensor),
                          dtype_name(element_type(tensor)), to_string(shape_of(tensor)), found));
}

template <typename Element, typename List>
HostTensor read_list(const onnx::TensorProto& tensor, const List& list) {
  check_size(tensor, static_cast<std::size_t>(list.size()) * sizeof(Element));
  HostTensor out(element_type(tensor), shape_of(tensor));
  auto* elements = static_cast<Element*>(out.edit());
  for (int i = 0; i < list.size(); ++i) elements[i] = static_cast<Element>(list[i]);
  return out;
}

HostTensor read_typed(const onnx::TensorProto& tensor) {
  switch (element_type(tensor)) {
    case DType::kFloat32:
    case DType::kComplex64: return read_list<float>(tensor, tensor.float_data());
    case DType::kFloat64:
    case DType::kComplex128: return read_list<double>(tensor, tensor.double_data());
    case DType::kInt64: return read_list<int64_t>(tensor, tensor.int64_data());
    case DType::kUInt64: return read_list<uint64_t>(tensor, tensor.uint64_data());
    case DType::kUInt32: return read_list<uint32_t>(tensor, tensor.uint64_data());
    case DType::kInt32: return read_list<int32_t>(tensor, tensor.int32_data());
    case DType::kInt16: return read_list<int16_t>(tensor, tensor.int32_data());
    case DType::kInt8: return read_list<int8_t>(tensor, tensor.int32_data());
    case DType::kUInt8:
    case DType::kBool: return read_list<uint8_t>(tensor, tensor.int32_data());
    default: return read_list<uint16_t>(tensor, tensor.int32_data());  // uint16, float16, bfloat16
  }
}

template <typename Element, typename List>
void write_list(const HostTensor& tensor, List* list) {
  const auto* elements = static_cast<const Element*>(tensor.data());
  list->Assign(elements, elements + tensor.bytes() / sizeof(Element));
}

void write_typed(const HostTensor& tensor, onnx::TensorProto& message) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
    case DType::kComplex64: return write_list<float>(tensor, message.mutable_float_data());
    case DType::kFloat64:
    case DType::kComplex128: return write_list<double>(tensor, message.mutable_double_data());
    case DType::kInt64: return write_list<int64_t>(tensor, message.mutable_int64_data());
    case DType::kUInt64: return write_list<uint64_t>(tensor, message.mutable_uint64_data());
    case DType::kUInt32: return write_list<uint32_t>(tensor, message.mutable_uint64_data());
    case DType::kInt32: return write_list<int32_t>(tensor, message.mutable_int32_data());
    case DType::kInt16: return write_list<int16_t>(tensor, message.mutable_int32_data());
    case DType::kInt8: return write_list<int8_t>(tensor, message.mutable_int32_data());
    case DType::kUInt8:
    case DType::kBool: return write_list<uint8_t>(tensor, message.mutable_int32_data());
    default: return write_list<uint16_t>(tensor, message.mutable_int32_data());
  }
}

bool has_typed_data(const onnx::TensorProto& tensor) {
  return tensor.float_data_size() || tensor.double_data_size() || tensor.int32_data_size() ||
         tensor.int64_data_size() || tensor.uint64_data_size();
}

}  // namespace

bool can_hold(const onnx::TensorProto& tensor) { return dtype_size(element_type(tensor)) > 0; }

HostTensor tensor_from_onnx(const onnx::TensorProto& tensor) {
  if (!can_hold(tensor)) {
    throw Error(ErrorKind::kModel, fmt::format("expected numbers in {}, found elements of {}", label(tensor),
                                               dtype_name(element_type(tensor))));
  }
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    throw Error(ErrorKind::kModel,
                fmt::format("the data of {} lies in another file, which cannot be found from here", label(tensor)));
  }
  if (tensor.has_segment()) {
    throw Error(ErrorKind::kModel, fmt::format("expected {} in one piece, found a segment of it", label(tensor)));
  }
  if (has_typed_data(tensor)) return read_typed(tensor);
  check_size(tensor, tensor.raw_data().size());
  HostTensor out(element_type(tensor), shape_of(tensor));
  if (out.bytes()) std::memcpy(out.edit(), tensor.raw_data().data(), out.bytes());
  return out;
}

void tensor_to_onnx(const HostTensor& tensor, onnx::TensorProto& message) {
  message.set_data_type(static_cast<int32_t>(tensor.dtype()));
  message.mutable_dims()->Assign(tensor.shape().begin(), tensor.shape().end());
  message.set_raw_data(tensor.data(), tensor.bytes());
}

void replace_elements(const HostTensor& tensor, onnx::TensorProto& message) {
  if (has_typed_data(message)) {
    write_typed(tensor, message);
  } else {
    message.set_raw_data(tensor.data(), tensor.bytes());
  }
}

}  // namespace onward
