#include "runtime/data/fit.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace onward {

namespace {

ImageShape resolve(const ImageShape& image, const Shape& model) {
  const auto pick = [](int64_t wanted, int64_t own) { return wanted < 0 ? own : wanted; };
  return {pick(model[0], image.channels), pick(model[1], image.height), pick(model[2], image.width)};
}

bool can_pad(const ImageShape& image, const ImageShape& output) {
  const bool channels = output.channels == image.channels || (image.channels == 1 && output.channels == 3);
  return channels && output.height >= image.height && output.width >= image.width;
}

// A model input of another rank, such as a flat vector, takes the elements in row-major order.
bool holds_flat(const ImageShape& image, const Shape& model) {
  int64_t known = 1, unknown = 0;
  for (const int64_t d : model) (d < 0 ? ++unknown : known *= d);
  return model.size() != 3 && !model.empty() &&
         (unknown == 0 ? known == image.count() : unknown == 1 && known > 0 && image.count() % known == 0);
}

}  // namespace

FitMode parse_fit(std::string_view text) {
  if (text == "none") return FitMode::kNone;
  if (text == "pad") return FitMode::kPad;
  throw Error(ErrorKind::kUsage, fmt::format("expected --fit none or pad, found '{}'", text));
}

Fit fit_images(const ImageShape& image, const Shape& model, FitMode mode) {
  if (holds_flat(image, model)) {
    Shape sample = model;
    for (int64_t& d : sample) {
      if (d < 0) d = image.count() / -element_count(model);
    }
    return {image, image, sample};
  }
  if (model.size() == 3) {
    const ImageShape output = resolve(image, model);
    if (output == image || (mode == FitMode::kPad && can_pad(image, output))) {
      return {image,
              output,
              {output.channels, output.height, output.width},
              (output.height - image.height) / 2,
              (output.width - image.width) / 2};
    }
    if (mode == FitMode::kNone && can_pad(image, output)) {
      throw Error(ErrorKind::kData,
                  fmt::format("expected images of {} for the model's input, found {}; --fit pad pads them with zeros{}",
                              output.text(), image.text(),
                              image.channels == output.channels ? "" : " and repeats the channel"));
    }
  }
  throw Error(
      ErrorKind::kData,
      fmt::format(
          "expected images of {} for the model's input, found {} in the data set; take another data set or model{}",
          to_string(model), image.text(),
          mode == FitMode::kPad ? " (--fit pad only enlarges, and repeats one channel to three)" : ""));
}

}  // namespace onward
