#include "graph/tensor_file.h"

#include "graph/error.h"
#include "graph/file_io.h"
#include "tests/support/expect_error.h"
#include "tests/support/onnx_text.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using testing::ElementsAre;

std::string npy(const std::string& type, bool fortran, const std::string& shape, const std::string& data,
                int version = 1) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), 0, static_cast<char>(header.size()), 0};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

HostTensor read(const std::string& bytes) { return tensor_from_npy(bytes, "t.npy"); }

// What numpy.save writes for np.arange(6, dtype=np.float32).reshape(2, 3), but for the data.
const std::string kNumpyHeader = std::string("\x93NUMPY\x01\0\x76\0", 10) +
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + std::string(58, ' ') +
                                 "\n";

TEST(Npy, WritesWhatNumpyWrites) {
  const HostTensor tensor = HostTensor::from<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  const std::string bytes = tensor_to_npy(tensor);
  EXPECT_EQ(bytes.substr(0, 128), kNumpyHeader);
  EXPECT_EQ(bytes.size(), 128u + 24);
  EXPECT_EQ(read(bytes).type(), tensor.type());
  EXPECT_EQ(read(bytes).to_double(), tensor.to_double());
}

TEST(Npy, RoundTripsEveryType) {
  const HostTensor values = HostTensor::from<float>({3}, {0, 1, 100});
  for (const DType dtype :
       {DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
        DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64, DType::kBool}) {
    const HostTensor tensor = values.cast(dtype);
    const HostTensor again = read(tensor_to_npy(tensor));
    EXPECT_EQ(again.dtype(), dtype);
    EXPECT_EQ(again.to_double(), tensor.to_double());
  }
  EXPECT_EQ(read(tensor_to_npy(values.cast(DType::kBFloat16))).dtype(), DType::kFloat32);
}

TEST(Npy, RoundTripsScalarsAndEmptyTensors) {
  EXPECT_EQ(read(tensor_to_npy(HostTensor::scalar<double>(2.5))).to_double()[0], 2.5);
  EXPECT_EQ(read(tensor_to_npy(HostTensor::scalar<double>(2.5))).shape(), Shape{});
  EXPECT_EQ(read(tensor_to_npy(HostTensor(DType::kFloat32, {0, 3}))).shape(), (Shape{0, 3}));
}

TEST(Npy, HeadersOfAllLengthsEndOnSixtyFourBytes) {
  for (int64_t digits = 1; digits < 2'000'000'000; digits *= 10) {
    const std::string bytes = tensor_to_npy(HostTensor(DType::kInt8, {0, digits, digits}));
    EXPECT_EQ(bytes.size() % 64, 0u);
    EXPECT_EQ(read(bytes).shape(), (Shape{0, digits, digits}));
  }
}

TEST(Npy, ReadsFortranOrder) {
  const std::string data = {1, 4, 2, 5, 3, 6};
  EXPECT_THAT(read(npy("|i1", true, "(2, 3)", data)).to_int64(), ElementsAre(1, 2, 3, 4, 5, 6));
  const std::string cube = {0, 4, 2, 6, 1, 5, 3, 7};
  EXPECT_THAT(read(npy("|u1", true, "(2, 2, 2)", cube)).to_int64(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(read(npy("|u1", true, "(2, 0)", "")).count(), 0);
}

TEST(Npy, ReadsBigEndian) {
  EXPECT_THAT(read(npy(">i2", false, "(2,)", std::string("\x01\x02\xff\xfe", 4))).to_int64(), ElementsAre(258, -2));
  EXPECT_THAT(read(npy(">f8", false, "()", std::string("\x3f\xf8\0\0\0\0\0\0", 8))).to_double(), ElementsAre(1.5));
}

TEST(Npy, ReadsLaterVersions) {
  EXPECT_THAT(read(npy("|u1", false, "(1,)", "\x07", 2)).to_int64(), ElementsAre(7));
  EXPECT_THAT(read(npy("|u1", false, "(1,)", "\x07", 3)).to_int64(), ElementsAre(7));
}

TEST(Npy, RejectsWhatItCannotRead) {
  const auto reject = [](const std::string& bytes, const std::string& part) {
    expect_error(ErrorKind::kData, part, [&] { read(bytes); });
    expect_error(ErrorKind::kData, "'t.npy'", [&] { read(bytes); });
  };
  reject("", "expected an .npy file, found something else");
  reject("PK\x03\x04 a zip archive", "found something else");
  reject(npy("|u1", false, "(1,)", "\x07", 4), "expected version 1, 2 or 3 of the .npy format, found 4");
  reject(npy("|O", false, "(1,)", "\x07"), "found elements of type '|O'");
  reject(npy("<c8", false, "(1,)", "01234567"), "found elements of type '<c8'");
  reject(npy("<f4", false, "(2, 3)", "0123"), "expected 24 bytes of data for float32 of shape 2x3, found 4");
  reject(npy("<f4", false, "(1,)", "01234"), "expected 4 bytes of data");
  reject(npy("<f4", false, "(-1,)", ""), "expected a shape");
  reject(npy("<f4", false, "(9000000000, 9000000000)", ""), "does not fit in memory");
  reject(kNumpyHeader.substr(0, 60), "expected an .npy header of 118 bytes, found 50");
}

TEST(Npy, EveryTruncationIsAnError) {
  const std::string bytes = tensor_to_npy(HostTensor::from<float>({2}, {1, 2}));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    expect_error(ErrorKind::kData, "expected", [&] { read(bytes.substr(0, length)); });
  }
}

TEST(Npy, EveryDamagedHeaderByteIsAnErrorOrATensor) {
  const std::string bytes = tensor_to_npy(HostTensor::from<float>({2}, {1, 2}));
  for (std::size_t position = 0; position < 128; ++position) {
    for (int value = 0; value < 256; ++value) {
      std::string damaged = bytes;
      damaged[position] = static_cast<char>(value);
      try {
        EXPECT_EQ(read(damaged).bytes(), 8u);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kData);
      }
    }
  }
}

TEST(TensorFile, ReadsAndWritesBothKinds) {
  const TemporaryFolder folder;
  const HostTensor tensor = HostTensor::from<int64_t>({2, 2}, {1, -2, 3, 1L << 40});
  for (const char* name : {"t.npy", "t.pb"}) {
    write_tensor_file(folder.file(name), tensor);
    EXPECT_EQ(read_tensor_file(folder.file(name)).type(), tensor.type());
    EXPECT_EQ(read_tensor_file(folder.file(name)).to_int64(), tensor.to_int64());
  }
}

TEST(TensorFile, ReadsTypedTensorProtos) {
  EXPECT_THAT(tensor_from_pb(tensor_bytes("data_type: 16 dims: 2 int32_data: [16256, 49152]"), "t.pb").to_double(),
              ElementsAre(1, -2));
}

TEST(TensorFile, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  expect_error(ErrorKind::kData, "found none at", [&] { read_tensor_file(folder.file("none.npy")); });
  expect_error(ErrorKind::kData, "ending in .npy or .pb", [&] { read_tensor_file(folder.file("t.txt")); });
  expect_error(ErrorKind::kData, "ending in .npy or .pb",
               [&] { write_tensor_file(folder.file("t"), HostTensor::scalar<float>(1)); });
  expect_error(ErrorKind::kData, "expected a TensorProto", [&] { read_tensor_file(folder.write("a.pb", "")); });
  expect_error(ErrorKind::kData, "expected a TensorProto",
               [&] { read_tensor_file(folder.write("b.pb", "no message")); });
  const std::string strings = folder.write("c.pb", tensor_bytes("data_type: 8 dims: 1 string_data: 'a'"));
  expect_error(ErrorKind::kData, "expected numbers in a tensor, found elements of string; in '" + strings,
               [&] { read_tensor_file(strings); });
  const std::string small = folder.write("d.pb", tensor_bytes("data_type: 1 dims: 2 float_data: 1"));
  expect_error(ErrorKind::kData, "expected 8 bytes for a tensor", [&] { read_tensor_file(small); });
  expect_error(ErrorKind::kRun, "cannot write",
               [&] { write_tensor_file(folder.file("no/folder.npy"), HostTensor::scalar<float>(1)); });
}

}  // namespace
}  // namespace onward::test
