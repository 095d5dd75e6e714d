#include "ops/reshape/resolve_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "graph/error.h"

namespace onward {

namespace {

[[noreturn]] void refuse(const Shape& input, const ReshapeRequest& request) {
  throw Error(ErrorKind::kModel, fmt::format("expected a shape for the {} elements of {}, found [{}]",
                                             element_count(input), to_string(input), fmt::join(request.shape, ",")));
}

// The request read literally. Dimensions that are copied cancel out of what -1 stands for, so that a batch of zero rows
// leaves the others defined.
std::optional<Shape> literal(const Shape& input, const ReshapeRequest& request) {
  Shape shape = request.shape;
  std::optional<std::size_t> open;
  std::vector<bool> copied(std::max(input.size(), shape.size()), false);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !request.allow_zero) {
      if (i >= input.size()) return std::nullopt;
      shape[i] = input[i];
      copied[i] = true;
    } else if (shape[i] == -1) {
      if (open) return std::nullopt;
      open = i;
    } else if (shape[i] < 0) {
      return std::nullopt;
    }
  }
  if (open) {
    int64_t left = 1, taken = 1;
    for (std::size_t i = 0; i < input.size(); ++i) left *= copied[i] ? 1 : input[i];
    for (std::size_t i = 0; i < shape.size(); ++i) taken *= copied[i] || i == *open ? 1 : shape[i];
    if (taken == 0 || left % taken != 0) return std::nullopt;
    shape[*open] = left / taken;
  }
  if (element_count(shape) != element_count(input)) return std::nullopt;
  return shape;
}

// All dimensions but the first, as the request has them; nullopt if one of them is -1.
std::optional<Shape> explicit_rest(const Shape& input, const ReshapeRequest& request) {
  Shape rest(request.shape.begin() + 1, request.shape.end());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] < 0 || (rest[i] == 0 && i + 1 >= input.size())) return std::nullopt;
    if (rest[i] == 0 && !request.allow_zero) rest[i] = input[i + 1];
  }
  return rest;
}

Shape with_rows(int64_t rows, const Shape& rest) {
  Shape shape{rows};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

// [k, ..., -1, ...] of a file exported for another batch: what -1 stands for is read at the exported batch.
std::optional<Shape> scaled(const Shape& input, const ReshapeRequest& request, const BatchOfFile& batch) {
  Shape exported = input;
  if (batch.local > 0 && input[0] * batch.exported % batch.local != 0) return std::nullopt;
  exported[0] = batch.local > 0 ? input[0] * batch.exported / batch.local : batch.exported;
  const std::optional<Shape> shape = literal(exported, request);
  if (!shape || (*shape)[0] * batch.local % batch.exported != 0) return std::nullopt;
  const Shape now = with_rows((*shape)[0] * batch.local / batch.exported, {shape->begin() + 1, shape->end()});
  return element_count(now) == element_count(input) ? std::optional(now) : std::nullopt;
}

}  // namespace

Shape resolve_shape(const Shape& input, const ReshapeRequest& request, const BatchOfFile& batch) {
  const auto& shape = request.shape;
  const bool baked = batch.dependent && !input.empty() && !shape.empty() && shape[0] > 0 && shape[0] != input[0];
  if (baked && batch.exported > 0 && batch.exported != batch.local && std::count(shape.begin(), shape.end(), -1) == 1) {
    if (const auto now = scaled(input, request, batch)) return *now;
  }
  if (const auto now = literal(input, request)) return *now;
  if (baked) {
    if (const auto rest = explicit_rest(input, request)) {
      const int64_t row = element_count(*rest);
      if (row > 0 && element_count(input) % row == 0) return with_rows(element_count(input) / row, *rest);
    }
  }
  refuse(input, request);
}

}  // namespace onward
