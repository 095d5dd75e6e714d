#include "tools/options.h"

#include <fstream>

#include "graph/error.h"
#include "tests/support/expect_error.h"

namespace onward::cli {
namespace {

using test::expect_error;
using testing::HasSubstr;

CommandSpec command() {
  return {.name = "train",
          .summary = "trains",
          .positional = "M.onnx",
          .min_positional = 1,
          .max_positional = 1,
          .options = {{"Data", "data", "PATH", "", "folder"},
                      {"Data", "normalize", "M/S", "auto", "constants"},
                      {"Training", "lr", "X", "0.001", "learning rate"},
                      {"Training", "epochs", "N", "10", "epochs"},
                      {"Training", "bn", "MODE", "sync", "mode", {"sync", "local", "rank0"}},
                      {"Training", "drop-last", "", "", "drop"},
                      {"Outputs", "output", "FILE", "", "file"},
                      {"Outputs", "input", "NAME=FILE", "", "inputs", {}, true},
                      {"Outputs", "passes", "NAME", "", "passes", {}, false, "all"},
                      {"Outputs", "config", "FILE", "", "configuration"}}};
}

std::string failure(const std::vector<std::string>& arguments) {
  try {
    parse_options(command(), arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Options, DefaultsFlagsAndValues) {
  const Options options = parse_options(command(), {"m.onnx", "--lr", "0.1", "--drop-last", "-o", "x.onnx"});
  EXPECT_EQ(options.positional(), std::vector<std::string>{"m.onnx"});
  EXPECT_EQ(options.number("lr", 0), 0.1);
  EXPECT_EQ(options.integer("epochs", 1), 10);
  EXPECT_TRUE(options.flag("drop-last"));
  EXPECT_EQ(options.text("output"), "x.onnx");
  EXPECT_FALSE(options.given("epochs"));
}

TEST(Options, ValuesWithCommasAndDashesStayWhole) {
  const Options options =
      parse_options(command(), {"m.onnx", "--normalize", "-0.5,.4,.3/.2,.2,.2", "--input", "a=1,2", "--input=b=3"});
  EXPECT_EQ(options.text("normalize"), "-0.5,.4,.3/.2,.2,.2");
  EXPECT_EQ(options.texts("input"), (std::vector<std::string>{"a=1,2", "b=3"}));
}

TEST(Options, AnOptionalValueIsAPlainWord) {
  EXPECT_EQ(parse_options(command(), {"--passes", "m.onnx"}).text("passes"), "all");
  EXPECT_EQ(parse_options(command(), {"m.onnx", "--passes"}).text("passes"), "all");
  EXPECT_EQ(parse_options(command(), {"--passes", "fuse", "m.onnx"}).text("passes"), "fuse");
  EXPECT_EQ(parse_options(command(), {"m.onnx", "--passes", "--drop-last"}).text("passes"), "all");
  EXPECT_EQ(parse_options(command(), {"--passes", "Conv:3x8x8:4x3x3x3,Conv:1", "m.onnx"}).text("passes"),
            "Conv:3x8x8:4x3x3x3,Conv:1");
}

TEST(Options, UnknownNamesAndValuesSuggestTheNearest) {
  EXPECT_THAT(failure({"m.onnx", "--epoch", "3"}), HasSubstr("did you mean --epochs?"));
  EXPECT_THAT(failure({"m.onnx", "--bn", "snyc"}), HasSubstr("did you mean sync?"));
  EXPECT_THAT(failure({"m.onnx", "-x"}), HasSubstr("unknown option '-x'"));
}

TEST(Options, ValuesAreChecked) {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), "m.onnx");
    return parse_options(command(), more);
  };
  EXPECT_THROW(with({"--epochs", "0"}).integer("epochs", 1), Error);
  EXPECT_THROW(with({"--epochs", "3x"}).integer("epochs", 1), Error);
  EXPECT_THROW(with({"--lr", "0"}).number("lr", 0, true), Error);
  EXPECT_THROW(with({"--lr", "nan"}).number("lr", 0), Error);
  EXPECT_THROW(with({"--lr", "1e300"}).number("lr", 0), Error);
  EXPECT_THROW(with({"--lr", "inf"}).number("lr", 0), Error);
  EXPECT_EQ(with({"--lr", "1e38"}).number("lr", 0), 1e38);
  expect_error(ErrorKind::kUsage, "of at least 0 and at most 5, found '6'", [&] {
    with({"--lr", "6"}).number("lr", 0, false, 5);
  });
  EXPECT_THAT(failure({"m.onnx", "--lr"}), HasSubstr("expected a value after --lr"));
  EXPECT_THAT(failure({"a", "b"}), HasSubstr("found 2 arguments (a b)"));
  EXPECT_THAT(failure({}), HasSubstr("found 0 arguments"));
  EXPECT_THAT(failure({"m.onnx", "--drop-last=maybe"}), HasSubstr("--drop-last to be true or false"));
}

TEST(Options, CommandLineBeatsConfiguration) {
  const std::string path = testing::TempDir() + "options.json";
  std::ofstream(path) << R"({"lr": 0.5, "epochs": 3, "drop-last": true})";
  const Options options = parse_options(command(), {"m.onnx", "--config", path, "--epochs", "7"});
  EXPECT_EQ(options.number("lr", 0), 0.5);
  EXPECT_EQ(options.integer("epochs", 1), 7);
  EXPECT_TRUE(options.flag("drop-last"));
  std::ofstream(path) << R"({"rl": 0.5})";
  EXPECT_THAT(failure({"m.onnx", "--config", path}), HasSubstr("unknown option 'rl'"));
  std::ofstream(path) << "[1]";
  EXPECT_THAT(failure({"m.onnx", "--config", path}), HasSubstr("expected a JSON object"));
  std::ofstream(path) << R"({"lr": [0.1, 0.2]})";
  EXPECT_THAT(failure({"m.onnx", "--config", path}), HasSubstr("the value of 'lr' in the configuration"));
  std::ofstream(path) << R"({"input": ["a=b", "c=d"]})";
  EXPECT_EQ(parse_options(command(), {"m.onnx", "--config", path}).texts("input"),
            (std::vector<std::string>{"a=b", "c=d"}));
  std::ofstream(path) << R"({"lr" 0.1})";
  EXPECT_THAT(failure({"m.onnx", "--config", path}), HasSubstr("found a mistake at byte 9"));
}

TEST(Options, AConfigurationThatCannotBeReadComesWithTheReason) {
  EXPECT_THAT(failure({"m.onnx", "--config", testing::TempDir() + "no-such.json"}),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(failure({"m.onnx", "--config", testing::TempDir()}), HasSubstr("found a folder"));
}

TEST(Options, ResolvedFormReadsBack) {
  const std::string path = testing::TempDir() + "resolved.json";
  std::ofstream(path) << parse_options(command(), {"m.onnx", "--lr", "0.25", "--input", "a=b"}).resolved_json();
  const Options again = parse_options(command(), {"m.onnx", "--config", path});
  EXPECT_EQ(again.number("lr", 0), 0.25);
  EXPECT_EQ(again.texts("input"), std::vector<std::string>{"a=b"});
}

TEST(Options, ARefusedWordGetsTheNearest) {
  const auto refuse = [](const std::string& word) {
    with_suggestion(word, {"hflip", "vflip"}, [] { throw Error(ErrorKind::kUsage, "no"); });
  };
  expect_error(ErrorKind::kUsage, "no\n  did you mean hflip?", [&] { refuse("hfilp"); });
  expect_error(ErrorKind::kUsage, "no", [&] { refuse("something else"); });
  EXPECT_EQ(with_suggestion("x", {}, [] { return 3; }), 3);
}

TEST(Options, HelpShowsGroupsAndDefaults) {
  const std::string help = help_text(command());
  EXPECT_THAT(help, HasSubstr("Usage: onward train M.onnx [options]"));
  EXPECT_THAT(help, HasSubstr("\nTraining:\n"));
  EXPECT_THAT(help, HasSubstr("(sync, local, rank0) [default: sync]"));
}

}  // namespace
}  // namespace onward::cli
