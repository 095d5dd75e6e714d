// onward check: runs ONNX's test folders, an oracle that is independent of this program.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "tools/command.h"
#include "tools/onnx_test_case.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> options_of_check() {
  return {{"Comparison", "rtol", "X", "1e-3", "allowed difference, as a share of the expected number"},
          {"Comparison", "atol", "X", "1e-7", "allowed difference that is added to it"},
          {"Devices", "threads", "N", "1", "compute threads"}};
}

// Messages of several lines are shown on one.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

int run(const Options& options) {
  const Tolerance tolerance{options.number("rtol", 0), options.number("atol", 0)};
  const int threads = static_cast<int>(options.integer("threads", 1, 4096));
  std::map<TestStatus, int> counts;
  for (const std::string& argument : options.positional()) {
    for (const std::string& folder : find_test_cases(argument)) {
      const TestResult result = run_test_case(folder, tolerance, threads);
      ++counts[result.status];
      if (result.status == TestStatus::kFailed) fmt::print("FAILED {}: {}\n", folder, one_line(result.detail));
      if (result.status == TestStatus::kSkipped) {
        fmt::print("skipped {}: {}: {}\n", folder, skip_name(result.skip), one_line(result.detail));
      }
    }
  }
  fmt::print("{} passed, {} failed, {} skipped\n", counts[TestStatus::kPassed], counts[TestStatus::kFailed],
             counts[TestStatus::kSkipped]);
  return counts[TestStatus::kFailed] ? static_cast<int>(ErrorKind::kRun) : 0;
}

}  // namespace

Command check_command() {
  return {{.name = "check",
           .summary = "run ONNX test folders and compare",
           .positional = "DIR...",
           .min_positional = 1,
           .options = options_of_check()},
          run};
}

}  // namespace onward::cli
