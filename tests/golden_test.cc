// The text of a small residual network after each pass, as a whole: whoever changes a pass sees what it changes. To
// accept new text, run the test with ONWARD_UPDATE_GOLDEN=1 and read the difference before committing it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graph/print.h"
#include "models/residual_blocks.h"
#include "passes/model_program.h"
#include "tests/support/paths.h"
#include "tests/support/text_files.h"

namespace onward::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(source_dir()) / "tests" / "golden";

// The first line in which the two differ, with its number.
std::string first_difference(const std::string& expected, const std::string& found) {
  std::istringstream a(expected), b(found);
  std::string left, right;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(a, left)),
               more_right = static_cast<bool>(std::getline(b, right));
    if (!more_left && !more_right) return "";
    if (!more_left || !more_right || left != right) {
      return "line " + std::to_string(line) + "\n  expected: " + (more_left ? left : "nothing") +
             "\n  found:    " + (more_right ? right : "nothing");
    }
  }
}

// Compares the text after every pass with the file of the pass's name; a pass that runs again has a number.
class GoldenFiles {
 public:
  explicit GoldenFiles(const std::string& program) : folder_(kFolder / program) {}

  RunnerHooks hooks() {
    return {.after = [this](const std::string& pass, const Graph& graph) { check(pass, print(graph)); }};
  }

  // Every file belongs to a pass that ran.
  void finish() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      EXPECT_TRUE(seen_.contains(entry.path().filename().string())) << entry.path() << " belongs to no pass";
    }
  }

 private:
  void check(const std::string& pass, const std::string& text) {
    const int run = ++runs_[pass];
    const std::string name = (run == 1 ? pass : pass + "-" + std::to_string(run)) + ".txt";
    seen_.insert(name);
    if (std::getenv("ONWARD_UPDATE_GOLDEN")) {
      fs::create_directories(folder_);
      std::ofstream(folder_ / name) << text;
      return;
    }
    const std::string difference = first_difference(read_text(folder_ / name), text);
    EXPECT_EQ(difference, "") << "after the pass '" << pass << "': " << folder_ / name;
  }

  fs::path folder_;
  std::map<std::string, int> runs_;
  std::set<std::string> seen_;
};

// Two residual blocks, the second with a projection.
Graph two_blocks() {
  Network net("two blocks", "", {3, 8, 8}, 1);
  Value* x =
      &net.relu("relu", net.batch_norm("bn1", net.conv("conv1", net.input(), {.channels = 4, .kernel = 3, .pad = 1})));
  x = &basic_block(net, "layer1.0", *x, {.channels = 4});
  x = &basic_block(net, "layer2.0", *x, {.channels = 8, .stride = 2});
  x = &net.flatten("flatten", net.global_average_pool("avgpool", *x));
  return net.finish(net.linear("fc", *x, 5));
}

TEST(Golden, TrainingOnTwoReplicas) {
  GoldenFiles files("training");
  ModelProgram program(
      two_blocks(), {.replicas = 2, .optimizer = OptimizerKind::kMomentum, .weight_decay = 1e-4, .no_decay_norm = true},
      registry(), files.hooks());
  program.program(ProgramRequest{.local_batch = 2, .global_batch = 4}, files.hooks());
  files.finish();
}

TEST(Golden, Evaluation) {
  GoldenFiles files("evaluation");
  ModelProgram program(two_blocks(), {.replicas = 2});
  program.program(ProgramRequest{.mode = ProgramMode::kEvaluate, .local_batch = 2, .global_batch = 4}, files.hooks());
  files.finish();
}

}  // namespace
}  // namespace onward::test
