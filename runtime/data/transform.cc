#include "runtime/data/transform.h"

#include <utility>
#include <vector>

namespace onward {

namespace {

template <typename T>
void normalise_row_major(const uint8_t* bytes, const ImageShape& shape, const NormaliseTable& table, T* out) {
  const int64_t area = shape.height * shape.width;
  for (int64_t c = 0; c < shape.channels; ++c) {
    const float* row = table.channel(c);
    for (int64_t i = 0; i < area; ++i) out[c * area + i] = row[bytes[c * area + i]];
  }
}

template <typename T>
void normalise_channels_last(const uint8_t* bytes, const ImageShape& shape, const NormaliseTable& table, T* out) {
  const int64_t area = shape.height * shape.width;
  for (int64_t c = 0; c < shape.channels; ++c) {
    const float* row = table.channel(c);
    for (int64_t i = 0; i < area; ++i) out[i * shape.channels + c] = row[bytes[c * area + i]];
  }
}

}  // namespace

Transform::Transform(Fit fit, const Normalisation& normalisation, const Augmentation& augmentation, uint64_t seed)
    : fit_(std::move(fit)),
      augmentation_(augmentation),
      augmenter_(augmentation, seed),
      table_(normalisation, fit_.output.channels) {}

template <typename T>
void Transform::apply(std::span<const uint8_t> image, int64_t epoch, int64_t sample, Layout layout, T* out) const {
  const uint8_t* bytes = image.data();
  thread_local std::vector<uint8_t> placed;
  if (augmentation_.any() || fit_.output != fit_.image) {
    placed.resize(static_cast<std::size_t>(fit_.output.count()));
    place_image(image, fit_, augmenter_.choose(epoch, sample), placed);
    bytes = placed.data();
  }
  if (layout == Layout::kChannelsLast && fit_.output.channels > 1) {
    normalise_channels_last(bytes, fit_.output, table_, out);
  } else {
    normalise_row_major(bytes, fit_.output, table_, out);
  }
}

template void Transform::apply<float>(std::span<const uint8_t>, int64_t, int64_t, Layout, float*) const;
template void Transform::apply<double>(std::span<const uint8_t>, int64_t, int64_t, Layout, double*) const;

}  // namespace onward
