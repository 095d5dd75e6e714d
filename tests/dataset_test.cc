#include "runtime/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "graph/error.h"
#include "tests/support/data_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBin = "cifar-10-batches-bin";
constexpr const char* kPy = "cifar-10-batches-py";

// Records `first`, ... of the test images, with labels record % classes.
void expect_records(const Dataset& data, int64_t first, int64_t count, int64_t classes) {
  ASSERT_EQ(data.count(), count);
  ASSERT_EQ(static_cast<int64_t>(data.images.size()), count * data.shape.count());
  for (const int64_t i : {int64_t{0}, int64_t{1}, count / 2, count - 1}) {
    EXPECT_EQ(data.labels[i], (first + i) % classes);
    const auto image = data.image(i);
    EXPECT_EQ(std::string(image.begin(), image.end()), test_image(first + i, data.shape.count())) << "record " << i;
  }
}

Dataset open_test(const fs::path& path, DatasetKind kind = DatasetKind::kAuto) {
  return open_dataset(path.string(), kind, Split::kTest);
}

void expect_data_error(const std::string& part, const fs::path& path, DatasetKind kind = DatasetKind::kAuto,
                       Split split = Split::kTest) {
  expect_error(ErrorKind::kData, part, [&] { open_dataset(path.string(), kind, split); });
}

TEST(Cifar, BinaryFolderOfTenClasses) {
  const TemporaryFolder folder;
  for (int i = 0; i < 5; ++i) folder.write(fmt::format("{}/data_batch_{}.bin", kBin, i + 1), cifar10_binary(i * 10000));
  folder.write(fmt::format("{}/test_batch.bin", kBin), cifar10_binary(3));
  for (const fs::path& path : {folder.path(), folder.path() / kBin}) {
    const Dataset train = open_dataset(path.string(), DatasetKind::kAuto, Split::kTrain);
    EXPECT_EQ(train.name, "cifar10");
    EXPECT_EQ(train.shape, (ImageShape{3, 32, 32}));
    EXPECT_EQ(train.classes, (std::vector<std::string>{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog",
                                                       "horse", "ship", "truck"}));
    expect_records(train, 0, 50000, 10);
  }
  expect_records(open_test(folder.path(), DatasetKind::kCifar10), 3, 10000, 10);
  fs::remove(folder.path() / kBin / "data_batch_3.bin");
  expect_data_error("data_batch_3.bin, found: No such file", folder.path(), DatasetKind::kAuto, Split::kTrain);
}

TEST(Cifar, BinaryFolderOfHundredClassesTakesTheFineLabels) {
  const TemporaryFolder folder;
  folder.write("cifar-100-binary/train.bin", cifar100_binary(0, 50000));
  folder.write("cifar-100-binary/test.bin", cifar100_binary(50, 10000));
  const Dataset train = open_dataset(folder.path().string(), DatasetKind::kAuto, Split::kTrain);
  EXPECT_EQ(train.name, "cifar100");
  expect_records(train, 0, 50000, 100);
  EXPECT_EQ(train.classes[42], "class 42");

  std::string names;
  for (int i = 0; i < 100; ++i) names += fmt::format("fine{}\n", i);
  folder.write("cifar-100-binary/fine_label_names.txt", names + "\n");
  const Dataset test = open_test(folder.path());
  expect_records(test, 50, 10000, 100);
  EXPECT_EQ(test.classes[42], "fine42");

  folder.write("cifar-100-binary/fine_label_names.txt", "one\ntwo\n");
  expect_data_error("expected 100 class names", folder.path());
}

TEST(Cifar, PythonFolderOfTenClasses) {
  const TemporaryFolder folder;
  for (int i = 0; i < 5; ++i) folder.write(fmt::format("{}/data_batch_{}", kPy, i + 1), cifar10_pickle(i * 2000, 2000));
  folder.write(fmt::format("{}/test_batch", kPy), cifar10_pickle(7, 1001));
  expect_records(open_dataset(folder.path().string(), DatasetKind::kAuto, Split::kTrain), 0, 10000, 10);
  expect_records(open_test(folder.path() / kPy, DatasetKind::kCifar10), 7, 1001, 10);
}

TEST(Cifar, PythonFolderOfHundredClasses) {
  const TemporaryFolder folder;
  folder.write("cifar-100-python/train", cifar100_pickle(0, 300));
  folder.write("cifar-100-python/test", cifar100_pickle(11, 200));
  folder.write("cifar-100-python/meta", cifar100_meta());
  expect_records(open_dataset(folder.path().string(), DatasetKind::kAuto, Split::kTrain), 0, 300, 100);
  const Dataset test = open_test(folder.path(), DatasetKind::kCifar100);
  expect_records(test, 11, 200, 100);
  EXPECT_EQ(test.classes[99], "fine99");
}

TEST(Cifar, ColumnMajorArraysAreTransposed) {
  const TemporaryFolder folder;
  folder.write("test_batch", cifar10_pickle(5, 20, true));
  expect_records(open_test(folder.path()), 5, 20, 10);
}

TEST(Cifar, PublishedArchives) {
  const TemporaryFolder folder;
  const fs::path binary =
      folder.write("a/cifar-10-binary.tar.gz", gzip(tar({{"cifar-10-batches-bin/readme.html", "hello"},
                                                         {"cifar-10-batches-bin/._test_batch.bin", "resource fork"},
                                                         {"cifar-10-batches-bin/test_batch.bin", cifar10_binary(4)}})));
  const fs::path python = folder.write(
      "b/cifar-100-python.tar.gz",
      gzip(tar({{"cifar-100-python/meta", cifar100_meta()}, {"cifar-100-python/test", cifar100_pickle(2, 30)}})));
  for (const fs::path& path : {binary, folder.path() / "a"}) expect_records(open_test(path), 4, 10000, 10);
  for (const fs::path& path : {python, folder.path() / "b"}) {
    const Dataset data = open_test(path);
    expect_records(data, 2, 30, 100);
    EXPECT_EQ(data.classes[1], "fine1");
  }
  expect_data_error("train split of a CIFAR data set in the archive", python, DatasetKind::kAuto, Split::kTrain);
  expect_data_error("expected the test split of a cifar10 data set", python, DatasetKind::kCifar10);
}

TEST(Cifar, DamagedArchives) {
  const TemporaryFolder folder;
  const std::string plain = tar({{"cifar-10-batches-py/test_batch", cifar10_pickle(0, 40)}});
  const std::string packed = gzip(plain);
  const auto check = [&](const std::string& part, const std::string& bytes) {
    expect_data_error(part, folder.write("cifar-10-python.tar.gz", bytes));
    expect_data_error("cifar-10-python.tar.gz", folder.path());
  };
  expect_records(open_test(folder.write("cifar-10-python.tar.gz", packed)), 0, 40, 10);
  check("damaged or cut short", packed.substr(0, packed.size() / 2));
  check("damaged or cut short", packed.substr(0, packed.size() - 3));
  std::string flipped = packed;
  flipped[flipped.size() - 6] ^= 1;  // in the stored checksum
  check("damaged or cut short", flipped);
  check("found: ", gzip(plain.substr(0, 2000)));
  check("found: ", gzip("this is no tar archive, but long enough to look at" + std::string(2000, 'x')));
  check("found: ", "");
  check("found: ", "neither");
  std::string header = plain;
  header[0] = 'C';  // the header's checksum no longer fits
  check("found: ", gzip(header));
}

TEST(Cifar, C1_TruncatedEmptyOrOverlongFile) {
  const TemporaryFolder folder;
  const fs::path file = folder.write(fmt::format("{}/test_batch.bin", kBin), cifar10_binary(0));
  ASSERT_EQ(fs::file_size(file), 30730000u);
  for (const std::size_t size : {30730001, 30729999, 30730000 - 3073, 3073, 0}) {
    fs::resize_file(file, size);
    expect_data_error(
        fmt::format("expected 30730000 bytes (10000 records of 3073) in {}, found {}", file.string(), size),
        folder.path());
  }
  folder.write("c/cifar-10-binary.tar.gz", gzip(tar({{"x/test_batch.bin", cifar10_binary(0, 1).substr(0, 999)}})));
  expect_data_error("cifar-10-binary.tar.gz: test_batch.bin, found 999", folder.path() / "c");
  folder.write("d/test.bin", "short");
  expect_data_error("expected 30740000 bytes (10000 records of 3074)", folder.path() / "d");
}

TEST(Cifar, C1_PickleOfTheWrongSize) {
  const TemporaryFolder folder;
  const std::string whole = cifar10_pickle(0, 20);
  folder.write("test_batch", whole.substr(0, 5000));
  expect_data_error("test_batch, found 5000: the pickle is cut short", folder.path());
  folder.write("test_batch", "");
  expect_data_error("expected at least 1 bytes in ", folder.path());
  folder.write("test_batch", whole + "123");
  expect_data_error("3 too many", folder.path());
}

TEST(Cifar, C2_LabelOutOfRange) {
  const TemporaryFolder folder;
  std::string bytes = cifar10_binary(0);
  bytes[7 * 3073] = 10;
  folder.write("test_batch.bin", bytes);
  expect_data_error(
      fmt::format("expected a label in 0..9 in record 7 of {}, found 10", (folder.path() / "test_batch.bin").string()),
      folder.path());

  std::string hundred = cifar100_binary(0, 10000);
  hundred[9 * 3074 + 1] = 100;
  folder.write("b/test.bin", hundred);
  expect_data_error("expected a label in 0..99 in record 9 of ", folder.path() / "b");
  hundred[8 * 3074] = 20;
  folder.write("b/test.bin", hundred);
  expect_data_error("expected a coarse label in 0..19 in record 8 of ", folder.path() / "b");

  for (const int64_t label : {int64_t{10}, int64_t{-1}, int64_t{1000}}) {
    PickleWriter pickle;
    pickle.begin_dict();
    pickle.text("labels");
    pickle.numbers({1, 2, label});
    pickle.text("data");
    pickle.array({3, 3072}, std::string(3 * 3072, 'x'));
    pickle.end_dict();
    folder.write("c/test_batch", pickle.bytes());
    expect_data_error(fmt::format("record 2 of {}, found {}", (folder.path() / "c/test_batch").string(), label),
                      folder.path() / "c");
  }
}

TEST(Cifar, PickledArraysMustMatchTheirLabels) {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& part, std::vector<int64_t> shape, std::vector<int64_t> labels) {
    PickleWriter pickle;
    pickle.begin_dict();
    pickle.text("labels");
    pickle.numbers(labels);
    pickle.text("data");
    pickle.array(shape, std::string(static_cast<std::size_t>(shape[0] * shape[1]), 'x'));
    pickle.end_dict();
    folder.write("test_batch", pickle.bytes());
    expect_data_error(part, folder.path());
  };
  check("found an array of 2x3072", {2, 3072}, {1, 2, 3});
  check("found an array of 3x3071", {3, 3071}, {1, 2, 3});
  check("at least one", {0, 3072}, {});
}

TEST(OpenDataset, NothingThereListsWhatWasLookedFor) {
  const TemporaryFolder folder;
  for (const char* part : {"expected a data set in", "cifar-10-batches-bin/test_batch.bin", "cifar-100-python.tar.gz",
                           "t10k-images-idx3-ubyte[.gz]", "--dataset synthetic"}) {
    expect_data_error(part, folder.path());
  }
  expect_data_error("expected a data set at /no/such/folder, found no such file or folder", "/no/such/folder");
  expect_data_error("found no such file or folder", folder.path() / "x", DatasetKind::kCifar10);
  folder.write("test_batch.bin", cifar10_binary(0));
  expect_data_error("found none of: train.bin", folder.path(), DatasetKind::kCifar100, Split::kTrain);
  expect_data_error("expected a folder with the MNIST family's files", folder.path() / "test_batch.bin",
                    DatasetKind::kMnist);
  expect_data_error("or a folder) at", folder.path() / "test_batch.bin");
}

TEST(OpenDataset, SeveralKindsNeedAChoice) {
  const TemporaryFolder folder;
  folder.write("cifar-10-batches-py/test_batch", cifar10_pickle(0, 10));
  folder.write("cifar-100-python/test", cifar100_pickle(0, 10));
  expect_data_error("choose with --dataset", folder.path());
  EXPECT_EQ(open_test(folder.path(), DatasetKind::kCifar100).name, "cifar100");
  EXPECT_EQ(open_test(folder.path(), DatasetKind::kCifar10).name, "cifar10");
}

TEST(OpenDataset, NamesOfKinds) {
  EXPECT_EQ(parse_dataset_kind("auto"), DatasetKind::kAuto);
  EXPECT_EQ(parse_dataset_kind("mnist"), DatasetKind::kMnist);
  expect_error(ErrorKind::kUsage, "found 'imagenet'", [] { parse_dataset_kind("imagenet"); });
}

TEST(CheckLabels, F8_NamesSampleValueAndClasses) {
  const std::vector<int64_t> samples{40, 41, 42};
  check_labels(std::vector<int64_t>{0, 9, 5}, 10, samples);
  expect_error(ErrorKind::kData, "for sample 42, found 10 with 10 classes", [&] {
    check_labels(std::vector<int64_t>{0, 9, 10}, 10, samples);
  });
  expect_error(ErrorKind::kData, "for sample 41, found -1 with 10 classes", [&] {
    check_labels(std::vector<int64_t>{0, -1, 10}, 10, samples);
  });
  expect_error(ErrorKind::kData, "for sample 101, found 10", [] {
    check_labels(std::vector<int64_t>{0, 10}, 10, int64_t{100});
  });
  const int64_t ignored = -1;
  check_labels(std::vector<int64_t>{0, -1, 5}, 10, samples, &ignored);
}

TEST(Synthetic, RepeatsForItsSeedAndHoldsEveryClass) {
  SyntheticOptions options;
  options.shape = {1, 9, 7};
  options.classes = 4;
  options.train_samples = 64;
  options.test_samples = 16;
  const Dataset a = open_dataset("synthetic", DatasetKind::kAuto, Split::kTrain, options);
  EXPECT_EQ(a.images, open_dataset("", DatasetKind::kSynthetic, Split::kTrain, options).images);
  EXPECT_EQ(a.count(), 64);
  EXPECT_EQ(a.class_count(), 4);
  EXPECT_EQ(std::count(a.labels.begin(), a.labels.end(), 3), 16);
  const Dataset test = open_dataset("synthetic", DatasetKind::kAuto, Split::kTest, options);
  EXPECT_EQ(test.count(), 16);
  EXPECT_FALSE(std::equal(test.images.begin(), test.images.end(), a.images.begin()));
  options.seed = 1;
  EXPECT_NE(a.images, open_dataset("synthetic", DatasetKind::kAuto, Split::kTrain, options).images);
}

// A sample lies nearest to the mean image of its own class nearly always: there is something to learn.
TEST(Synthetic, ClassesCanBeToldApart) {
  const Dataset train = open_dataset("synthetic:400,200", DatasetKind::kAuto, Split::kTrain);
  const Dataset test = open_dataset("synthetic:400,200", DatasetKind::kAuto, Split::kTest);
  const int64_t size = train.shape.count();
  std::vector<std::vector<double>> means(10, std::vector<double>(size));
  for (int64_t i = 0; i < train.count(); ++i) {
    for (int64_t k = 0; k < size; ++k) means[train.labels[i]][k] += train.image(i)[k] / 40.0;
  }
  int right = 0;
  for (int64_t i = 0; i < test.count(); ++i) {
    std::vector<double> distances(10);
    for (int64_t c = 0; c < 10; ++c) {
      for (int64_t k = 0; k < size; ++k) distances[c] += std::pow(test.image(i)[k] - means[c][k], 2);
    }
    right += std::min_element(distances.begin(), distances.end()) - distances.begin() == test.labels[i];
  }
  EXPECT_GE(right, 195);
}

TEST(Synthetic, RefusesNonsense) {
  SyntheticOptions options;
  options.classes = 0;
  expect_error(ErrorKind::kUsage, "0 classes",
               [&] { open_dataset("synthetic", DatasetKind::kAuto, Split::kTrain, options); });
  for (const char* path : {"synthetic:", "synthetic:5", "synthetic:5,", "synthetic:0,5", "synthetic:5,x"}) {
    expect_error(ErrorKind::kUsage, "synthetic:TRAIN,TEST with numbers of samples of at least 1",
                 [&] { open_dataset(path, DatasetKind::kAuto, Split::kTrain); });
  }
}

}  // namespace
}  // namespace onward::test
