// NumPy's format: a magic string, a version, the length of a header, the header (a Python dictionary written as text),
// padding, then the elements.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "graph/error.h"
#include "graph/tensor_file.h"

namespace onward {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct TypeCode {
  std::string_view code;  // without the byte order
  DType dtype;
};
constexpr TypeCode kTypeCodes[] = {{"f2", DType::kFloat16}, {"f4", DType::kFloat32}, {"f8", DType::kFloat64},
                                   {"i1", DType::kInt8},    {"i2", DType::kInt16},   {"i4", DType::kInt32},
                                   {"i8", DType::kInt64},   {"u1", DType::kUInt8},   {"u2", DType::kUInt16},
                                   {"u4", DType::kUInt32},  {"u8", DType::kUInt64},  {"b1", DType::kBool}};

struct Header {
  std::string_view type;  // with the byte order: "<f4"
  bool fortran = false;
  Shape shape;
};

void swap_bytes(char* data, std::size_t bytes, std::size_t element) {
  for (char* end = data + bytes; data < end; data += element) std::reverse(data, data + element);
}

// `columns` holds its elements with the first index varying fastest.
HostTensor from_fortran(const HostTensor& columns) {
  HostTensor rows(columns.dtype(), columns.shape());
  const Shape& shape = columns.shape();
  const std::size_t element = dtype_size(columns.dtype());
  const auto* source = static_cast<const char*>(columns.data());
  auto* target = static_cast<char*>(rows.edit());
  for (int64_t i = 0; i < rows.count(); ++i) {
    int64_t rest = i, stride = rows.count(), position = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      stride /= shape[axis];
      position += rest % shape[axis] * stride;
      rest /= shape[axis];
    }
    std::memcpy(target + i * static_cast<int64_t>(element), source + position * static_cast<int64_t>(element), element);
  }
  return rows;
}

class Reader {
 public:
  Reader(const std::string& bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  HostTensor read() {
    read_preamble();
    const Header header = parse_header();
    const DType dtype = dtype_of(header.type);
    check_size(dtype, header.shape);
    HostTensor tensor(dtype, header.shape);
    auto* target = static_cast<char*>(tensor.edit());
    if (tensor.bytes()) std::memcpy(target, bytes_.data() + data_begin_, tensor.bytes());
    if (header.type[0] == '>') swap_bytes(target, tensor.bytes(), dtype_size(tensor.dtype()));
    return header.fortran ? from_fortran(tensor) : tensor;
  }

 private:
  template <typename... Args>
  Error error(fmt::format_string<Args...> format, Args&&... args) const {
    return Error(ErrorKind::kData, fmt::format(format, std::forward<Args>(args)...) + fmt::format(", in '{}'", name_));
  }

  void read_preamble() {
    if (!bytes_.starts_with(kMagic) || bytes_.size() < 10) throw error("expected an .npy file, found something else");
    const int version = bytes_[6];
    if (version < 1 || version > 3) throw error("expected version 1, 2 or 3 of the .npy format, found {}", version);
    const std::size_t width = version == 1 ? 2 : 4;
    const std::size_t begin = 8 + width;
    if (bytes_.size() < begin) throw error("expected an .npy header, found the end of the file");
    uint32_t length = 0;
    std::memcpy(&length, bytes_.data() + 8, width);
    if (bytes_.size() - begin < length) {
      throw error("expected an .npy header of {} bytes, found {}", length, bytes_.size() - begin);
    }
    header_ = std::string_view(bytes_).substr(begin, length);
    data_begin_ = begin + length;
  }

  // The text after "'key':" and blanks.
  std::string_view field(std::string_view key) const {
    const auto found = header_.find(key);
    const auto colon = found == header_.npos ? header_.npos : header_.find(':', found);
    const auto value = colon == header_.npos ? header_.npos : header_.find_first_not_of(' ', colon + 1);
    if (value == header_.npos) throw error("expected {} in the .npy header, found none", key);
    return header_.substr(value);
  }

  Header parse_header() const {
    Header header;
    const std::string_view type = field("'descr'");
    const auto quote = type.find('\'', 1);
    if (type[0] != '\'' || quote == type.npos || quote < 2) {
      throw error("expected a plain element type in the .npy header, found a structured one");
    }
    header.type = type.substr(1, quote - 1);
    header.fortran = field("'fortran_order'").starts_with("True");
    header.shape = parse_shape(field("'shape'"));
    return header;
  }

  Shape parse_shape(std::string_view text) const {
    const auto end = text.find(')');
    if (text[0] != '(' || end == text.npos) throw error("expected a shape in parentheses, found '{}'", text);
    Shape shape;
    for (std::size_t i = 1; i < end;) {
      if (text[i] == ' ' || text[i] == ',') {
        ++i;
        continue;
      }
      int64_t dim = 0;
      const auto [next, failure] = std::from_chars(text.data() + i, text.data() + end, dim);
      if (failure != std::errc() || dim < 0) throw error("expected a shape, found '{}'", text.substr(0, end + 1));
      shape.push_back(dim);
      i = static_cast<std::size_t>(next - text.data());
    }
    return shape;
  }

  DType dtype_of(std::string_view type) const {
    for (const TypeCode& entry : kTypeCodes) {
      const bool order_known = type[0] == '<' || type[0] == '>' || type[0] == '|' || type[0] == '=';
      if (order_known && type.substr(1) == entry.code) return entry.dtype;
    }
    throw error("expected numbers in an .npy file, found elements of type '{}'", type);
  }

  // Before anything is allocated: a damaged header may ask for anything.
  void check_size(DType dtype, const Shape& shape) const {
    auto needed = static_cast<int64_t>(dtype_size(dtype));
    for (const int64_t dim : shape) {
      if (__builtin_mul_overflow(needed, dim, &needed))
        throw error("the shape {} does not fit in memory", to_string(shape));
    }
    const std::size_t found = bytes_.size() - data_begin_;
    if (found != static_cast<std::size_t>(needed)) {
      throw error("expected {} bytes of data for {} of shape {}, found {}", needed, dtype_name(dtype), to_string(shape),
                  found);
    }
  }

  const std::string& bytes_;
  const std::string& name_;
  std::string_view header_;
  std::size_t data_begin_ = 0;
};

// "(2, 3)", "(2,)", "()".
std::string shape_text(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

// One byte has no order.
std::string type_text(DType dtype) {
  for (const TypeCode& entry : kTypeCodes) {
    if (entry.dtype == dtype) return (dtype_size(dtype) == 1 ? "|" : "<") + std::string(entry.code);
  }
  throw Error(ErrorKind::kData, fmt::format("expected numbers to write to an .npy file, found {}", dtype_name(dtype)));
}

}  // namespace

HostTensor tensor_from_npy(const std::string& bytes, const std::string& name) { return Reader(bytes, name).read(); }

std::string tensor_to_npy(const HostTensor& tensor) {
  if (tensor.dtype() == DType::kBFloat16) return tensor_to_npy(tensor.cast(DType::kFloat32));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                   type_text(tensor.dtype()), shape_text(tensor.shape()));
  constexpr std::size_t kAlignment = 64;
  const std::size_t before = kMagic.size() + 4;  // magic, version, length
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  return bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
}

}  // namespace onward
