#include "tools/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace onward::cli {
namespace {

// No finer than the type can say.
Tolerance allowed(Tolerance tolerance, DType dtype) {
  if (dtype == DType::kFloat16) tolerance.relative = std::max(tolerance.relative, 0x1p-10);
  if (dtype == DType::kBFloat16) tolerance.relative = std::max(tolerance.relative, 0x1p-7);
  return tolerance;
}

// How far beyond what is allowed; not positive: close enough.
double excess(double found, double expected, const Tolerance& tolerance) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double distance = std::fabs(found - expected);
  if (!std::isfinite(distance)) return INFINITY;
  return distance - (tolerance.absolute + tolerance.relative * std::fabs(expected));
}

std::string integer_difference(const HostTensor& found, const HostTensor& expected) {
  const std::vector<int64_t> a = found.to_int64(), b = expected.to_int64();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return fmt::format("element {}: expected {}, found {}", i, b[i], a[i]);
  }
  return "";
}

std::string float_difference(const HostTensor& found, const HostTensor& expected, const Tolerance& tolerance) {
  const std::vector<double> a = found.to_double(), b = expected.to_double();
  std::size_t count = 0, worst = 0;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double over = excess(a[i], b[i], tolerance);
    if (over <= 0) continue;
    ++count;
    if (over > most) {
      most = over;
      worst = i;
    }
  }
  if (count == 0) return "";
  return fmt::format("{} of {} elements differ, most element {}: expected {}, found {}", count, a.size(), worst,
                     b[worst], a[worst]);
}

}  // namespace

std::string difference(const HostTensor& found, const HostTensor& expected, const Tolerance& tolerance) {
  if (found.type() != expected.type()) {
    return fmt::format("expected {}, found {}", expected.type().text(), found.type().text());
  }
  return is_floating(found.dtype()) ? float_difference(found, expected, allowed(tolerance, found.dtype()))
                                    : integer_difference(found, expected);
}

}  // namespace onward::cli
