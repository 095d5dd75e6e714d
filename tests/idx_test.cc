#include "runtime/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "graph/error.h"
#include "runtime/data/normalise.h"
#include "tests/support/data_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImages = "t10k-images-idx3-ubyte";
constexpr const char* kLabels = "t10k-labels-idx1-ubyte";

Dataset open_test(const fs::path& path) { return open_dataset(path.string(), DatasetKind::kAuto, Split::kTest); }
void expect_data_error(const std::string& part, const fs::path& path) {
  expect_error(ErrorKind::kData, part, [&] { open_test(path); });
}

TEST(Idx, PlainAndCompressedFiles) {
  const TemporaryFolder folder;
  folder.write(std::string("a/") + kImages, idx_images(3, 5, 4));
  folder.write(std::string("a/") + kLabels + ".gz", gzip(idx_labels({7, 0, 9})));
  folder.write("b/MNIST/raw/train-images-idx3-ubyte.gz", gzip(idx_images(2, 28, 28)));
  folder.write("b/MNIST/raw/train-labels-idx1-ubyte", idx_labels({1, 2}));
  const Dataset test = open_test(folder.path() / "a");
  EXPECT_EQ(test.name, "mnist");
  EXPECT_EQ(test.shape, (ImageShape{1, 5, 4}));
  EXPECT_EQ(test.labels, (std::vector<int64_t>{7, 0, 9}));
  EXPECT_EQ(std::string(test.image(2).begin(), test.image(2).end()), test_image(2, 20));
  EXPECT_EQ(test.class_count(), 10);
  EXPECT_EQ(open_dataset((folder.path() / "b").string(), DatasetKind::kMnist, Split::kTrain).labels,
            (std::vector<int64_t>{1, 2}));
}

TEST(Idx, FashionMnistIsToldByItsLabelsOrItsFolder) {
  const TemporaryFolder folder;
  const std::vector<uint8_t> labels{9, 2, 1, 1, 6, 1, 4, 6, 5, 7, 0};
  folder.write(std::string("x/") + kImages, idx_images(11, 2, 2));
  folder.write(std::string("x/") + kLabels, idx_labels(labels));
  EXPECT_EQ(open_test(folder.path() / "x").name, "fashion-mnist");
  folder.write(std::string("Fashion-Data/") + kImages, idx_images(1, 2, 2));
  folder.write(std::string("Fashion-Data/") + kLabels, idx_labels({3}));
  EXPECT_EQ(open_test(folder.path() / "Fashion-Data").classes[9], "Ankle boot");
}

TEST(Idx, BadFiles) {
  const TemporaryFolder folder;
  const std::string images = idx_images(3, 5, 4), labels = idx_labels({7, 0, 9});
  const std::string image_path = (folder.path() / kImages).string();
  const auto check = [&](const std::string& part, const std::string& image_bytes, const std::string& label_bytes) {
    folder.write(kImages, image_bytes);
    folder.write(kLabels, label_bytes);
    expect_data_error(part, folder.path());
  };
  check(fmt::format("expected 76 bytes for 3 records in {}, found 75", image_path), images.substr(0, 75), labels);
  check(fmt::format("expected 76 bytes for 3 records in {}, found 77", image_path), images + "x", labels);
  check(fmt::format("expected at least 16 bytes in {}, found 0", image_path), "", labels);
  check("expected the magic number 0x00000803", labels + std::string(20, 'x'), labels);
  check("expected the magic number 0x00000801", images, images);
  check("expected 11 bytes for 3 records", images, labels.substr(0, 10));
  check("expected as many labels as images (3", images, idx_labels({7, 0}));
  check("record 1 of ", images, idx_labels({7, 10, 9}));
  check("found 10; the file", images, idx_labels({7, 10, 9}));
  check("expected at least one record", idx_images(0, 5, 4), labels);
  check("expected images of 1 to 16384 pixels", idx_images(3, 0, 4), labels);
  fs::remove(folder.path() / kImages);
  expect_data_error("expected t10k-images-idx3-ubyte or t10k-images-idx3-ubyte.gz in ", folder.path());
}

TEST(Idx, DamagedGzip) {
  const TemporaryFolder folder;
  folder.write(kLabels, idx_labels({7, 0, 9}));
  const std::string packed = gzip(idx_images(3, 5, 4));
  const auto check = [&](const std::string& part, const std::string& bytes) {
    folder.write(std::string(kImages) + ".gz", bytes);
    expect_data_error(part, folder.path());
  };
  for (std::size_t size = 20; size < packed.size(); ++size) check("damaged or cut short", packed.substr(0, size));
  check("without gzip's header", idx_images(3, 5, 4));
  check("without gzip's header", "");
  std::string flipped = packed;
  flipped[flipped.size() - 7] ^= 4;
  check("damaged or cut short", flipped);
  check("expected 76 bytes for 3 records", gzip(idx_images(3, 5, 4) + "tail"));
}

TEST(Idx, InstalledFashionMnist) {
  const fs::path path = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(path)) GTEST_SKIP() << "package dataset-fashion-mnist is not installed";
  const Dataset train = open_dataset(path.string(), DatasetKind::kAuto, Split::kTrain);
  EXPECT_EQ(train.name, "fashion-mnist");
  EXPECT_EQ(train.shape, (ImageShape{1, 28, 28}));
  EXPECT_EQ(train.count(), 60000);
  for (int64_t c = 0; c < 10; ++c) EXPECT_EQ(std::count(train.labels.begin(), train.labels.end(), c), 6000);
  EXPECT_EQ(open_test(path).name, "fashion-mnist");
  EXPECT_EQ(open_test(path).count(), 10000);

  double sum = 0, squares = 0;
  for (const uint8_t byte : train.images) {
    sum += byte / 255.0;
    squares += byte / 255.0 * (byte / 255.0);
  }
  const double count = static_cast<double>(train.images.size());
  const Normalisation constants = parse_normalisation("auto", train.name);
  EXPECT_NEAR(sum / count, constants.mean[0], 1e-4);
  EXPECT_NEAR(std::sqrt(squares / count - sum / count * (sum / count)), constants.std_dev[0], 1e-4);
}

}  // namespace
}  // namespace onward::test
