#include <nlohmann/json.hpp>

#include "ops/core/registry.h"
#include "tests/support/run_command.h"

namespace onward::test {
namespace {

using test::run_command;

TEST(CmdOps, ListsEveryOpOnALine) {
  const std::string text = run_command("ops", {}).output;
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), registry().ops().size() + 1);
  EXPECT_THAT(text, testing::ContainsRegex("\nRelu +1,6,13,14 +yes +float32,float64 +max"));
  EXPECT_THAT(text, testing::ContainsRegex("\nonward::ReluGrad +no +float32"));
}

TEST(CmdOps, WritesOneJsonObject) {
  const auto json = nlohmann::json::parse(run_command("ops", {"--json"}).output);
  EXPECT_EQ(json["ops"].size(), registry().ops().size());
  const auto relu =
      std::find_if(json["ops"].begin(), json["ops"].end(), [](const auto& op) { return op["name"] == "Relu"; });
  ASSERT_NE(relu, json["ops"].end());
  EXPECT_EQ((*relu)["domain"], "");
  EXPECT_EQ((*relu)["opsets"], (std::vector<int>{1, 6, 13, 14}));
  EXPECT_EQ((*relu)["gradient"], true);
  EXPECT_EQ((*relu)["kernels"]["cpu"], (std::vector<std::string>{"float32", "float64"}));
}

}  // namespace
}  // namespace onward::test
