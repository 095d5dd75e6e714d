#include "tests/support/data_files.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <stdexcept>

namespace onward::test {

namespace {

void append_little_endian(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

void append_big_endian(std::string& out, uint32_t value) {
  for (int i = 3; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

// One 512-byte ustar header.
std::string tar_header(const std::string& name, std::size_t size) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, "00000000000");
  put(148, "        ");
  put(156, "0");
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header;
}

std::vector<int64_t> range_modulo(int64_t first, int64_t count, int64_t modulus) {
  std::vector<int64_t> values;
  for (int64_t i = first; i < first + count; ++i) values.push_back(i % modulus);
  return values;
}

std::string pickled_images(int64_t first, int64_t records, bool column_major) {
  std::string rows;
  for (int64_t i = 0; i < records; ++i) rows += test_image(first + i);
  if (!column_major) return rows;
  std::string columns;
  for (int64_t j = 0; j < 3072; ++j) {
    for (int64_t i = 0; i < records; ++i) columns += rows[static_cast<std::size_t>(i * 3072 + j)];
  }
  return columns;
}

std::vector<std::string> file_names(int64_t first, int64_t records) {
  std::vector<std::string> names;
  for (int64_t i = first; i < first + records; ++i) names.push_back(fmt::format("image_s_{:06}.png", i));
  return names;
}

}  // namespace

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string tar(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out;
  for (const auto& [name, bytes] : files) {
    out += tar_header(name, bytes.size());
    out += bytes;
    out.resize((out.size() + 511) / 512 * 512, '\0');
  }
  return out + std::string(1024, '\0');
}

uint8_t test_pixel(int64_t record, int64_t position) {
  return static_cast<uint8_t>(record * 31 + position * 7 + position / 256 + record / 256);
}

std::string test_image(int64_t record, int64_t bytes) {
  std::string image(static_cast<std::size_t>(bytes), '\0');
  for (int64_t i = 0; i < bytes; ++i) image[static_cast<std::size_t>(i)] = static_cast<char>(test_pixel(record, i));
  return image;
}

std::string cifar10_binary(int64_t first, int64_t records) {
  std::string out;
  out.reserve(static_cast<std::size_t>(records * 3073));
  for (int64_t i = first; i < first + records; ++i) {
    out += static_cast<char>(i % 10);
    out += test_image(i);
  }
  return out;
}

std::string cifar100_binary(int64_t first, int64_t records) {
  std::string out;
  out.reserve(static_cast<std::size_t>(records * 3074));
  for (int64_t i = first; i < first + records; ++i) {
    out += static_cast<char>(i % 100 / 5);
    out += static_cast<char>(i % 100);
    out += test_image(i);
  }
  return out;
}

std::string idx_images(int64_t records, int64_t height, int64_t width) {
  std::string out;
  append_big_endian(out, 0x803);
  for (const int64_t d : {records, height, width}) append_big_endian(out, static_cast<uint32_t>(d));
  for (int64_t i = 0; i < records; ++i) out += test_image(i, height * width);
  return out;
}

std::string idx_labels(const std::vector<uint8_t>& labels) {
  std::string out;
  append_big_endian(out, 0x801);
  append_big_endian(out, static_cast<uint32_t>(labels.size()));
  return out + std::string(labels.begin(), labels.end());
}

void PickleWriter::begin_dict() {
  bytes_ += "\x80\x02}";
  memoize();
  bytes_ += '(';
}

void PickleWriter::end_dict() { bytes_ += "u."; }

void PickleWriter::memoize() {
  ++memo_;
  if (memo_ < 256) {
    bytes_ += 'q';
    append_little_endian(bytes_, memo_, 1);
  } else {
    bytes_ += 'r';
    append_little_endian(bytes_, memo_, 4);
  }
}

void PickleWriter::text(const std::string& value) {
  if (value.size() > 255) return long_text(value);
  bytes_ += 'U';
  append_little_endian(bytes_, value.size(), 1);
  bytes_ += value;
  memoize();
}

void PickleWriter::long_text(const std::string& value) {
  bytes_ += 'T';
  append_little_endian(bytes_, value.size(), 4);
  bytes_ += value;
  memoize();
}

void PickleWriter::number(int64_t value) {
  const int bytes = value < 0 || value > 0xffff ? 4 : value > 0xff ? 2 : 1;
  bytes_ += bytes == 4 ? 'J' : bytes == 2 ? 'M' : 'K';
  append_little_endian(bytes_, static_cast<uint64_t>(value), bytes);
}

template <typename Values, typename Write>
void PickleWriter::list(const Values& values, Write write) {
  constexpr std::size_t kBatch = 1000;
  bytes_ += ']';
  memoize();
  for (std::size_t first = 0; first < values.size(); first += kBatch) {
    const std::size_t last = std::min(values.size(), first + kBatch);
    if (last - first > 1) bytes_ += '(';
    for (std::size_t i = first; i < last; ++i) write(values[i]);
    bytes_ += last - first > 1 ? 'e' : 'a';
  }
}

void PickleWriter::numbers(const std::vector<int64_t>& values) {
  list(values, [&](int64_t value) { number(value); });
}

void PickleWriter::texts(const std::vector<std::string>& values) {
  list(values, [&](const std::string& value) { text(value); });
}

void PickleWriter::global(const std::string& module, const std::string& name) {
  bytes_ += 'c' + module + '\n' + name + '\n';
  memoize();
}

void PickleWriter::array(const std::vector<int64_t>& shape, const std::string& data, bool column_major) {
  global("numpy.core.multiarray", "_reconstruct");
  global("numpy", "ndarray");
  number(0);
  bytes_ += '\x85';
  memoize();
  text("b");
  bytes_ += '\x87';
  memoize();
  bytes_ += 'R';
  memoize();
  bytes_ += '(';
  number(1);
  for (const int64_t d : shape) number(d);
  bytes_ += static_cast<char>(0x84 + shape.size());
  memoize();
  global("numpy", "dtype");
  text("u1");
  number(0);
  number(1);
  bytes_ += '\x87';
  memoize();
  bytes_ += 'R';
  memoize();
  bytes_ += '(';
  number(3);
  text("|");
  bytes_ += "NNN";
  number(-1);
  number(-1);
  number(0);
  bytes_ += 't';
  memoize();
  bytes_ += 'b';
  bytes_ += column_major ? '\x88' : '\x89';
  text(data);
  bytes_ += 't';
  memoize();
  bytes_ += 'b';
}

std::string cifar10_pickle(int64_t first, int64_t records, bool column_major) {
  PickleWriter pickle;
  pickle.begin_dict();
  pickle.text("batch_label");
  pickle.text("training batch 1 of 5");
  pickle.text("labels");
  pickle.numbers(range_modulo(first, records, 10));
  pickle.text("data");
  pickle.array({records, 3072}, pickled_images(first, records, column_major), column_major);
  pickle.text("filenames");
  pickle.texts(file_names(first, records));
  pickle.end_dict();
  return pickle.bytes();
}

std::string cifar100_pickle(int64_t first, int64_t records) {
  PickleWriter pickle;
  std::vector<int64_t> coarse = range_modulo(first, records, 100);
  for (int64_t& label : coarse) label /= 5;
  pickle.begin_dict();
  pickle.text("filenames");
  pickle.texts(file_names(first, records));
  pickle.text("batch_label");
  pickle.text("training batch 1 of 1");
  pickle.text("fine_labels");
  pickle.numbers(range_modulo(first, records, 100));
  pickle.text("coarse_labels");
  pickle.numbers(coarse);
  pickle.text("data");
  pickle.array({records, 3072}, pickled_images(first, records, false));
  pickle.end_dict();
  return pickle.bytes();
}

std::string cifar100_meta() {
  PickleWriter pickle;
  std::vector<std::string> fine, coarse;
  for (int i = 0; i < 100; ++i) fine.push_back(fmt::format("fine{}", i));
  for (int i = 0; i < 20; ++i) coarse.push_back(fmt::format("coarse{}", i));
  pickle.begin_dict();
  pickle.text("fine_label_names");
  pickle.texts(fine);
  pickle.text("coarse_label_names");
  pickle.texts(coarse);
  pickle.end_dict();
  return pickle.bytes();
}

}  // namespace onward::test
