#include "graph/error.h"
#include "passes/pass.h"

namespace onward::test {
namespace {

Pass rename_pass(const std::string& name, std::vector<std::string> requires_, std::vector<std::string> ensures) {
  return {.name = name,
          .run = [name](Graph& graph, PassContext&) { graph.name += name + ";"; },
          .requires_ = std::move(requires_),
          .ensures = std::move(ensures)};
}

TEST(RunPasses, RunsInOrderTimesAndReportsEach) {
  Graph graph;
  ProgramOptions options;
  PassContext context{options, {}, registry()};
  std::vector<PassTiming> timings;
  std::vector<std::string> seen;
  RunnerHooks hooks{.after = [&](const std::string& name, const Graph& g) { seen.push_back(name + "|" + g.name); },
                    .timings = &timings};
  run_passes(graph, {rename_pass("a", {}, {"x"}), rename_pass("b", {"x"}, {})}, context, hooks);
  EXPECT_THAT(seen, testing::ElementsAre("a|a;", "b|a;b;"));
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[1].name, "b");
  EXPECT_GE(timings[1].milliseconds, 0);
}

TEST(RunPasses, RefusesAPassWhoseRequirementNobodyEnsured) {
  Graph graph;
  ProgramOptions options;
  PassContext context{options, {}, registry()};
  try {
    run_passes(graph, {rename_pass("b", {"static"}, {})}, context);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("'static', which the pass 'b' requires"));
  }
}

TEST(RunPasses, NamesThePassInErrorsAndVerifiesAfterIt) {
  Graph graph;
  ProgramOptions options;
  PassContext context{options, {}, registry()};
  const Pass breaks{.name = "breaks", .run = [](Graph& g, PassContext&) {
                      Value& orphan = g.add_input("orphan", {DType::kFloat32, {1}}, Role::kIntermediate);
                      g.remove_input(orphan);
                      g.add_output(orphan);
                    }};
  try {
    run_passes(graph, {breaks}, context);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kModel);
    EXPECT_THAT(error.notes(), testing::ElementsAre("in the pass 'breaks'"));
  }
}

TEST(RunPasses, LeavesOutOptionalPassesOnly) {
  Graph graph;
  ProgramOptions options;
  options.disabled_passes = {"fuse"};
  PassContext context{options, {}, registry()};
  Pass fuse = rename_pass("fuse", {}, {});
  EXPECT_THROW(run_passes(graph, {fuse}, context), Error);
  fuse.optional = true;
  run_passes(graph, {fuse}, context);
  EXPECT_EQ(graph.name, "");
}

}  // namespace
}  // namespace onward::test
