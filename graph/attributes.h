#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "graph/tensor.h"

namespace onward {

// A part of the file that the program keeps but does not interpret (a subgraph, a sparse tensor, a type): the bytes of
// the AttributeProto it came in.
struct OpaqueAttribute {
  std::string bytes;
  bool operator==(const OpaqueAttribute&) const = default;
};

// In the body of a function: the value of the named attribute of the node that calls it.
struct AttributeReference {
  std::string name;
  bool operator==(const AttributeReference&) const = default;
};

using Attribute = std::variant<int64_t, float, double, std::string, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>, HostTensor, OpaqueAttribute, AttributeReference>;

// The attributes of one node, typed and ordered by name. A getter with a default returns it when the name is absent;
// one without throws Error(kModel). Every getter throws Error(kModel) when the attribute has another type.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  bool has(const std::string& name) const { return items_.contains(name); }
  void set(const std::string& name, Attribute value) { items_.insert_or_assign(name, std::move(value)); }
  void erase(const std::string& name) { items_.erase(name); }

  int64_t get_int(const std::string& name) const;
  int64_t get_int(const std::string& name, int64_t fallback) const;
  // A float of a file stands for the decimal it prints as: 0.9f reads as 0.9, not 0.899999976, so that fp64 runs
  // compute with the number that the author wrote.
  double get_double(const std::string& name) const;
  double get_double(const std::string& name, double fallback) const;
  std::string get_string(const std::string& name) const;
  std::string get_string(const std::string& name, const std::string& fallback) const;
  std::vector<int64_t> get_ints(const std::string& name) const;
  std::vector<int64_t> get_ints(const std::string& name, const std::vector<int64_t>& fallback) const;
  std::vector<float> get_floats(const std::string& name) const;
  HostTensor get_tensor(const std::string& name) const;

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::size_t size() const { return items_.size(); }

 private:
  template <typename T>
  const T* find(const std::string& name, const char* kind) const;
  std::map<std::string, Attribute> items_;
};

// "kernel_shape=[3,3] strides=[1,1]": tensors as their type, opaque parts as their size.
std::string to_string(const Attributes& attributes);

}  // namespace onward
