#include "runtime/data/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "graph/error.h"
#include "graph/random.h"

namespace onward {

namespace {

constexpr std::string_view kPrefix = "synthetic";
constexpr int kWaves = 3;
constexpr double kAmplitude = 28;  // of each wave, in byte values

// Sites of the random stream: the patterns, and the noise of either split.
enum : uint64_t { kPatternSite = 0, kNoiseSite = 1 };

// [classes, C, H, W] in byte values around 128.
std::vector<float> make_patterns(const SyntheticOptions& options) {
  const ImageShape& shape = options.shape;
  const RandomStream random(options.seed, RandomPurpose::kSyntheticData, kPatternSite);
  std::vector<float> patterns;
  patterns.reserve(static_cast<std::size_t>(options.classes * shape.count()));
  for (int64_t label = 0; label < options.classes; ++label) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      struct Wave {
        double across, down, phase;
      } waves[kWaves];
      for (int w = 0; w < kWaves; ++w) {
        const auto draw = [&](int which) {
          return random.uniform(static_cast<uint64_t>(label), static_cast<uint64_t>((c * kWaves + w) * 3 + which));
        };
        waves[w] = {std::floor(4 * draw(0)), std::floor(4 * draw(1)), draw(2)};
      }
      for (int64_t y = 0; y < shape.height; ++y) {
        for (int64_t x = 0; x < shape.width; ++x) {
          double value = 128;
          for (const Wave& wave : waves) {
            const double turns = wave.across * static_cast<double>(x) / static_cast<double>(shape.width) +
                                 wave.down * static_cast<double>(y) / static_cast<double>(shape.height) + wave.phase;
            value += kAmplitude * std::sin(2 * std::numbers::pi * turns);
          }
          patterns.push_back(static_cast<float>(value));
        }
      }
    }
  }
  return patterns;
}

// Noise is uniform in [-64, 63]: seven bits of each random byte.
void add_noise(const float* pattern, const RandomStream& random, uint64_t sample, std::span<uint8_t> out) {
  RandomBlock block{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % 16 == 0) block = random.block(sample, i / 16);
    const int noise = static_cast<int>(block[i % 16 / 4] >> (8 * (i % 4)) & 0x7f) - 64;
    out[i] = static_cast<uint8_t>(std::clamp(pattern[i] + static_cast<float>(noise), 0.0f, 255.0f));
  }
}

int64_t parse_count(std::string_view text, std::string_view whole) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("expected synthetic or synthetic:TRAIN,TEST with numbers of samples of at least 1, found '{}'",
                    whole));
  }
  return value;
}

}  // namespace

Dataset make_synthetic(const SyntheticOptions& options, Split split) {
  const int64_t count = split == Split::kTrain ? options.train_samples : options.test_samples;
  const ImageShape& shape = options.shape;
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1 || options.classes < 1 || count < 1) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format(
            "expected at least one pixel, class and sample of generated data, found shape {}, {} classes, {} samples",
            shape.text(), options.classes, count));
  }
  Dataset out;
  out.name = "synthetic";
  out.source = fmt::format("synthetic data, seed {}", options.seed);
  out.split = split;
  out.shape = shape;
  for (int64_t i = 0; i < options.classes; ++i) out.classes.push_back(fmt::format("class {}", i));
  out.images.resize(static_cast<std::size_t>(count * shape.count()));
  const std::vector<float> patterns = make_patterns(options);
  const RandomStream noise(options.seed, RandomPurpose::kSyntheticData, kNoiseSite + static_cast<uint64_t>(split));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % options.classes;
    out.labels.push_back(label);
    add_noise(patterns.data() + label * shape.count(), noise, static_cast<uint64_t>(i),
              {out.images.data() + i * shape.count(), static_cast<std::size_t>(shape.count())});
  }
  return out;
}

bool names_synthetic(std::string_view path) { return path == kPrefix || path.starts_with("synthetic:"); }

SyntheticOptions parse_synthetic(std::string_view path, SyntheticOptions options) {
  if (path.empty() || path == kPrefix) return options;
  const std::size_t comma = path.find(',');
  if (!names_synthetic(path) || comma == std::string_view::npos) parse_count("", path);
  options.train_samples = parse_count(path.substr(kPrefix.size() + 1, comma - kPrefix.size() - 1), path);
  options.test_samples = parse_count(path.substr(comma + 1), path);
  return options;
}

}  // namespace onward
