#include "runtime/data/pickle.h"

#include "graph/error.h"
#include "graph/random.h"
#include "tests/support/data_files.h"
#include "tests/support/expect_error.h"

namespace onward::test {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void expect_refused(const std::string& part, const std::string& pickle) {
  expect_error(ErrorKind::kData, part, [&] { PickleReader(bytes_of(pickle), "some file"); });
}

// A copy of exact size on the heap, so that the address sanitizer sees any byte read outside it.
void read_exact(const std::string& pickle) {
  const std::vector<uint8_t> copy(pickle.begin(), pickle.end());
  PickleReader reader(copy, "some file");
  if (reader.contains("data")) reader.matrix("data");
  if (reader.contains("labels")) reader.integers("labels");
  if (reader.contains("filenames")) reader.texts("filenames");
}

TEST(Pickle, ReadsWhatCifarHolds) {
  const std::string bytes = cifar10_pickle(5, 300);
  const PickleReader pickle(bytes_of(bytes), "some file");
  EXPECT_EQ(pickle.integers("labels").size(), 300u);
  EXPECT_EQ(pickle.integers("labels")[7], 2);
  EXPECT_EQ(pickle.texts("filenames")[299], "image_s_000304.png");
  const PickleObject& data = pickle.matrix("data");
  EXPECT_EQ(data.shape, (std::vector<int64_t>{300, 3072}));
  EXPECT_EQ(data.data.substr(299 * 3072), test_image(304));
  EXPECT_FALSE(data.column_major);
  EXPECT_FALSE(pickle.contains("nothing"));
  expect_error(ErrorKind::kData, "expected 'nothing' in some file", [&] { pickle.integers("nothing"); });
  expect_error(ErrorKind::kData, "expected a list of integers as 'filenames'", [&] { pickle.integers("filenames"); });
  expect_error(ErrorKind::kData, "expected a list of text as 'labels'", [&] { pickle.texts("labels"); });
  expect_error(ErrorKind::kData, "expected a uint8 array of two dimensions as 'labels'",
               [&] { pickle.matrix("labels"); });
}

TEST(Pickle, EveryTruncationIsRefused) {
  const std::string whole = cifar10_pickle(0, 3);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);
    expect_error(ErrorKind::kData, "some file", [&] { read_exact(part); });
  }
}

TEST(Pickle, ChangedBytesNeverDoMoreThanAnError) {
  PickleWriter writer;
  writer.begin_dict();
  writer.text("labels");
  writer.numbers({1, 2, 300});
  writer.text("data");
  writer.array({3, 4}, std::string(12, 'x'));
  writer.text("filenames");
  writer.texts({"a", "b"});
  writer.end_dict();
  const RandomStream random(1, RandomPurpose::kSyntheticData);
  int refused = 0;
  const auto attempt = [&](const std::string& bytes) {
    try {
      read_exact(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      ++refused;
    }
  };
  for (std::size_t at = 0; at < writer.bytes().size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = writer.bytes();
      bytes[at] = static_cast<char>(value);
      attempt(bytes);
    }
  }
  for (uint64_t i = 0; i < 20000; ++i) {  // several changes at once, from the opcodes in use
    static const std::string kOpcodes = "(})]Nqrhja s u t c R b . K M J U T X \x80\x85\x86\x87\x88\x89";
    std::string bytes = writer.bytes();
    for (uint64_t k = 0; k < 4; ++k) {
      bytes[random.below(i, 2 * k, bytes.size())] = kOpcodes[random.below(i, 2 * k + 1, kOpcodes.size())];
    }
    attempt(bytes);
  }
  EXPECT_GT(refused, 1000);
}

TEST(Pickle, GlobalsOutsideTheListAreNotRun) {
  expect_refused("the global os.system, which those files do not use; it is not run",
                 "\x80\x02}q\x01(U\x01"
                 "acos\nsystem\n(U\x02lstRu.");
  expect_refused("the global _codecs.encode",
                 "\x80\x02}(U\x01"
                 "ac_codecs\nencode\n");
  expect_refused("the global numpy.core.multiarray.frombuffer",
                 "\x80\x02"
                 "cnumpy.core.multiarray\nfrombuffer\n");
  expect_refused("the global numpy.ndarrayx",
                 "\x80\x02"
                 "cnumpy\nndarrayx\n");
  expect_refused("the global numpy n",
                 "\x80\x02"
                 "cnumpy n\ndarray\n");
}

TEST(Pickle, OpcodesOutsideTheListAreRefused) {
  const std::string used = "}](NKMJUTXqrhjaesutcRb.\x80\x85\x86\x87\x88\x89";
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (used.find(static_cast<char>(opcode)) != std::string::npos) continue;
    expect_refused("opcode 0x", "\x80\x02" + std::string(1, static_cast<char>(opcode)) + std::string(20, '\0'));
  }
  expect_refused("protocol 4", std::string("\x80\x04}."));
}

TEST(Pickle, MisusedOpcodes) {
  const std::string start = "\x80\x02";
  expect_refused("an opcode without its operand", start + "a");
  expect_refused("an opcode without its operand", start + "]q\x01(a");  // the list lies below the mark
  expect_refused("an opcode without its mark", start + "]e");
  expect_refused("no list where one is filled", start +
                                                    "}K\x01"
                                                    "a");
  expect_refused("no dictionary where one is filled", start + "]K\x01K\x01s");
  expect_refused("a dictionary key that is not text", start + "}K\x01K\x01s");
  expect_refused("a dictionary key without its value", start +
                                                           "}(U\x01"
                                                           "au.");
  expect_refused("a reference to entry 9", start + "h\x09");
  expect_refused("a call of something that cannot be called", start + "K\x01K\x01\x85R");
  expect_refused("call arguments that are not a tuple", start + "cnumpy\ndtype\nK\x01R");
  expect_refused("elements are not uint8", start +
                                               "cnumpy\ndtype\nU\x02"
                                               "f8\x85R");
  expect_refused("another class than numpy.ndarray", start + "cnumpy.core.multiarray\n_reconstruct\nK\x01\x85R");
  expect_refused("a state for something that has none", start +
                                                            "]K\x01\x85"
                                                            "b");
  expect_refused("something else than a dictionary", start + "].");
  expect_refused("values left over", start + "}}.");
  expect_refused("an opcode without its operand", start + "}(.");
}

TEST(Pickle, ArraysThatLieAboutTheirSize) {
  const auto with_shape = [](std::vector<int64_t> shape, std::size_t bytes) {
    PickleWriter writer;
    writer.begin_dict();
    writer.text("data");
    writer.array(shape, std::string(bytes, 'x'));
    writer.end_dict();
    return writer.bytes();
  };
  expect_refused("an array of 12 elements with 11 bytes", with_shape({3, 4}, 11));
  expect_refused("an array dimension that is not a number", with_shape({-3, -4}, 12));
  expect_refused("an array too large", with_shape({0x7fffffff, 0x7fffffff, 0x7fffffff}, 12));
}

TEST(Pickle, HostileSizesAreBounded) {
  expect_refused("more than 1000000 values", "\x80\x02" + std::string(1100000, ']'));
  expect_refused("more than 1000000 values", "\x80\x02" + std::string(1100000, '('));
  std::string recalls = "\x80\x02]q\x01";
  for (int i = 0; i < 1100000; ++i) recalls += "h\x01";
  expect_refused("more than 1000000 values", recalls);
  read_exact(
      "\x80\x02}q\x01U\x01"
      "ah\x01s.");  // a dictionary that holds itself
}

}  // namespace
}  // namespace onward::test
