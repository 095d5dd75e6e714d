#include "ops/core/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {
namespace {

std::vector<int64_t> list_of(const Attributes& attributes, const char* name, std::size_t rank, int64_t fallback) {
  std::vector<int64_t> list = attributes.get_ints(name, std::vector<int64_t>(rank, fallback));
  if (list.size() != rank) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected {} values in the attribute '{}', found {}", rank, name, list.size()));
  }
  return list;
}

void require_positive(const std::vector<int64_t>& list, const char* name) {
  for (const int64_t value : list) {
    if (value < 1) {
      throw Error(ErrorKind::kModel,
                  fmt::format("expected positive values in the attribute '{}', found {}", name, value));
    }
  }
}

int64_t effective_kernel(const Window& window, std::size_t i) {
  return (window.kernel[i] - 1) * window.dilations[i] + 1;
}

// SAME: as many outputs as ceil(input / stride); an odd rest of the padding goes to the end (upper) or the begin
// (lower).
void pad_to_same(Window& window, bool upper) {
  for (std::size_t i = 0; i < window.input.size(); ++i) {
    const int64_t output = (window.input[i] + window.strides[i] - 1) / window.strides[i];
    const int64_t covered = (output - 1) * window.strides[i] + effective_kernel(window, i);
    const int64_t total = std::max<int64_t>(covered - window.input[i], 0);
    window.pads_begin[i] = upper ? total / 2 : total - total / 2;
    window.pads_end[i] = total - window.pads_begin[i];
  }
}

void read_pads(Window& window, const Attributes& attributes, const std::string& auto_pad) {
  const std::size_t rank = window.input.size();
  window.pads_begin.assign(rank, 0);
  window.pads_end.assign(rank, 0);
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_to_same(window, auto_pad == "SAME_UPPER");
  } else if (auto_pad == "NOTSET" || auto_pad.empty()) {
    const std::vector<int64_t> pads = list_of(attributes, "pads", 2 * rank, 0);
    std::copy_n(pads.begin(), rank, window.pads_begin.begin());
    std::copy_n(pads.begin() + static_cast<int64_t>(rank), rank, window.pads_end.begin());
  } else if (auto_pad != "VALID") {
    throw Error(ErrorKind::kModel,
                fmt::format("expected the attribute 'auto_pad' to be NOTSET, SAME_UPPER, SAME_LOWER or "
                            "VALID, found '{}'",
                            auto_pad));
  }
}

int64_t output_size(const Window& window, std::size_t i, bool ceil_mode) {
  const int64_t room = window.input[i] + window.pads_begin[i] + window.pads_end[i] - effective_kernel(window, i);
  if (room < 0) {
    throw Error(
        ErrorKind::kModel,
        fmt::format("expected a window that fits its input, found one of {} over {} padded by {} and {} in spatial "
                    "dimension {}",
                    effective_kernel(window, i), window.input[i], window.pads_begin[i], window.pads_end[i], i));
  }
  if (!ceil_mode) return room / window.strides[i] + 1;
  const int64_t output = (room + window.strides[i] - 1) / window.strides[i] + 1;
  const bool starts_past_input = (output - 1) * window.strides[i] >= window.input[i] + window.pads_begin[i];
  return starts_past_input ? output - 1 : output;
}

// The multi-dimensional index of a row-major position.
Shape unravel(int64_t position, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = position % shape[i];
    position /= shape[i];
  }
  return index;
}

int32_t tap(const Window& window, const Shape& output, const Shape& offset) {
  int64_t position = 0;
  bool in_padding = false;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const int64_t at = output[i] * window.strides[i] + offset[i] * window.dilations[i] - window.pads_begin[i];
    if (at >= window.input[i] + std::max<int64_t>(window.pads_end[i], 0)) return kTapBeyondPadding;
    in_padding |= at < 0 || at >= window.input[i];
    position = position * window.input[i] + at;
  }
  return in_padding ? kTapInPadding : static_cast<int32_t>(position);
}

}  // namespace

Window make_window(const Attributes& attributes, const Shape& spatial, const Shape& kernel) {
  const std::size_t rank = spatial.size();
  const std::string auto_pad = attributes.get_string("auto_pad", "NOTSET");
  const bool overruled = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER" || auto_pad == "VALID";
  if (kernel.size() != rank) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected a kernel of {} dimensions, found {}", rank, to_string(kernel)));
  }
  Window window{.input = spatial, .kernel = kernel};
  window.strides = list_of(attributes, "strides", rank, 1);
  window.dilations = list_of(attributes, "dilations", rank, 1);
  require_positive(window.kernel, "kernel_shape");
  require_positive(window.strides, "strides");
  require_positive(window.dilations, "dilations");
  read_pads(window, attributes, auto_pad);
  const bool ceil_mode = !overruled && attributes.get_int("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < rank; ++i) window.output.push_back(output_size(window, i, ceil_mode));
  return window;
}

Window pooling_window(const Attributes& attributes, const Shape& shape) {
  return make_window(attributes, spatial_of(shape), attributes.get_ints("kernel_shape"));
}

Shape pooled_shape(const Shape& shape, const Window& window) {
  Shape pooled{shape[0], shape[1]};
  pooled.insert(pooled.end(), window.output.begin(), window.output.end());
  return pooled;
}

Shape spatial_of(const Shape& shape) {
  if (shape.size() < 3) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected an input of rank 3 or more (N, C, spatial), found {}", to_string(shape)));
  }
  return Shape(shape.begin() + 2, shape.end());
}

void make_explicit(Attributes& attributes, const Window& window) {
  std::vector<int64_t> pads = window.pads_begin;
  pads.insert(pads.end(), window.pads_end.begin(), window.pads_end.end());
  attributes.set("kernel_shape", window.kernel);
  attributes.set("strides", window.strides);
  attributes.set("dilations", window.dilations);
  attributes.set("pads", pads);
  if (attributes.get_string("auto_pad", "NOTSET") != "NOTSET") attributes.erase("ceil_mode");
  attributes.erase("auto_pad");
}

std::vector<int32_t> window_taps(const Window& window) {
  std::vector<int32_t> taps;
  taps.reserve(static_cast<std::size_t>(window.output_count() * window.positions()));
  std::vector<Shape> offsets;
  for (int64_t k = 0; k < window.positions(); ++k) offsets.push_back(unravel(k, window.kernel));
  for (int64_t p = 0; p < window.output_count(); ++p) {
    const Shape output = unravel(p, window.output);
    for (const Shape& offset : offsets) taps.push_back(tap(window, output, offset));
  }
  return taps;
}

TapInverse invert_taps(const Window& window, const std::vector<int32_t>& taps) {
  TapInverse inverse;
  inverse.begin.assign(static_cast<std::size_t>(window.input_count()) + 1, 0);
  for (const int32_t q : taps) {
    if (q >= 0) ++inverse.begin[static_cast<std::size_t>(q) + 1];
  }
  for (std::size_t q = 1; q < inverse.begin.size(); ++q) inverse.begin[q] += inverse.begin[q - 1];
  inverse.entries.resize(static_cast<std::size_t>(inverse.begin.back()));
  std::vector<int32_t> next(inverse.begin.begin(), inverse.begin.end() - 1);
  const int64_t positions = window.positions();
  for (std::size_t i = 0; i < taps.size(); ++i) {
    if (taps[i] < 0) continue;
    const auto output = static_cast<int32_t>(static_cast<int64_t>(i) / positions);
    const auto position = static_cast<int32_t>(static_cast<int64_t>(i) % positions);
    inverse.entries[static_cast<std::size_t>(next[static_cast<std::size_t>(taps[i])]++)] = {output, position};
  }
  return inverse;
}

}  // namespace onward
