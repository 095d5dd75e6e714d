#include "runtime/data/augment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "graph/error.h"

namespace onward {

namespace {

constexpr int64_t kMostCrop = 1024;

[[noreturn]] void refuse(std::string_view part) {
  throw Error(ErrorKind::kUsage,
              fmt::format("expected --augment none or a list of hflip, vflip, crop:N with N in 1..{}, found '{}'",
                          kMostCrop, part));
}

void parse_part(std::string_view part, Augmentation& out) {
  constexpr std::string_view kCrop = "crop:";
  if (part == "hflip") {
    out.hflip = true;
  } else if (part == "vflip") {
    out.vflip = true;
  } else if (part.starts_with(kCrop)) {
    const std::string_view number = part.substr(kCrop.size());
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.crop);
    if (error != std::errc() || end != number.data() + number.size() || out.crop < 1 || out.crop > kMostCrop)
      refuse(part);
  } else {
    refuse(part);
  }
}

bool coin(const RandomStream& random, int64_t epoch, int64_t sample) {
  return random.block(static_cast<uint64_t>(epoch), static_cast<uint64_t>(sample))[0] >> 31;
}

// One row: source columns [first, first + width) with zeros outside [0, source_width), reversed if asked.
void place_row(const uint8_t* source, int64_t source_width, int64_t first, int64_t width, bool reversed, uint8_t* out) {
  const int64_t begin = std::clamp<int64_t>(-first, 0, width);  // columns of the output inside the source
  const int64_t end = std::clamp<int64_t>(source_width - first, begin, width);
  std::memset(out, 0, static_cast<std::size_t>(begin));
  if (end > begin) std::memcpy(out + begin, source + first + begin, static_cast<std::size_t>(end - begin));
  std::memset(out + end, 0, static_cast<std::size_t>(width - end));
  if (reversed) std::reverse(out, out + width);
}

}  // namespace

std::string Augmentation::text() const {
  std::vector<std::string> parts;
  if (hflip) parts.push_back("hflip");
  if (vflip) parts.push_back("vflip");
  if (crop > 0) parts.push_back(fmt::format("crop:{}", crop));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ","));
}

Augmentation parse_augmentation(std::string_view text) {
  Augmentation out;
  if (text.empty() || text == "none") return out;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parse_part(text.substr(0, comma), out);
    if (comma == text.size()) return out;
    text.remove_prefix(comma + 1);
  }
}

Augmenter::Augmenter(const Augmentation& augmentation, uint64_t seed)
    : augmentation_(augmentation),
      hflip_(seed, RandomPurpose::kHorizontalFlip),
      vflip_(seed, RandomPurpose::kVerticalFlip),
      crop_(seed, RandomPurpose::kCrop) {}

AugmentChoice Augmenter::choose(int64_t epoch, int64_t sample) const {
  AugmentChoice choice;
  if (augmentation_.hflip) choice.hflip = coin(hflip_, epoch, sample);
  if (augmentation_.vflip) choice.vflip = coin(vflip_, epoch, sample);
  if (augmentation_.crop > 0) {
    const RandomBlock words = crop_.block(static_cast<uint64_t>(epoch), static_cast<uint64_t>(sample));
    const auto places = static_cast<uint64_t>(2 * augmentation_.crop + 1);
    choice.down = static_cast<int64_t>(words[0] * places >> 32) - augmentation_.crop;
    choice.right = static_cast<int64_t>(words[1] * places >> 32) - augmentation_.crop;
  }
  return choice;
}

void place_image(std::span<const uint8_t> source, const Fit& fit, const AugmentChoice& choice, std::span<uint8_t> out) {
  const ImageShape& from = fit.image;
  const ImageShape& to = fit.output;
  const int64_t first_row = choice.down - fit.top;
  const int64_t first_column = choice.right - fit.left;
  for (int64_t c = 0; c < to.channels; ++c) {
    const uint8_t* plane = source.data() + (from.channels == 1 ? 0 : c) * from.height * from.width;
    for (int64_t y = 0; y < to.height; ++y) {
      const int64_t row = first_row + (choice.vflip ? to.height - 1 - y : y);
      uint8_t* line = out.data() + (c * to.height + y) * to.width;
      if (row < 0 || row >= from.height) {
        std::memset(line, 0, static_cast<std::size_t>(to.width));
      } else {
        place_row(plane + row * from.width, from.width, first_column, to.width, choice.hflip, line);
      }
    }
  }
}

}  // namespace onward
