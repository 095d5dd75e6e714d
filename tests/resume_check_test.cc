#include "tools/resume_check.h"

#include "models/build_model.h"
#include "tests/support/expect_error.h"
#include "tools/option_groups.h"

namespace onward::cli {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Arguments = std::vector<std::string>;

Options options_of(Arguments arguments) {
  const CommandSpec spec{.name = "train", .positional = "M.onnx", .options = train_options()};
  arguments.insert(arguments.begin(), "m.onnx");
  return parse_options(spec, arguments);
}

// A checkpoint that a run with these options leaves after `batches` batches of an epoch.
Checkpoint checkpoint_of(const Arguments& arguments, int64_t batches = 0) {
  Checkpoint checkpoint;
  checkpoint.position.batch_in_epoch = batches;
  checkpoint.metadata = {
      {"config", options_of(arguments).resolved_json()}, {kModelIdentity, "model-1"}, {kDataIdentity, "data-1"}};
  return checkpoint;
}

std::string changes(const Arguments& before, const Arguments& now, const std::string& data = "data-1") {
  return changes_since(options_of(now), data, checkpoint_of(before), "last");
}

TEST(ResumeCheck, TheSameRunIsSilent) {
  const Arguments run = {"--lr", "0.01", "--freeze", "a*", "--freeze", "b*", "--drop-last"};
  EXPECT_EQ(changes(run, run), "");
  EXPECT_EQ(changes(run, {"--lr", "1e-2", "--freeze", "a*", "--freeze", "b*", "--drop-last"}), "");
  EXPECT_NO_THROW(check_resumable(options_of(run), "model-1", checkpoint_of(run), "last"));
}

TEST(ResumeCheck, WhatLearnsNothingElseIsFree) {
  EXPECT_EQ(changes({"--out", "a", "--data", "x"},
                    {"--out",     "b",     "--data",       "y", "--epochs",     "99", "--max-steps", "7",
                     "--workers", "0",     "--threads",    "3", "--save-every", "5",  "--keep",      "1",
                     "--devices", "cpu:3", "--bucket-mib", "1", "--quiet"}),
            "");
}

TEST(ResumeCheck, WhatDecidesNothingIsSilent) {
  EXPECT_EQ(changes({"--optimizer", "adam"}, {"--optimizer", "adam", "--momentum", "0.5"}), "");
  EXPECT_EQ(changes({"--optimizer", "sgd"}, {"--optimizer", "sgd", "--beta1", "0.5", "--epsilon", "1e-6"}), "");
  EXPECT_EQ(changes({"--init", "kaiming"}, {}), "");
  EXPECT_EQ(changes({}, {"--no-decay", "norm", "--min-lr", "0.1", "--step-factor", "0.5", "--base-batch-size", "9"}),
            "");
  EXPECT_EQ(changes({}, {"--autotune", "direct"}), "");
  // The same options where they decide.
  const auto told = [](const Arguments& before, const std::string& name, const std::string& value) {
    Arguments now = before;
    now.insert(now.end(), {name, value});
    EXPECT_THAT(changes(before, now), HasSubstr(name + " " + value));
  };
  told({"--optimizer", "nesterov"}, "--momentum", "0.5");
  told({"--optimizer", "adamw"}, "--beta1", "0.5");
  told({"--weight-decay", "0.1"}, "--no-decay", "norm");
  told({"--schedule", "linear"}, "--min-lr", "0.1");
  told({"--schedule", "step"}, "--step-factor", "0.5");
  told({"--lr-scale", "sqrt", "--base-batch-size", "4"}, "--base-batch-size", "9");
  told({}, "--autotune", "Conv:1:2");
  EXPECT_THAT(changes({}, {"--fit", "pad"}), HasSubstr("--fit pad"));
  EXPECT_EQ(changes_since(options_of({"--fit", "pad"}), "data-1", checkpoint_of({}), "last", {"fit"}), "");
}

TEST(ResumeCheck, WhatWasNotTrainedIsNotInTheCheckpoint) {
  Graph program;
  for (const char* name : {"a.adam_m", "b.adam_m"}) program.add_data(name, HostTensor::scalar<float>(0), Role::kState);
  Checkpoint checkpoint = checkpoint_of({"--freeze", "a*", "--keep-tied"});
  checkpoint.tensors.emplace("b.adam_m", HostTensor::scalar<float>(0));
  const auto update_program = [&] { return program.clone(); };
  const auto refused = [&](const Arguments& now, const std::string& part) {
    expect_error(ErrorKind::kUsage, part, [&] { check_trained(options_of(now), update_program, checkpoint, "last"); });
  };
  refused({"--keep-tied"}, "found --freeze none (was [\"a*\"]), which trains others: the checkpoint has no 'a.adam_m'");
  refused({"--freeze", "a*"}, "found --keep-tied false (was true), which trains others");
  checkpoint.tensors.emplace("a.adam_m", HostTensor::scalar<float>(0));
  EXPECT_NO_THROW(check_trained(options_of({}), update_program, checkpoint, "last"));
  program.add_data("c", HostTensor::scalar<float>(0), Role::kParameter);
  refused({}, "has no 'c'");
}

TEST(ResumeCheck, OneLineNamesEveryOptionThatDiffers) {
  const std::string line =
      changes({"--lr", "0.1", "--weight-decay", "0.5", "--no-decay", "norm", "--freeze", "a*"},
              {"--lr", "0.2", "--weight-decay", "0.5", "--batch-size", "64", "--freeze", "b*", "--drop-last"});
  EXPECT_THAT(line, AllOf(HasSubstr("--lr 0.2 (was 0.1)"), HasSubstr("--batch-size 64 (was 128)"),
                          HasSubstr("--no-decay none (was norm)"), HasSubstr("--drop-last true (was false)"),
                          HasSubstr("--freeze [\"b*\"] (was [\"a*\"])"), Not(HasSubstr("\n"))));
  EXPECT_THAT(changes({}, {}, "data-2"), HasSubstr("the training data data-2 (was data-1)"));
}

TEST(ResumeCheck, EpochsAndDevicesCountWhereTheyChangeTheCourse) {
  const Arguments cosine = {"--schedule", "cosine"}, local = {"--bn", "local"};
  EXPECT_THAT(changes(cosine, {"--schedule", "cosine", "--epochs", "11"}), HasSubstr("--epochs 11 (was 10)"));
  EXPECT_THAT(changes(local, {"--bn", "local", "--devices", "cpu:2"}), HasSubstr("--devices cpu:2 (was auto)"));
}

TEST(ResumeCheck, AnotherModelPrecisionOrKindOfOptimizerIsRefused) {
  const auto refused = [](const Arguments& before, const Arguments& now, const std::string& model,
                          const std::string& part) {
    expect_error(ErrorKind::kUsage, part,
                 [&] { check_resumable(options_of(now), model, checkpoint_of(before), "the-file"); });
  };
  refused({"--optimizer", "momentum"}, {"--optimizer", "sgd"}, "model-1", "expected --optimizer momentum");
  refused({}, {"--precision", "fp64"}, "model-1", "found --precision fp64");
  refused({}, {}, "model-2", "the-file");
  // The same state: a warning.
  EXPECT_NO_THROW(check_resumable(options_of({"--optimizer", "adamw"}), "model-1", checkpoint_of({}), "last"));
  EXPECT_THAT(changes({}, {"--optimizer", "adamw"}), HasSubstr("--optimizer adamw (was adam)"));
}

TEST(ResumeCheck, InTheMiddleOfAnEpochItsSamplesStay) {
  for (const Arguments& other :
       std::vector<Arguments>{{"--batch-size", "64"}, {"--accumulate", "2"}, {"--seed", "1"}, {"--drop-last"}}) {
    expect_error(ErrorKind::kUsage, other.front(),
                 [&] { changes_since(options_of(other), "data-1", checkpoint_of({}, 3), "last"); });
    EXPECT_THAT(changes({}, other), HasSubstr(other.front()));
  }
  expect_error(ErrorKind::kUsage, "the training data data-2 (was data-1)",
               [&] { changes_since(options_of({}), "data-2", checkpoint_of({}, 3), "last"); });
  EXPECT_THAT(changes_since(options_of({"--lr", "1"}), "data-1", checkpoint_of({}, 3), "last"), HasSubstr("--lr 1"));
}

TEST(ResumeCheck, IdentitiesTellModelsAndDataApart) {
  const Model one = build_model({.name = "lenet"}), two = build_model({.name = "lenet", .seed = 1});
  EXPECT_EQ(identity(one), identity(build_model({.name = "lenet"})));
  EXPECT_NE(identity(one), identity(two));
  Dataset data;
  data.name = "synthetic";
  data.images = {1, 2, 3};
  data.labels = {1};
  const std::string first = identity(data);
  data.labels = {2};
  EXPECT_NE(identity(data), first);
  EXPECT_THAT(first, HasSubstr("synthetic, 1 samples"));
}

}  // namespace
}  // namespace onward::cli
