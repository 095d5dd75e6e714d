#include "passes/batch_constants.h"

#include <algorithm>
#include <cmath>

#include "ops/core/batch_dependence.h"

namespace onward {
namespace {

// float32 constants that a file divides by may be rounded.
constexpr double kTolerance = 1e-6;

bool in_proportion(const std::vector<double>& a, double rows, const std::vector<double>& b, double other_rows) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] * other_rows - b[i] * rows) > kTolerance * std::abs(a[i] * other_rows)) return false;
  }
  return true;
}

bool is_number(const Value& value) {
  return value.role == Role::kConstant && (is_floating(value.type.dtype) || is_integer(value.type.dtype));
}

// One row a sample (or several), whichever sample it is.
bool has_equal_rows(const HostTensor& tensor, int64_t rows, const HostTensor& other, int64_t other_rows) {
  const Shape shape = tensor.shape(), other_shape = other.shape();
  const bool grows =
      !shape.empty() && shape.size() == other_shape.size() && shape[0] * other_rows == other_shape[0] * rows;
  if (!grows || !std::equal(shape.begin() + 1, shape.end(), other_shape.begin() + 1)) return false;
  const std::vector<double> values = tensor.to_double();
  const std::size_t row = values.size() / static_cast<std::size_t>(std::max<int64_t>(shape[0], 1));
  for (std::size_t i = row; i < values.size(); ++i) {
    if (values[i] != values[i - row]) return false;
  }
  return true;
}

Distribution distribution_of(const HostTensor& tensor, int64_t rows, const HostTensor& other, int64_t other_rows) {
  if (tensor.shape() != other.shape()) {
    return has_equal_rows(tensor, rows, other, other_rows) ? Distribution::kBatchSplit : Distribution::kLocal;
  }
  const std::vector<double> mine = tensor.to_double(), theirs = other.to_double();
  if (mine == theirs) return Distribution::kUnknown;
  const bool grows = in_proportion(mine, static_cast<double>(rows), theirs, static_cast<double>(other_rows));
  return grows ? Distribution::kPartial : Distribution::kLocal;
}

}  // namespace

bool reads_batch_size(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) {
    return (node->is("Shape") || node->is("Size")) && depends_on_batch(*node->input(0));
  });
}

void mark_batch_constants(Graph& graph, int64_t rows, const Graph& other, int64_t other_rows) {
  const std::vector<Value*> values = graph.value_list(), others = other.value_list();
  if (values.size() != others.size()) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Value& value = *values[i];
    const Value& twin = *others[i];
    if (!is_number(value) || !is_number(twin)) continue;
    if (value.data.data() == twin.data.data()) continue;  // of the file
    value.distribution = distribution_of(value.data, rows, twin.data, other_rows);
  }
}

}  // namespace onward
