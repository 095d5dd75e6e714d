#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

enum class DatasetKind : uint8_t { kAuto, kCifar10, kCifar100, kMnist, kSynthetic };
enum class Split : uint8_t { kTrain, kTest };

// "auto", "cifar10", "cifar100", "mnist", "synthetic". Error(kUsage) for anything else.
DatasetKind parse_dataset_kind(std::string_view text);
const char* split_name(Split split);  // "train", "test"

// Channels, height and width of one image.
struct ImageShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  int64_t count() const { return channels * height * width; }
  std::string text() const;  // "3x32x32"
  bool operator==(const ImageShape&) const = default;
};

// A labelled image data set in memory.
struct Dataset {
  std::string name;    // "cifar10", "cifar100", "mnist", "fashion-mnist", "synthetic": what --normalize auto goes by
  std::string source;  // the folder, archive or generator it came from, for messages
  Split split = Split::kTrain;
  ImageShape shape;
  std::vector<uint8_t> images;       // [count, C, H, W]
  std::vector<int64_t> labels;       // [count], each in [0, classes.size())
  std::vector<std::string> classes;  // one name per class

  int64_t count() const { return static_cast<int64_t>(labels.size()); }
  int64_t class_count() const { return static_cast<int64_t>(classes.size()); }
  std::span<const uint8_t> image(int64_t index) const {
    return {images.data() + index * shape.count(), static_cast<std::size_t>(shape.count())};
  }
};

// What generated data look like. The trainer fills shape and classes from the model.
struct SyntheticOptions {
  ImageShape shape{3, 32, 32};
  int64_t classes = 10;
  int64_t train_samples = 10000;
  int64_t test_samples = 2000;
  uint64_t seed = 0;
};

// Reads one split of the data set at `path`.
//   kCifar10, kCifar100  a folder with the published binary or Python files (cifar-10-batches-bin, cifar-100-python,
//   ...), the
//                        folder above it, or a published .tar.gz, read without unpacking. CIFAR-100 takes the fine
//                        labels.
//   kMnist               a folder with train-images-idx3-ubyte and its three companions, each plain or .gz.
//   Fashion-MNIST has
//                        the same file names and is told apart by its first labels.
//   kSynthetic           generated; `path` is "synthetic" or "synthetic:TRAIN,TEST" with the numbers of samples.
//   kAuto                whichever of these is there.
// Error(kData): nothing found (lists what was looked for), more than one kind found, a file that is missing, truncated,
// empty, over-long or damaged (file, expected and actual size), a label out of range (file, record, value).
Dataset open_dataset(const std::string& path, DatasetKind kind, Split split, const SyntheticOptions& synthetic = {});

// Labels are checked on the host before a step, because a kernel would read outside its rows. Error(kData) names the
// first sample whose label is outside [0, classes), the label and the number of classes; a label equal to *ignored is
// allowed. `samples` holds the data set's index of each label.
void check_labels(std::span<const int64_t> labels, int64_t classes, std::span<const int64_t> samples,
                  const int64_t* ignored = nullptr);
// The same for consecutive samples that start at first_sample.
void check_labels(std::span<const int64_t> labels, int64_t classes, int64_t first_sample,
                  const int64_t* ignored = nullptr);

}  // namespace onward
