#include <nlohmann/json.hpp>
#include <sstream>

#include "models/build_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

namespace onward::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CmdInspect : public testing::Test {
 protected:
  CmdInspect() { build_model({.name = "lenet"}).save(folder_.file("m.onnx")); }

  std::string inspect(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {folder_.file("m.onnx"), "--training"});
    return run_command("inspect", arguments).output;
  }

  TemporaryFolder folder_;
};

TEST_F(CmdInspect, MemoryHoldsParametersAndMoments) {
  const json of_adam = json::parse(inspect({"--format", "json"})),
             of_sgd = json::parse(inspect({"--format", "json", "--optimizer", "sgd"}));
  EXPECT_EQ(of_adam.at("streams"), 2);
  EXPECT_FALSE(of_adam.contains("plan"));
  const json& memory = of_adam.at("memory");
  int64_t parameters = 0;
  for (const json& parameter : of_adam.at("parameters")) parameters += parameter.at("count").get<int64_t>();
  EXPECT_EQ(memory.at("parameter_bytes"), 4 * parameters);
  EXPECT_EQ(memory.at("moment_bytes"), 8 * parameters);
  EXPECT_EQ(of_sgd.at("memory").at("moment_bytes"), 0);
  int64_t sum = 0;
  for (const char* part :
       {"arena_bytes", "workspace_bytes", "parameter_bytes", "state_bytes", "moment_bytes", "constant_bytes"})
    sum += memory.at(part).get<int64_t>();
  EXPECT_EQ(memory.at("total_bytes"), sum);
  EXPECT_THAT(inspect({}), HasSubstr("moments of the optimizer"));
}

TEST_F(CmdInspect, ThePlanIsWrittenWhenAskedFor) {
  EXPECT_TRUE(json::parse(inspect({"--format", "json", "--plan"})).contains("plan"));
}

TEST_F(CmdInspect, EveryRunOfAPassHasAName) {
  const json passes = json::parse(inspect({"--passes", "--format", "json"}));
  std::set<std::string> names;
  for (const json& pass : passes) EXPECT_TRUE(names.insert(pass.at("pass")).second) << pass;
  EXPECT_TRUE(names.contains("prune-1"));
  EXPECT_FALSE(names.contains("prune"));
  const std::string first = inspect({"--passes", "prune-1"}), second = inspect({"--passes", "prune-2"});
  EXPECT_NE(first, second);
  testing::internal::CaptureStderr();
  EXPECT_NE(inspect({"--passes", "prune"}), first);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("this is the last, prune-"));
  EXPECT_THAT(inspect({"--passes"}), HasSubstr("prune-1 "));
  expect_error(ErrorKind::kUsage, "did you mean prune-1?", [&] { inspect({"--passes", "prone-1"}); });
}

TEST_F(CmdInspect, APassOfTrainingIsSaidToBeThere) {
  const auto look = [&](const std::string& pass) {
    run_command("inspect", {folder_.file("m.onnx"), "--passes", pass});
  };
  expect_error(ErrorKind::kUsage, "--training has the pass 'loss'", [&] { look("loss"); });
  expect_error(ErrorKind::kUsage, "--training has the pass 'prune-6'", [&] { look("prune-6"); });
  expect_error(ErrorKind::kUsage, "did you mean specialise?", [&] { look("specialize"); });
}

// Long edges and those of what many nodes read are what Graphviz spends its time on.
TEST_F(CmdInspect, ADrawingHasOneEdgeBetweenTwoNodesAndNoneOfScalarsAndParameters) {
  build_model({.name = "resnet8", .input = {3, 16, 16}}).save(folder_.file("m.onnx"));
  const std::string dot = inspect({"--format", "dot"});
  EXPECT_THAT(dot, testing::AllOf(HasSubstr("nslimit=1; nslimit1=1; splines=line;"), HasSubstr("\\nfloat32[1,"),
                                  HasSubstr("\"onward.label\" -> n"), testing::Not(HasSubstr("onward.learning_rate"))));
  std::set<std::string> edges;
  std::istringstream lines(dot);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" -> ") == std::string::npos) continue;
    EXPECT_TRUE(edges.insert(line).second) << line;
  }
  EXPECT_GT(edges.size(), 20u);
}

TEST_F(CmdInspect, AGraphAfterAPassObeysTheFormat) {
  const json after = json::parse(inspect({"--passes", "roles", "--format", "json"}));
  EXPECT_EQ(after.at("pass"), "roles");
  EXPECT_FALSE(after.at("graph").at("nodes").empty());
  EXPECT_THAT(inspect({"--passes", "roles", "--format", "dot"}), HasSubstr("digraph"));
  expect_error(ErrorKind::kUsage, "--passes NAME", [&] { inspect({"--passes", "--format", "dot"}); });
}

}  // namespace
}  // namespace onward::test
