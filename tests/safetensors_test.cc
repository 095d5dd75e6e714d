#include "runtime/safetensors.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graph/atomic_file.h"
#include "graph/error.h"

namespace onward {
namespace {

using testing::HasSubstr;

std::string path_of(const std::string& name) { return testing::TempDir() + name; }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void put(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

Safetensors example() {
  Safetensors file;
  file.tensors = {{"fc.weight", HostTensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                  {"step", HostTensor::scalar<int64_t>(7)},
                  {"empty", HostTensor(DType::kFloat64, {0, 4})}};
  file.metadata = {{"epoch", "3"}, {"note", "a \"quoted\" line\n"}};
  return file;
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const std::string path = path_of("round.safetensors");
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
  const std::string path = path_of("whole.safetensors"), bad = path_of("bad.safetensors");
  save_safetensors(path, example());
  const std::string whole = content_of(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(bad, whole.substr(0, size));
    EXPECT_THROW(load_safetensors(bad, true), Error) << "cut to " << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    put(bad, changed);
    EXPECT_THROW(load_safetensors(bad, true), Error) << "changed at " << at;
  }
  put(bad, whole + "x");
  EXPECT_THROW(load_safetensors(bad), Error);
}

TEST(Safetensors, MissingFileIsADataError) {
  try {
    load_safetensors(path_of("none.safetensors"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_THAT(error.what(), HasSubstr("none.safetensors"));
  }
}

TEST(AtomicFile, AFailedWriteLeavesTheOldContentAndNoOtherFile) {
  const std::string folder = path_of("atomic");
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/file";
  write_atomically(path, std::string("old"));
  const auto failing = [](FileWriter& writer) {
    writer.write("new", 3);
    throw Error(ErrorKind::kRun, "stopped");
  };
  EXPECT_THROW(write_atomically(path, failing), Error);
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(AtomicFile, ReportsAFullDisk) {
  const std::string path = path_of("limited");
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
  EXPECT_EQ(content_of(path), "old");
}

TEST(AtomicFile, NamesTheFolderThatDoesNotExist) {
  try {
    write_atomically(path_of("no/such/folder/file"), std::string("x"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no/such/folder"));
  }
}

}  // namespace
}  // namespace onward
