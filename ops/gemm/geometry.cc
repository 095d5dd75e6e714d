#include "ops/gemm/geometry.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {
namespace {

void require(bool ok, const std::string& message) {
  if (!ok) throw Error(ErrorKind::kModel, message);
}

void set_c(GemmGeometry& geometry, const Shape& c) {
  const Shape y{geometry.m, geometry.n};
  const auto broadcast = broadcast_shape(c, y);
  require(broadcast && *broadcast == y,
          fmt::format("expected an input C that broadcasts to {}, found {}", to_string(y), to_string(c)));
  const int64_t columns = c.empty() ? 1 : c.back();
  const int64_t rows = c.size() < 2 ? 1 : c[0];
  geometry.has_c = true;
  geometry.c_column_step = columns == 1 ? 0 : 1;
  geometry.c_row_step = rows == 1 ? 0 : columns;
}

}  // namespace

GemmGeometry gemm_geometry(const Attributes& attributes, const Shape& a, const Shape& b, const Shape* c) {
  require(a.size() == 2 && b.size() == 2,
          fmt::format("expected two matrices, found inputs {} and {}", to_string(a), to_string(b)));
  GemmGeometry geometry{};
  geometry.transposed_a = attributes.get_int("transA", 0) != 0;
  geometry.transposed_b = attributes.get_int("transB", 0) != 0;
  geometry.alpha = attributes.get_double("alpha", 1);
  geometry.beta = attributes.get_double("beta", 1);
  geometry.m = geometry.transposed_a ? a[1] : a[0];
  geometry.k = geometry.transposed_a ? a[0] : a[1];
  geometry.n = geometry.transposed_b ? b[0] : b[1];
  const int64_t b_rows = geometry.transposed_b ? b[1] : b[0];
  require(geometry.k == b_rows,
          fmt::format("expected matrices that can be multiplied, found {}{} and {}{}: {} columns meet {} rows",
                      to_string(a), geometry.transposed_a ? " transposed" : "", to_string(b),
                      geometry.transposed_b ? " transposed" : "", geometry.k, b_rows));
  if (c) set_c(geometry, *c);
  return geometry;
}

GemmGeometry gemm_geometry(const KernelSpec& spec) {
  return gemm_geometry(spec.attributes, spec.inputs[0].shape, spec.inputs[1].shape,
                       spec.has_input(2) ? &spec.inputs[2].shape : nullptr);
}

}  // namespace onward
