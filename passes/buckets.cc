#include "passes/buckets.h"

namespace onward {
namespace {

constexpr double kMib = 1024.0 * 1024.0;

double bytes_of(const Value& value) {
  return static_cast<double>(element_count(value.type.shape())) * static_cast<double>(dtype_size(value.type.dtype));
}

}  // namespace

std::vector<std::vector<std::size_t>> gradient_buckets(const Graph& graph, const ProgramOptions& options) {
  std::vector<std::vector<std::size_t>> buckets;
  double filled = 0;
  DType dtype = DType::kUndefined;
  for (std::size_t i = 0; i < graph.gradients().size(); ++i) {
    const Value& parameter = *graph.gradients()[i].parameter;
    const double cap = (buckets.size() <= 1 ? options.first_bucket_mib : options.bucket_mib) * kMib;
    if (buckets.empty() || filled + bytes_of(parameter) > cap || dtype != parameter.type.dtype) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(i);
    filled += bytes_of(parameter);
    dtype = parameter.type.dtype;
  }
  return buckets;
}

}  // namespace onward
