#include "graph/attributes.h"

#include <fmt/format.h>

#include <charconv>

#include "graph/error.h"

namespace onward {

namespace {

double shortest_decimal(float value) {
  char text[64];
  const auto written = std::to_chars(text, text + sizeof(text), value);
  double wide = value;
  std::from_chars(text, written.ptr, wide);
  return wide;
}

Error missing(const std::string& name) {
  return Error(ErrorKind::kModel, fmt::format("expected the attribute '{}', found none", name));
}

struct Printer {
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(float v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(const std::vector<int64_t>& v) const { return list(v); }
  std::string operator()(const std::vector<float>& v) const { return list(v); }
  std::string operator()(const std::vector<std::string>& v) const { return list(v); }
  std::string operator()(const HostTensor& v) const { return v.type().text(); }
  std::string operator()(const OpaqueAttribute& v) const { return fmt::format("<{} bytes>", v.bytes.size()); }
  std::string operator()(const AttributeReference& v) const { return "@" + v.name; }

 private:
  // One element at a time: GCC 13 warns of bounds inside fmt's own code where it formats a range of floats.
  template <typename T>
  std::string list(const std::vector<T>& elements) const {
    std::string text = "[";
    for (const T& element : elements) text += (text.size() > 1 ? "," : "") + (*this)(element);
    return text + "]";
  }
};

}  // namespace

template <typename T>
const T* Attributes::find(const std::string& name, const char* kind) const {
  const auto found = items_.find(name);
  if (found == items_.end()) return nullptr;
  if (const T* value = std::get_if<T>(&found->second)) return value;
  throw Error(ErrorKind::kModel, fmt::format("expected the attribute '{}' to be {}, found {}", name, kind,
                                             std::visit(Printer{}, found->second)));
}

int64_t Attributes::get_int(const std::string& name) const {
  if (const auto* value = find<int64_t>(name, "an integer")) return *value;
  throw missing(name);
}

int64_t Attributes::get_int(const std::string& name, int64_t fallback) const {
  const auto* value = find<int64_t>(name, "an integer");
  return value ? *value : fallback;
}

double Attributes::get_double(const std::string& name) const {
  const auto found = items_.find(name);
  if (found == items_.end()) throw missing(name);
  if (const auto* wide = std::get_if<double>(&found->second)) return *wide;
  return shortest_decimal(*find<float>(name, "a number"));
}

double Attributes::get_double(const std::string& name, double fallback) const {
  return has(name) ? get_double(name) : fallback;
}

std::string Attributes::get_string(const std::string& name) const {
  if (const auto* value = find<std::string>(name, "a string")) return *value;
  throw missing(name);
}

std::string Attributes::get_string(const std::string& name, const std::string& fallback) const {
  const auto* value = find<std::string>(name, "a string");
  return value ? *value : fallback;
}

std::vector<int64_t> Attributes::get_ints(const std::string& name) const {
  if (const auto* value = find<std::vector<int64_t>>(name, "a list of integers")) return *value;
  throw missing(name);
}

std::vector<int64_t> Attributes::get_ints(const std::string& name, const std::vector<int64_t>& fallback) const {
  const auto* value = find<std::vector<int64_t>>(name, "a list of integers");
  return value ? *value : fallback;
}

std::vector<float> Attributes::get_floats(const std::string& name) const {
  if (const auto* value = find<std::vector<float>>(name, "a list of numbers")) return *value;
  throw missing(name);
}

HostTensor Attributes::get_tensor(const std::string& name) const {
  if (const auto* value = find<HostTensor>(name, "a tensor")) return *value;
  throw missing(name);
}

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    if (!text.empty()) text += ' ';
    text += name + "=" + std::visit(Printer{}, value);
  }
  return text;
}

}  // namespace onward
