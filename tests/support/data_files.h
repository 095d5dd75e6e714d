#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace onward::test {

// The published layouts of the data sets, written byte for byte.

// A gzip file and a ustar archive of `files` (name, bytes).
std::string gzip(const std::string& bytes);
std::string tar(const std::vector<std::pair<std::string, std::string>>& files);

// Test images: a byte for each (record, position) and a label for each record.
uint8_t test_pixel(int64_t record, int64_t position);
std::string test_image(int64_t record, int64_t bytes = 3072);

// A CIFAR-10 binary file: label, 1024 red, 1024 green, 1024 blue; records count from `first`, labels are record % 10.
std::string cifar10_binary(int64_t first, int64_t records = 10000);
// CIFAR-100: coarse label (fine / 5), fine label (record % 100), image.
std::string cifar100_binary(int64_t first, int64_t records);

// IDX files of the MNIST family.
std::string idx_images(int64_t records, int64_t height, int64_t width);
std::string idx_labels(const std::vector<uint8_t>& labels);

// Writes pickles as Python 2's cPickle did at protocol 2: every container and text gets a memo number from 1 on, lists
// come in batches of 1000.
class PickleWriter {
 public:
  void begin_dict();
  void end_dict();  // and the pickle
  void text(const std::string& value);
  void number(int64_t value);
  void numbers(const std::vector<int64_t>& values);
  void texts(const std::vector<std::string>& values);
  // numpy.ndarray of uint8, version 1 state.
  void array(const std::vector<int64_t>& shape, const std::string& data, bool column_major = false);
  const std::string& bytes() const { return bytes_; }

 private:
  void memoize();
  void global(const std::string& module, const std::string& name);
  void long_text(const std::string& value);
  template <typename Values, typename Write>
  void list(const Values& values, Write write);

  std::string bytes_;
  uint32_t memo_ = 0;
};

// data_batch_N of cifar-10-batches-py.
std::string cifar10_pickle(int64_t first, int64_t records, bool column_major = false);
// train or test of cifar-100-python, and its meta.
std::string cifar100_pickle(int64_t first, int64_t records);
std::string cifar100_meta();

}  // namespace onward::test
