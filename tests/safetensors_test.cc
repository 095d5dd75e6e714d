#include "runtime/safetensors.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "graph/atomic_file.h"
#include "graph/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace onward::test {
namespace {

using testing::HasSubstr;

Safetensors example() {
  Safetensors file;
  file.tensors = {{"fc.weight", HostTensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                  {"step", HostTensor::scalar<int64_t>(7)},
                  {"empty", HostTensor(DType::kFloat64, {0, 4})}};
  file.metadata = {{"epoch", "3"}, {"note", "a \"quoted\" line\n"}};
  return file;
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("round.safetensors");
  save_safetensors(path, example());
  const Safetensors read = load_safetensors(path);
  ASSERT_EQ(read.tensors.size(), 3u);
  EXPECT_EQ(read.tensors[0].first, "fc.weight");
  EXPECT_EQ(read.find("fc.weight")->shape(), (Shape{2, 3}));
  EXPECT_EQ(read.find("fc.weight")->values<float>()[5], 6);
  EXPECT_EQ(read.find("step")->values<int64_t>()[0], 7);
  EXPECT_EQ(read.find("empty")->shape(), (Shape{0, 4}));
  EXPECT_EQ(read.metadata, example().metadata);
}

TEST(Safetensors, D2_EveryTruncationAndEveryChangedByteIsRefused) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("whole.safetensors"), bad = temporary.file("bad.safetensors");
  save_safetensors(path, example());
  const std::string whole = read_text(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(bad, whole.substr(0, size));
    EXPECT_THROW(load_safetensors(bad, true), Error) << "cut to " << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    write_text(bad, changed);
    EXPECT_THROW(load_safetensors(bad, true), Error) << "changed at " << at;
  }
  write_text(bad, whole + "x");
  EXPECT_THROW(load_safetensors(bad), Error);
}

TEST(Safetensors, MissingFileIsADataError) {
  const TemporaryFolder temporary;
  try {
    load_safetensors(temporary.file("none.safetensors"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_THAT(error.what(), HasSubstr("none.safetensors"));
  }
}

TEST(AtomicFile, AFailedWriteLeavesTheOldContentAndNoOtherFile) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("file");
  write_atomically(path, std::string("old"));
  const auto failing = [](FileWriter& writer) {
    writer.write("new", 3);
    throw Error(ErrorKind::kRun, "stopped");
  };
  EXPECT_THROW(write_atomically(path, failing), Error);
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temporary.path()), {}), 1);
}

TEST(AtomicFile, ReportsAFullDisk) {
  const TemporaryFolder temporary;
  const std::string path = temporary.file("limited");
  write_atomically(path, std::string("old"));
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small = limit;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_atomically(path, std::string(10000, 'x')), Error);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(read_text(path), "old");
}

TEST(AtomicFile, NamesTheFolderThatDoesNotExist) {
  const TemporaryFolder temporary;
  try {
    write_atomically(temporary.file("no/such/folder/file"), std::string("x"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no/such/folder"));
  }
}

}  // namespace
}  // namespace onward::test
