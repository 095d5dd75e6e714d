#include "tools/run_inputs.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "graph/error.h"

namespace onward::cli {

namespace {

// Whole numbers beyond this are not exact in a double.
constexpr double kMostWhole = 9007199254740992.0;

class InputCheck {
 public:
  InputCheck(const Graph& graph, const std::map<std::string, HostTensor>& tensors, std::string label)
      : graph_(graph), tensors_(tensors), label_(std::move(label)) {
    for (const Value* input : graph.inputs()) find_batch_dimension(*input);
  }

  void check_types() {
    for (const Value* input : graph_.inputs()) {
      if (input->type.dims) check_type(*input, shape_of(*input));
    }
  }

  int64_t rows(int64_t replicas) const {
    const Value* first = nullptr;
    for (const Value* input : graph_.inputs()) {
      if (shape_of(*input).empty() || input->name() == label_) continue;
      if (!first) {
        first = input;
      } else if (shape_of(*input).front() != shape_of(*first).front() && (replicas > 1 || has_batch_rows(*input))) {
        throw Error(
            ErrorKind::kData,
            fmt::format("expected as many rows (dimension 0) in every input of the batch, found {} in '{}' and {} "
                        "in '{}'{}",
                        shape_of(*first).front(), first->name(), shape_of(*input).front(), input->name(),
                        has_batch_rows(*input) ? "" : "; on several replicas every input is split"));
      }
    }
    return first ? shape_of(*first).front() : 1;
  }

 private:
  const Shape& shape_of(const Value& input) const { return tensors_.at(input.name()).shape(); }

  // The batch is an open dimension 0, or else what the first input fixes.
  void find_batch_dimension(const Value& input) {
    if (!input.type.dims || input.type.dims->empty()) return;
    const Dim& dim = input.type.dims->front();
    if (!batch_ || (batch_->known() && !dim.known())) batch_ = dim;
  }

  bool is_batch(const Dim& dim) const {
    if (dim.known()) return dim.value == 1 || (batch_->known() && batch_->value == dim.value);
    return dim.name.empty() || batch_->name.empty() || dim.name == batch_->name;
  }

  bool has_batch_rows(const Value& input) const {
    return !input.type.dims || (!input.type.dims->empty() && is_batch(input.type.dims->front()));
  }

  void check_type(const Value& input, const Shape& shape) {
    const std::vector<Dim>& dims = *input.type.dims;
    if (dims.size() != shape.size()) fail(input, fmt::format("{} dimensions", dims.size()));
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const Dim& dim = dims[axis];
      if (axis == 0 && is_batch(dim)) continue;  // compared by rows()
      if (dim.known() && dim.value != shape[axis]) fail(input, fmt::format("{} in dimension {}", dim.value, axis));
      if (!dim.known() && !dim.name.empty()) check_symbol(input, dim.name, shape[axis]);
    }
  }

  void check_symbol(const Value& input, const std::string& name, int64_t size) {
    const auto [known, fresh] = sizes_.try_emplace(name, size, input.name());
    const auto& [other_size, other_input] = known->second;
    if (!fresh && other_size != size) fail(input, fmt::format("{} as '{}', as in '{}'", other_size, name, other_input));
  }

  void fail(const Value& input, const std::string& expected) const {
    throw Error(ErrorKind::kData, fmt::format("expected {} for the input '{}' ({}), found {}", expected, input.name(),
                                              input.type.text(), tensors_.at(input.name()).type().text()));
  }

  const Graph& graph_;
  const std::map<std::string, HostTensor>& tensors_;
  std::string label_;
  std::optional<Dim> batch_;
  std::map<std::string, std::pair<int64_t, std::string>> sizes_;  // symbol -> size, input that had it first
};

}  // namespace

HostTensor whole_numbers(const HostTensor& tensor, const std::string& what) {
  if (!is_floating(tensor.dtype())) return tensor.cast(DType::kInt64);
  const std::vector<double> values = tensor.to_double();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == std::trunc(values[i]) && std::abs(values[i]) <= kMostWhole) continue;
    throw Error(ErrorKind::kData, fmt::format("expected whole numbers for {}, found {} at index {} of {}", what,
                                              values[i], i, tensor.type().text()));
  }
  return tensor.cast(DType::kInt64);
}

int64_t count_rows(const Graph& graph, const std::map<std::string, HostTensor>& tensors, int64_t replicas,
                   const std::string& label) {
  InputCheck check(graph, tensors, label);
  check.check_types();
  return check.rows(replicas);
}

void check_label_rows(const TensorType& label, int64_t rows, const std::string& file) {
  const Shape shape = label.shape();
  const int64_t found = shape.empty() ? 1 : shape.front();
  if (!shape.empty() && found == rows) return;
  throw Error(ErrorKind::kData, fmt::format("expected {} labels in '{}', one for each row of the batch, found {} ({})",
                                            rows, file, found, label.text()));
}

}  // namespace onward::cli
