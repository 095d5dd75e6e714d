#include "runtime/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "graph/error.h"
#include "runtime/data/gzip_file.h"

namespace onward {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kClasses = 10;
constexpr int64_t kMostSide = 1 << 14;
constexpr std::array<const char*, 4> kNames{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

// The file under its name or with ".gz"; empty if there is neither.
fs::path find_file(const fs::path& folder, const std::string& name) {
  std::error_code error;
  for (const std::string& candidate : {name, name + ".gz"}) {
    if (fs::is_regular_file(folder / candidate, error)) return folder / candidate;
  }
  return {};
}

struct IdxFile {
  fs::path path;
  std::vector<uint8_t> bytes;
  std::vector<int64_t> shape;
  std::size_t header = 0;
};

// Magic number: two zero bytes, 8 for unsigned bytes, the number of dimensions; then each dimension in four bytes.
IdxFile read_idx_file(const fs::path& folder, const std::string& name, std::size_t rank) {
  IdxFile file;
  file.path = find_file(folder, name);
  if (file.path.empty()) {
    throw Error(ErrorKind::kData, fmt::format("expected {0} or {0}.gz in {1}, found neither", name, folder.string()));
  }
  file.bytes = file.path.extension() == ".gz" ? read_gzip(file.path) : read_file(file.path);
  file.header = 4 + 4 * rank;
  const std::vector<uint8_t>& b = file.bytes;
  if (b.size() < file.header) {
    throw Error(ErrorKind::kData, fmt::format("expected at least {} bytes in {}, found {}; fetch the file again",
                                              file.header, file.path.string(), b.size()));
  }
  if (b[0] != 0 || b[1] != 0 || b[2] != 8 || b[3] != rank) {
    throw Error(ErrorKind::kData,
                fmt::format("expected the magic number 0x{:08x} at the start of {}, found 0x{:02x}{:02x}{:02x}{:02x}",
                            0x800 + rank, file.path.string(), b[0], b[1], b[2], b[3]));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const uint8_t* d = b.data() + 4 + 4 * i;
    file.shape.push_back(int64_t{d[0]} << 24 | d[1] << 16 | d[2] << 8 | d[3]);
    if (i > 0 && (file.shape[i] < 1 || file.shape[i] > kMostSide)) {
      throw Error(ErrorKind::kData, fmt::format("expected images of 1 to {} pixels a side in {}, found {}", kMostSide,
                                                file.path.string(), file.shape[i]));
    }
  }
  int64_t expected = static_cast<int64_t>(file.header);
  int64_t items = 1;
  for (const int64_t d : file.shape) items *= d;  // below 2^32 * 2^28
  expected += items;
  if (static_cast<int64_t>(b.size()) != expected) {
    throw Error(ErrorKind::kData, fmt::format("expected {} bytes for {} records in {}, found {}; fetch the file again",
                                              expected, file.shape[0], file.path.string(), b.size()));
  }
  if (file.shape[0] == 0)
    throw Error(ErrorKind::kData, fmt::format("expected at least one record in {}, found none", file.path.string()));
  return file;
}

// Fashion-MNIST kept MNIST's file names on purpose; its first ten labels, or else its folder's name, give it away.
bool is_fashion(const std::vector<int64_t>& labels, Split split, const fs::path& folder) {
  using Labels = std::array<int64_t, 10>;
  const Labels fashion =
      split == Split::kTrain ? Labels{9, 0, 0, 3, 0, 2, 7, 2, 5, 5} : Labels{9, 2, 1, 1, 6, 1, 4, 6, 5, 7};
  if (labels.size() >= fashion.size() && std::equal(fashion.begin(), fashion.end(), labels.begin())) return true;
  std::error_code error;
  std::string name = fs::weakly_canonical(folder, error).string();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("fashion") != std::string::npos;
}

std::vector<std::string> class_names(bool fashion) {
  if (fashion)
    return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
  return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
}

}  // namespace

bool has_idx_files(const fs::path& folder) {
  return std::any_of(kNames.begin(), kNames.end(), [&](const char* name) { return !find_file(folder, name).empty(); });
}

Dataset read_idx(const fs::path& folder, Split split) {
  const std::size_t first = split == Split::kTrain ? 0 : 2;
  IdxFile images = read_idx_file(folder, kNames[first], 3);
  const IdxFile labels = read_idx_file(folder, kNames[first + 1], 1);
  if (images.shape[0] != labels.shape[0]) {
    throw Error(ErrorKind::kData,
                fmt::format("expected as many labels as images ({} in {}), found {} in {}", images.shape[0],
                            images.path.string(), labels.shape[0], labels.path.string()));
  }
  Dataset out;
  out.source = folder.string();
  out.split = split;
  out.shape = {1, images.shape[1], images.shape[2]};
  out.labels.assign(labels.bytes.begin() + static_cast<std::ptrdiff_t>(labels.header), labels.bytes.end());
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t label = out.labels[static_cast<std::size_t>(i)];
    if (label >= kClasses) {
      throw Error(
          ErrorKind::kData,
          fmt::format(
              "expected a label in 0..{} in record {} of {}, found {}; the file is damaged or of another data set",
              kClasses - 1, i, labels.path.string(), label));
    }
  }
  const bool fashion = is_fashion(out.labels, split, folder);
  out.name = fashion ? "fashion-mnist" : "mnist";
  out.classes = class_names(fashion);
  images.bytes.erase(images.bytes.begin(), images.bytes.begin() + static_cast<std::ptrdiff_t>(images.header));
  out.images = std::move(images.bytes);
  return out;
}

}  // namespace onward
