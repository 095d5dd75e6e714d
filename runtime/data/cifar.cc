#include "runtime/data/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "graph/error.h"
#include "runtime/data/pickle.h"

namespace onward {

namespace {

constexpr ImageShape kShape{3, 32, 32};
constexpr int64_t kPixels = 3 * 32 * 32;
constexpr int64_t kCoarseClasses = 20;

int64_t class_count(const CifarForm& form) { return form.kind == DatasetKind::kCifar10 ? 10 : 100; }

// Records in each file of a split.
int64_t records_per_file(const CifarForm& form, Split split) {
  return form.kind == DatasetKind::kCifar100 && split == Split::kTrain ? 50000 : 10000;
}

void check_label(int64_t label, int64_t classes, const std::string& where, int64_t record, const char* what) {
  if (label >= 0 && label < classes) return;
  throw Error(
      ErrorKind::kData,
      fmt::format("expected a {} in 0..{} in record {} of {}, found {}; the file is damaged or of another data set",
                  what, classes - 1, record, where, label));
}

// A record: one label byte (CIFAR-10) or a coarse and a fine one (CIFAR-100), then 1024 bytes each of red, green, blue.
void read_binary(const std::vector<uint8_t>& bytes, const std::string& where, const CifarForm& form, int64_t records,
                 Dataset& out) {
  const bool coarse = form.kind == DatasetKind::kCifar100;
  const int64_t record_bytes = kPixels + (coarse ? 2 : 1);
  if (static_cast<int64_t>(bytes.size()) != records * record_bytes) {
    throw Error(ErrorKind::kData,
                fmt::format("expected {} bytes ({} records of {}) in {}, found {}; fetch the file again",
                            records * record_bytes, records, record_bytes, where, bytes.size()));
  }
  for (int64_t i = 0; i < records; ++i) {
    const uint8_t* record = bytes.data() + i * record_bytes;
    if (coarse) check_label(*record++, kCoarseClasses, where, i, "coarse label");
    check_label(*record, class_count(form), where, i, "label");
    out.labels.push_back(*record++);
    out.images.insert(out.images.end(), record, record + kPixels);
  }
}

void append_rows(const PickleObject& matrix, int64_t rows, std::vector<uint8_t>& out) {
  const auto* data = reinterpret_cast<const uint8_t*>(matrix.data.data());
  if (!matrix.column_major) {
    out.insert(out.end(), data, data + rows * kPixels);
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < kPixels; ++column) out.push_back(data[column * rows + row]);
  }
}

// A dictionary with "data", one row of 3072 bytes an image, and "labels" or "fine_labels".
void read_pickled(const std::vector<uint8_t>& bytes, const std::string& where, const CifarForm& form, Dataset& out) {
  const PickleReader pickle(bytes, where);
  const PickleObject& data = pickle.matrix("data");
  const std::vector<int64_t> labels = pickle.integers(form.kind == DatasetKind::kCifar10 ? "labels" : "fine_labels");
  const auto records = static_cast<int64_t>(labels.size());
  if (records == 0 || data.shape[0] != records || data.shape[1] != kPixels) {
    throw Error(
        ErrorKind::kData,
        fmt::format("expected as many rows of {} bytes as labels ({}, at least one) in {}, found an array of {}x{}",
                    kPixels, records, where, data.shape[0], data.shape[1]));
  }
  for (int64_t i = 0; i < records; ++i)
    check_label(labels[static_cast<std::size_t>(i)], class_count(form), where, i, "label");
  out.labels.insert(out.labels.end(), labels.begin(), labels.end());
  append_rows(data, records, out.images);
}

std::vector<std::string> lines(const std::vector<uint8_t>& bytes) {
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  std::vector<std::string> found;
  for (std::string line; std::getline(text, line);) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) found.push_back(line);
  }
  return found;
}

std::vector<std::string> read_classes(FileSet& files, const CifarForm& form) {
  if (form.kind == DatasetKind::kCifar10) {
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  }
  std::vector<std::string> names;
  if (files.contains(form.meta)) {
    const std::vector<uint8_t> bytes = files.take(form.meta);
    const std::string where = files.where(form.meta);
    names = form.pickled ? PickleReader(bytes, where).texts("fine_label_names") : lines(bytes);
    if (static_cast<int64_t>(names.size()) != class_count(form)) {
      throw Error(ErrorKind::kData,
                  fmt::format("expected {} class names in {}, found {}", class_count(form), where, names.size()));
    }
  } else {
    for (int64_t i = 0; i < class_count(form); ++i) names.push_back(fmt::format("class {}", i));
  }
  return names;
}

}  // namespace

std::vector<std::string> CifarForm::wanted(Split split) const {
  std::vector<std::string> names = files(split);
  if (!meta.empty()) names.push_back(meta);
  return names;
}

const std::vector<CifarForm>& cifar_forms() {
  static const std::vector<CifarForm> forms{
      {DatasetKind::kCifar10,
       false,
       "cifar-10-batches-bin",
       "cifar-10-binary.tar.gz",
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
       {"test_batch.bin"},
       ""},
      {DatasetKind::kCifar10,
       true,
       "cifar-10-batches-py",
       "cifar-10-python.tar.gz",
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
       {"test_batch"},
       ""},
      {DatasetKind::kCifar100,
       false,
       "cifar-100-binary",
       "cifar-100-binary.tar.gz",
       {"train.bin"},
       {"test.bin"},
       "fine_label_names.txt"},
      {DatasetKind::kCifar100, true, "cifar-100-python", "cifar-100-python.tar.gz", {"train"}, {"test"}, "meta"},
  };
  return forms;
}

Dataset read_cifar(FileSet& files, const CifarForm& form, Split split) {
  Dataset out;
  out.name = form.kind == DatasetKind::kCifar10 ? "cifar10" : "cifar100";
  out.source = files.path().string();
  out.split = split;
  out.shape = kShape;
  out.classes = read_classes(files, form);
  const std::vector<std::string>& names = form.files(split);
  const int64_t records = records_per_file(form, split);
  out.images.reserve(names.size() * static_cast<std::size_t>(records * kPixels));
  for (const std::string& name : names) {
    const std::vector<uint8_t> bytes = files.take(name);
    if (form.pickled) {
      read_pickled(bytes, files.where(name), form, out);
    } else {
      read_binary(bytes, files.where(name), form, records, out);
    }
  }
  return out;
}

}  // namespace onward
