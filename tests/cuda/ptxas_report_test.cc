// What NVIDIA's assembler reported on the project's own kernels when the plugin was built.
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/text_files.h"

namespace onward::test {
namespace {

namespace fs = std::filesystem;

// One kernel on one architecture.
struct Usage {
  std::string kernel, architecture;
  int spills = 0;  // bytes stored and loaded
  int registers = 0;
};

std::vector<Usage> usages(const std::string& report) {
  const std::regex entry("Compiling entry function '(\\S+)' for '(\\S+)'"),
      spill("(\\d+) bytes spill stores, (\\d+) bytes spill loads"), registers("Used (\\d+) registers");
  std::vector<Usage> found;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, entry)) {
      found.push_back({.kernel = match[1], .architecture = match[2]});
    } else if (!found.empty() && std::regex_search(line, match, spill)) {
      found.back().spills += std::stoi(match[1]) + std::stoi(match[2]);
    } else if (!found.empty() && std::regex_search(line, match, registers)) {
      found.back().registers = std::stoi(match[1]);
    }
  }
  return found;
}

class PtxasReport : public testing::Test {
 protected:
  void SetUp() override {
    const std::string absent = ONWARD_CUDA_ABSENT;
    if (!absent.empty()) GTEST_SKIP() << "the CUDA plugin was not built: " << absent;
    for (const auto& file : fs::recursive_directory_iterator(ONWARD_PTXAS_REPORTS)) {
      if (file.path().extension() == ".ptxas") reports_[file.path().filename()] = usages(read_text(file.path()));
    }
  }

  std::map<std::string, std::vector<Usage>> reports_;
};

TEST_F(PtxasReport, CoversEveryFileOnEveryArchitecture) {
  std::istringstream files(ONWARD_CUDA_FILES);
  for (std::string file; files >> file;) {
    std::set<std::string> architectures;
    for (const Usage& usage : reports_[file + ".o.ptxas"]) architectures.insert(usage.architecture);
    EXPECT_EQ(architectures, (std::set<std::string>{"sm_80", "sm_90", "sm_100"})) << file;
  }
}

TEST_F(PtxasReport, NoKernelSpillsRegisters) {
  std::size_t kernels = 0;
  for (const auto& [file, list] : reports_) {
    int most = 0;
    for (const Usage& usage : list) {
      EXPECT_EQ(usage.spills, 0) << file << ": " << usage.kernel << " on " << usage.architecture;
      most = std::max(most, usage.registers);
    }
    kernels += list.size();
    std::cout << file << ": " << list.size() << " kernels, at most " << most << " registers\n";
  }
  EXPECT_GT(kernels, 0u);
}

}  // namespace
}  // namespace onward::test
