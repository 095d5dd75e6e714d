#include "graph/print.h"
#include "graph/scalars.h"
#include "passes/model_program.h"
#include "tests/support/expect_error.h"
#include "tests/support/lock_step.h"
#include "tests/support/op_case.h"
#include "tests/support/pass_driver.h"
#include "tests/support/tensors.h"

namespace onward::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* value : graph.outputs()) names.push_back(value->name());
  return names;
}

using Inputs = std::map<std::string, HostTensor>;

// The outputs of a program by name. Scalars of the step come from `inputs` too.
std::map<std::string, std::vector<double>> outputs_of(const Graph& graph, const Inputs& inputs) {
  Tensors known;
  for (const Value* input : graph.inputs()) known[input] = inputs.at(input->name()).cast(input->type.dtype);
  const Tensors all = evaluate(graph, std::move(known));
  std::map<std::string, std::vector<double>> found;
  for (const Value* output : graph.outputs()) found[output->name()] = all.at(output).to_double();
  return found;
}

HostTensor doubles(const Shape& shape, const std::vector<double>& values) {
  return HostTensor::from<double>(shape, values);
}

// x [N, classes] * w -> "logits", and what `finish` makes of it as an output.
template <typename Finish>
Graph classifier(int64_t classes, Finish finish, int64_t opset = 17) {
  Graph graph;
  graph.opsets[""] = opset;
  Value& x = add_image_input(graph, "x", {Dim("N"), classes});
  std::vector<float> weights;
  for (int64_t i = 0; i < classes; ++i) weights.push_back(0.5f + static_cast<float>(i));
  Value& w = graph.add_data("w", HostTensor::from<float>({classes}, weights));
  finish(graph, *graph.add_node({"", "Mul"}, {&x, &w}, {"logits"}).output(0));
  return graph;
}

Graph plain_classifier(int64_t classes = 3) {
  return classifier(classes, [](Graph& graph, Value& logits) { graph.add_output(logits); });
}

Value& node(Graph& graph, const char* op, std::vector<Value*> inputs, const std::string& name,
            Attributes attributes = {}) {
  return *graph.add_node({"", op}, std::move(inputs), {name}, std::move(attributes)).output(0);
}

ProgramOptions options(ProgramOptions base = {}) {
  base.precision = DType::kFloat64;
  base.optimizer = OptimizerKind::kNone;
  return base;
}

// ---- cross entropy attached to scores

TEST(Loss, AttachesCrossEntropyToTheScores) {
  ModelProgram program(plain_classifier(), options({.keep_gradients = true}));
  const Graph train = program.program({ProgramMode::kTrain, 2});
  EXPECT_THAT(output_names(train),
              ElementsAre(kLossOutput, kCorrectTop1Output, kCorrectTop5Output, gradient_name("w")));
  for (const char* name : {kLossOutput, kCorrectTop1Output, kCorrectTop5Output}) {
    EXPECT_EQ(train.find_value(name)->type.text(), "float64[]") << name;
  }
  EXPECT_THAT(program.facts(), testing::Contains("loss: cross entropy on 'logits', 3 classes"));
  EXPECT_EQ(train.find_value(kLabelInput)->role, Role::kLabel);
  const auto found = outputs_of(train, {{"x", doubles({2, 3}, {1, 1, 1, 2, 0, 0})},
                                        {kLabelInput, HostTensor::from<int64_t>({2}, {2, 1})},
                                        {kLossDenominator, doubles({}, {2})}});
  // Scores [0.5, 1.5, 2.5] and [1, 0, 0].
  const double first = std::log(std::exp(-2.0) + std::exp(-1.0) + 1), second = std::log(2 + std::exp(1.0));
  EXPECT_NEAR(found.at(kLossOutput)[0], (first + second) / 2, 1e-12);
  EXPECT_EQ(found.at(kCorrectTop1Output)[0], 1);
  EXPECT_EQ(found.at(kCorrectTop5Output)[0], 2);
}

TEST(Loss, EvaluationKeepsTheOutputsAndSumsTheLoss) {
  ModelProgram program(plain_classifier(), options());
  const Graph graph = program.program({ProgramMode::kEvaluate, 2});
  EXPECT_THAT(output_names(graph), ElementsAre("logits", kLossOutput, kCorrectTop1Output, kCorrectTop5Output));
  const auto found = outputs_of(
      graph, {{"x", doubles({2, 3}, {0, 0, 0, 0, 0, 0})}, {kLabelInput, HostTensor::from<int64_t>({2}, {0, 1})}});
  EXPECT_NEAR(found.at(kLossOutput)[0], 2 * std::log(3.0), 1e-12);
  const LossInfo info = *program.loss();
  EXPECT_EQ(info.classes, 3);
  EXPECT_EQ(info.label, kLabelInput);
  EXPECT_EQ(info.scores, "logits");
  EXPECT_EQ(info.denominator, LossDenominator::kSamples);
}

TEST(Loss, A13_EvaluationHasNoCollective) {
  ModelProgram program(plain_classifier(), options({.replicas = 4}));
  const Graph graph = program.program({ProgramMode::kEvaluate, 2});
  for (const auto& each : graph.nodes()) {
    EXPECT_FALSE(registry().op(each->op()).communicates) << each->text();
  }
}

TEST(Loss, GoesBeforeASoftmaxAtTheEnd) {
  const auto softmax = [](const char* op, int64_t opset) {
    return classifier(
        3,
        [&](Graph& g, Value& logits) {
          g.add_output(node(g, op, {&logits}, "p", {{"axis", int64_t{1}}}));
        },
        opset);
  };
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const int64_t opset : {11, 13}) {
      ModelProgram program(softmax(op, opset), options());
      const Graph train = program.program({ProgramMode::kTrain, 2});
      EXPECT_EQ(program.loss()->scores, "logits") << op << " of opset " << opset;
      EXPECT_THAT(program.facts(), testing::Contains(HasSubstr(std::string("before the ") + op + " that ends in 'p'")));
    }
  }
}

TEST(Loss, GoesBeforeASoftmaxThatIsReshapedAfterwards) {
  Graph graph = classifier(3, [](Graph& g, Value& logits) {
    Value& shape = g.add_data("shape", HostTensor::from<int64_t>({4}, {0, 3, 1, 1}));
    Value& image = node(g, "Reshape", {&logits, &shape}, "image");
    Value& p = node(g, "Softmax", {&image}, "p", {{"axis", int64_t{1}}});
    g.add_output(node(g, "Identity", {&node(g, "Flatten", {&p}, "flat")}, "out"));
  });
  ModelProgram program(std::move(graph), options());
  const Graph train = program.program({ProgramMode::kTrain, 2});
  EXPECT_EQ(train.find_value(program.loss()->scores)->type.text(), "float64[2,3]");
  EXPECT_EQ(program.loss()->scores, "image.rows");
}

TEST(Loss, ASoftmaxOverAnotherAxisIsNotTheClassifiersEnd) {
  Graph graph = classifier(3, [](Graph& g, Value& logits) {
    g.add_output(node(g, "Softmax", {&logits}, "p", {{"axis", int64_t{0}}}));
  });
  ProgramOptions wanted = options();
  PassDriver driver(wanted, {.local_batch = 2});
  ModelProgram program(std::move(graph), wanted);
  program.program({ProgramMode::kTrain, 2});
  EXPECT_EQ(program.loss()->scores, "p");
}

TEST(Loss, LogitsAndTheirProbabilitiesAreOneCandidate) {
  Graph graph = classifier(
      3,
      [](Graph& g, Value& logits) {
        g.add_output(node(g, "Softmax", {&logits}, "p", {{"axis", int64_t{-1}}}));
        g.add_output(logits);
        g.add_output(node(g, "ReduceMax", {&logits}, "most", {{"axes", Shape{1}}, {"keepdims", int64_t{0}}}));
      },
      11);
  ModelProgram program(std::move(graph), options());
  program.program({ProgramMode::kTrain, 2});
  EXPECT_EQ(program.loss()->scores, "logits");
}

Graph two_heads() {
  return classifier(3, [](Graph& g, Value& logits) {
    g.add_output(logits);
    g.add_output(node(g, "Neg", {&logits}, "features"));
  });
}

TEST(Loss, SeveralCandidatesAreListed) {
  ModelProgram program(two_heads(), options());
  expect_error(ErrorKind::kModel, "found 2: 'logits', 'features'; remove the others from the model's outputs", [&] {
    program.program({ProgramMode::kTrain, 2});
  });
}

TEST(Loss, NoCandidateIsAnErrorThatListsTheOutputs) {
  Graph graph = classifier(1, [](Graph& g, Value& logits) { g.add_output(logits); });
  ModelProgram program(std::move(graph), options());
  expect_error(ErrorKind::kModel, "found the outputs:\n  'logits': float64[2,1]", [&] {
    program.program({ProgramMode::kTrain, 2});
  });
}

TEST(Loss, ScoresWithTrailingOnesAreReshaped) {
  Graph graph = classifier(3, [](Graph& g, Value& logits) {
    g.add_output(node(g, "Reshape", {&logits, &g.add_data("s", HostTensor::from<int64_t>({4}, {-1, 3, 1, 1}))}, "map"));
  });
  ModelProgram program(std::move(graph), options());
  const Graph train = program.program({ProgramMode::kTrain, 2});
  EXPECT_EQ(train.find_value(program.loss()->scores)->type.text(), "float64[2,3]");
}

TEST(Loss, NamesOfTheFileStay) {
  Graph graph = classifier(3, [](Graph& g, Value& logits) {
    g.rename(logits, "loss");
    g.rename(*g.find_value("w"), "w.grad");
    g.rename(*g.find_value("x"), "label");
    g.add_output(logits);
  });
  ModelProgram program(std::move(graph), options({.keep_outputs = true, .keep_gradients = true}));
  const Graph train = program.program({ProgramMode::kTrain, 2});
  EXPECT_THAT(output_names(train),
              ElementsAre("loss", kLossOutput, kCorrectTop1Output, kCorrectTop5Output, gradient_name("w.grad")));
  EXPECT_EQ(train.find_value("w.grad")->role, Role::kParameter);
  EXPECT_EQ(train.find_value("label")->role, Role::kInput);
}

TEST(Loss, NamesOfTheProgramAreNotTheFiles) {
  Graph graph = classifier(3, [](Graph& g, Value& logits) {
    g.rename(logits, "onward.loss");
    g.add_output(logits);
  });
  expect_error(ErrorKind::kModel, "begin with 'onward.'", [&] { ModelProgram(std::move(graph), options()); });
}

TEST(Loss, TrainingKeepsTheOutputsWhenAsked) {
  ModelProgram program(plain_classifier(), options({.keep_outputs = true}));
  EXPECT_THAT(output_names(program.program({ProgramMode::kTrain, 2})),
              ElementsAre("logits", kLossOutput, kCorrectTop1Output, kCorrectTop5Output));
}

TEST(Loss, NoneLeavesTheGraphAsItIs) {
  ModelProgram program(plain_classifier(), options({.loss = LossKind::kNone}));
  EXPECT_THAT(output_names(program.program({ProgramMode::kTrain, 2})), ElementsAre("logits"));
  EXPECT_FALSE(program.loss().has_value());
}

// ---- a loss of the file

// y = w * x; loss made of x, t and w by `make`.
template <typename Make>
Graph regression(Make make) {
  Graph graph;
  graph.opsets[""] = 17;
  Value& x = add_image_input(graph, "x", {Dim("N"), 1});
  Value& t = add_image_input(graph, "t", {Dim("N"), 1});
  Value& w = graph.add_data("w", HostTensor::from<float>({1}, {0.25f}));
  Value& difference = node(graph, "Sub", {&node(graph, "Mul", {&x, &w}, "y"), &t}, "d");
  graph.add_output(make(graph, node(graph, "Mul", {&difference, &difference}, "square"), w));
  return graph;
}

Value& constant(Graph& graph, double number) {
  return *graph.add_node({"", "Constant"}, {}, {"k"}, {{"value_float", static_cast<float>(number)}}).output(0);
}

Value& reduce(Graph& graph, const char* op, Value& x, const std::string& name, int64_t keepdims = 0) {
  if (std::string(op) == "ReduceSum") return node(graph, op, {&x}, name, {{"keepdims", keepdims}});
  return node(graph, op, {&x}, name, {{"keepdims", keepdims}});
}

Value& half_mean(Graph& g, Value& square, Value&) {
  return reduce(g, "ReduceMean", node(g, "Mul", {&square, &constant(g, 0.5)}, "half"), "cost");
}

const std::vector<double> kX{1, 2, 3, 4}, kT{1, 1, 2, 0};

Inputs rows(int64_t begin, int64_t end) {
  const auto part = [&](const std::vector<double>& all) {
    return doubles({end - begin, 1}, {all.begin() + begin, all.begin() + end});
  };
  return {{"x", part(kX)}, {"t", part(kT)}, {kGlobalBatch, doubles({}, {4})}, {kLossDenominator, doubles({}, {4})}};
}

// The loss and gradient of w, added up over parts of the batch.
std::pair<double, double> added_up(ModelProgram& program, const std::vector<int64_t>& parts) {
  double loss = 0, gradient = 0;
  int64_t begin = 0;
  for (const int64_t part : parts) {
    const auto found = outputs_of(program.program({ProgramMode::kTrain, part}), rows(begin, begin + part));
    loss += found.at(kLossOutput)[0];
    gradient += found.at(gradient_name("w"))[0];
    begin += part;
  }
  return {loss, gradient};
}

// Replicas with these shares, whose programs add up by themselves: what each of them has at the end.
std::vector<NamedTensors> on_replicas(const Graph& graph, const std::vector<int64_t>& shares) {
  const auto count = static_cast<int>(shares.size());
  ModelProgram program(graph.clone(), options({.replicas = count, .keep_gradients = true}));
  std::vector<Graph> graphs;
  std::vector<const Graph*> programs;
  std::vector<NamedTensors> inputs;
  int64_t begin = 0;
  for (const int64_t share : shares) {
    graphs.push_back(program.program({ProgramMode::kTrain, share}));
    inputs.push_back(rows(begin, begin + share));
    begin += share;
  }
  for (const Graph& each : graphs) programs.push_back(&each);
  return LockStep(count).run(programs, inputs);
}

void expect_parts_add_up(const Graph& graph, double loss) {
  ModelProgram program(graph.clone(), options({.keep_gradients = true}));
  const auto [whole, gradient] = added_up(program, {4});
  EXPECT_NEAR(whole, loss, 1e-12);
  for (const std::vector<int64_t>& parts : {std::vector<int64_t>{2, 2}, {1, 1, 1, 1}, {3, 0, 1}}) {
    const auto [sum, gradient_sum] = added_up(program, parts);
    EXPECT_NEAR(sum, whole, 1e-12);
    EXPECT_NEAR(gradient_sum, gradient, 1e-12);
    for (const NamedTensors& replica : on_replicas(graph, parts)) {
      EXPECT_NEAR(replica.at(kLossOutput).to_double()[0], whole, 1e-12);
      EXPECT_NEAR(replica.at(gradient_name("w")).to_double()[0], gradient, 1e-12);
    }
  }
}

// Squares of w*x - t with w = 0.25.
std::vector<double> squares() {
  std::vector<double> list;
  for (std::size_t i = 0; i < 4; ++i) list.push_back((0.25 * kX[i] - kT[i]) * (0.25 * kX[i] - kT[i]));
  return list;
}
double sum_of_squares() {
  double sum = 0;
  for (const double each : squares()) sum += each;
  return sum;
}

TEST(OwnLoss, A6_TheMeanIsOverTheGlobalBatch) {
  Graph graph = regression(half_mean);
  graph.find_value("w")->data = HostTensor::from<float>({1}, {0});
  const Inputs all{
      {"x", doubles({4, 1}, {1, 1, 1, 1})}, {"t", doubles({4, 1}, {1, 2, 3, 4})}, {kGlobalBatch, doubles({}, {4})}};
  for (const int64_t parts : {1, 2, 4}) {
    ModelProgram program(graph.clone(), options({.keep_gradients = true}));
    double gradient = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t share = 4 / parts;
      std::vector<double> t;
      for (int64_t i = 0; i < share; ++i) t.push_back(static_cast<double>(part * share + i + 1));
      Inputs inputs = all;
      inputs["x"] = doubles({share, 1}, std::vector<double>(static_cast<std::size_t>(share), 1));
      inputs["t"] = doubles({share, 1}, t);
      gradient += outputs_of(program.program({ProgramMode::kTrain, share}), inputs).at(gradient_name("w"))[0];
    }
    EXPECT_DOUBLE_EQ(gradient, -2.5) << parts << " parts";
  }
}

TEST(OwnLoss, MeansBecomeSumsOverTheGlobalCount) { expect_parts_add_up(regression(half_mean), sum_of_squares() / 8); }

TEST(OwnLoss, SumsStaySums) {
  const Graph graph =
      regression([](Graph& g, Value& square, Value&) -> Value& { return reduce(g, "ReduceSum", square, "cost"); });
  expect_parts_add_up(graph, sum_of_squares());
  ModelProgram program(graph.clone(), options());
  EXPECT_EQ(program.loss()->denominator, LossDenominator::kNone);
}

TEST(OwnLoss, TermsWithoutTheBatchCountOnce) {
  expect_parts_add_up(regression([](Graph& g, Value& square, Value& w) -> Value& {
                        Value& decay = reduce(g, "ReduceSum", node(g, "Mul", {&w, &w}, "ww"), "decay");
                        return node(g, "Add", {&reduce(g, "ReduceMean", square, "mean"), &decay}, "cost");
                      }),
                      sum_of_squares() / 4 + 0.0625);
}

using Penalty = Value& (*)(Graph&, Value&);

// What does not depend on the batch is added to the mean over it.
std::map<std::string, Penalty> penalties() {
  return {{"L2",
           [](Graph& g, Value& w) -> Value& {
             return node(g, "Mul", {&w, &w}, "p");
           }},
          {"L1",
           [](Graph& g, Value& w) -> Value& {
             Value& negative = node(g, "Relu", {&node(g, "Neg", {&w}, "n")}, "r");
             return node(g, "Add", {&node(g, "Relu", {&w}, "p"), &negative}, "a");
           }},
          {"largest", [](Graph& g, Value& w) -> Value& { return reduce(g, "ReduceMax", w, "p", 1); }},
          {"limited", [](Graph& g, Value& w) -> Value& { return node(g, "Clip", {&w}, "p"); }},
          {"inverse",
           [](Graph& g, Value& w) -> Value& {
             return node(g, "Div", {&constant(g, 1), &w}, "p");
           }},
          {"softmax", [](Graph& g, Value& w) -> Value& {
             Value& two = node(g, "Concat", {&w, &g.add_data("one", HostTensor::from<float>({1}, {1}))}, "two",
                               {{"axis", int64_t{0}}});
             Value& p = node(g, "Softmax", {&two}, "p");
             return node(g, "Mul", {&p, &node(g, "LogSoftmax", {&two}, "l")}, "m");
           }}};
}

TEST(OwnLoss, TermsWithoutTheBatchCountOnceOnAnyNumberOfReplicas) {
  for (const auto& [name, penalty] : penalties()) {
    const Graph graph = regression([penalty = penalty](Graph& g, Value& square, Value& w) -> Value& {
      Value& term = reduce(g, "ReduceSum", penalty(g, w), "penalty");
      return node(g, "Add", {&reduce(g, "ReduceMean", square, "mean"), &term}, "cost");
    });
    const NamedTensors one = on_replicas(graph, {4}).front();
    for (const std::vector<int64_t>& shares : {std::vector<int64_t>{2, 1, 1}, {4, 0, 0}}) {
      for (const NamedTensors& replica : on_replicas(graph, shares)) {
        for (const std::string& output : {std::string(kLossOutput), gradient_name("w")}) {
          EXPECT_TRUE(all_close(replica.at(output), one.at(output), 1e-12)) << name;
        }
      }
    }
  }
}

TEST(OwnLoss, LinearStepsBehindTheMeanAreFollowed) {
  expect_parts_add_up(
      regression([](Graph& g, Value& square, Value& w) -> Value& {
        Value& per_column = node(g, "ReduceMean", {&square}, "columns", {{"axes", Shape{0}}, {"keepdims", int64_t{1}}});
        Value& scaled = node(g, "Div", {&node(g, "Mul", {&w, &per_column}, "m"), &constant(g, 2)}, "s");
        Value& both = node(g, "Sub", {&node(g, "Neg", {&scaled}, "n"), &reduce(g, "ReduceSum", square, "sum", 1)}, "b");
        return node(g, "Squeeze", {&node(g, "Identity", {&both}, "i")}, "cost");
      }),
      -0.125 * sum_of_squares() / 4 - sum_of_squares());
}

TEST(OwnLoss, AMeanOverRowsAndColumnsCountsBoth) {
  expect_parts_add_up(regression([](Graph& g, Value& square, Value&) -> Value& {
                        Value& wide = node(g, "Concat", {&square, &square, &square}, "wide", {{"axis", int64_t{1}}});
                        return reduce(g, "ReduceMean", wide, "cost");
                      }),
                      sum_of_squares() / 4);
}

// The number of rows as PyTorch computes it: x.size(0).
Value& number_of_rows(Graph& g, Value& x) {
  Value& shape = node(g, "Shape", {&x}, "shape");
  Value& rows =
      node(g, "Gather", {&shape, &g.add_data("zero", HostTensor::scalar<int64_t>(0))}, "rows", {{"axis", int64_t{0}}});
  return node(g, "Cast", {&rows}, "count", {{"to", int64_t{1}}});
}

TEST(OwnLoss, ASumDividedByTheNumberOfRowsIsAMean) {
  expect_parts_add_up(regression([](Graph& g, Value& square, Value&) -> Value& {
                        Value& doubled = node(g, "Mul", {&number_of_rows(g, square), &constant(g, 2)}, "doubled");
                        return node(g, "Div", {&reduce(g, "ReduceSum", square, "sum"), &doubled}, "cost");
                      }),
                      sum_of_squares() / 8);
}

TEST(OwnLoss, OtherUsesOfTheNumberOfRowsAreUndecidable) {
  const auto by_inverse = [](Graph& g, Value& square, Value&) -> Value& {
    Value& inverse = node(g, "Div", {&constant(g, 1), &number_of_rows(g, square)}, "inverse");
    return node(g, "Mul", {&reduce(g, "ReduceSum", square, "sum"), &inverse}, "cost");
  };
  ModelProgram one(regression(by_inverse), options());
  EXPECT_NEAR(outputs_of(one.program({ProgramMode::kTrain, 4}), rows(0, 4)).at(kLossOutput)[0], sum_of_squares() / 4,
              1e-12);
  ModelProgram two(regression(by_inverse), options({.replicas = 2}));
  expect_error(ErrorKind::kModel, "found Mul -> cost", [&] { two.program({ProgramMode::kTrain, 2}); });
}

TEST(OwnLoss, NumbersGivenWithTheBatchAreTheSameForAllParts) {
  Graph graph = regression(half_mean);
  Value* cost = graph.find_value("cost");
  graph.remove_output(*cost);
  graph.add_output(node(graph, "Mul", {cost, &add_image_input(graph, "alpha", {})}, "weighted"));
  ModelProgram two(std::move(graph), options({.replicas = 2, .keep_gradients = true}));
  EXPECT_THAT(output_names(two.program({ProgramMode::kTrain, 2})), ElementsAre(kLossOutput, gradient_name("w")));
}

Graph root_of_mean() {
  return regression([](Graph& g, Value& square, Value&) -> Value& {
    Value& mean = reduce(g, "ReduceMean", square, "mean");
    return node(g, "Mul", {&mean, &mean}, "cost");
  });
}

TEST(OwnLoss, AnUndecidableLossIsAnErrorOnSeveralReplicasOnly) {
  ModelProgram one(root_of_mean(), options({.keep_gradients = true}));
  const auto found = outputs_of(one.program({ProgramMode::kTrain, 4}), rows(0, 4));
  EXPECT_NEAR(found.at(kLossOutput)[0], sum_of_squares() * sum_of_squares() / 16, 1e-12);
  ModelProgram two(root_of_mean(), options({.replicas = 2}));
  expect_error(ErrorKind::kModel, "found Mul -> cost", [&] { two.program({ProgramMode::kTrain, 2}); });
  ModelProgram micro(root_of_mean(), options());
  expect_error(ErrorKind::kModel, "micro-batches", [&] { micro.program({ProgramMode::kAccumulateFirst, 2}); });
}

TEST(OwnLoss, CentringByTheBatchMeanIsUndecidable) {
  const Graph graph = regression([](Graph& g, Value& square, Value&) -> Value& {
    Value& centred = node(g, "Sub", {&square, &reduce(g, "ReduceMean", square, "mean")}, "centred");
    return reduce(g, "ReduceSum", node(g, "Mul", {&centred, &centred}, "cc"), "cost");
  });
  ModelProgram two(graph.clone(), options({.replicas = 2}));
  expect_error(ErrorKind::kModel, "where that cannot be decided", [&] { two.program({ProgramMode::kTrain, 2}); });
}

TEST(OwnLoss, EvaluationSumsOverRows) {
  ModelProgram program(regression(half_mean), options());
  const Graph graph = program.program({ProgramMode::kEvaluate, 4});
  EXPECT_THAT(output_names(graph), ElementsAre(kLossOutput));
  EXPECT_NEAR(outputs_of(graph, rows(0, 4)).at(kLossOutput)[0], sum_of_squares() / 2, 1e-12);
  EXPECT_EQ(program.loss()->denominator, LossDenominator::kSamples);
  EXPECT_EQ(program.loss()->label, "");
  ModelProgram undecidable(root_of_mean(), options());
  EXPECT_NEAR(outputs_of(undecidable.program({ProgramMode::kEvaluate, 4}), rows(0, 4)).at(kLossOutput)[0],
              sum_of_squares() * sum_of_squares() / 4, 1e-12);
}

TEST(OwnLoss, SeveralScalarsNeedOneNamedLoss) {
  const auto two = [](const char* first) {
    return regression([first](Graph& g, Value& square, Value&) -> Value& {
      g.add_output(reduce(g, "ReduceSum", square, first));
      return reduce(g, "ReduceMean", square, "cost");
    });
  };
  ModelProgram unnamed(two("total"), options());
  expect_error(ErrorKind::kModel, "found 2: 'total', 'cost'", [&] { unnamed.program({ProgramMode::kTrain, 4}); });
  ModelProgram named(two("loss"), options({.keep_gradients = true}));
  EXPECT_NEAR(outputs_of(named.program({ProgramMode::kTrain, 4}), rows(0, 4)).at(kLossOutput)[0], sum_of_squares(),
              1e-12);
}

TEST(OwnLoss, TheGradientOfAnOutputKeepsItsNameAndTheOthers) {
  Graph graph = regression(half_mean);
  graph.add_output(*graph.find_value("y"));
  ModelProgram program(
      std::move(graph),
      options({.loss = LossKind::kNone, .input_gradients = true, .gradient_of = "cost", .keep_gradients = true}));
  const Graph train = program.program({ProgramMode::kTrain, 4});
  EXPECT_THAT(output_names(train), testing::IsSupersetOf<std::string>(
                                       {"cost", "y", gradient_name("w"), gradient_name("x"), gradient_name("t")}));
  const auto found = outputs_of(train, rows(0, 4));
  EXPECT_NEAR(found.at("cost")[0], sum_of_squares() / 8, 1e-12);
  EXPECT_NEAR(found.at(gradient_name("t"))[0], -(0.25 * kX[0] - kT[0]) / 4, 1e-12);
  ModelProgram wrong(regression(half_mean), options({.gradient_of = "y"}));
  expect_error(ErrorKind::kUsage, "the outputs are: 'cost' (float64[])", [&] {
    wrong.program({ProgramMode::kTrain, 4});
  });
}

// ---- cross entropy of the file

struct Entropy {
  Attributes attributes = {};
  std::vector<double> weights = {};
  const char* op = "SoftmaxCrossEntropyLoss";
};

Graph cross_entropy(const Entropy& entropy, DType label_type = DType::kInt64) {
  return classifier(3, [&](Graph& g, Value& logits) {
    Value& labels = add_image_input(g, "target", {Dim("N")}, label_type);
    std::vector<Value*> inputs{&logits, &labels};
    if (!entropy.weights.empty())
      inputs.push_back(&g.add_data("weights", doubles({3}, entropy.weights).cast(DType::kFloat32)));
    g.add_output(logits);
    g.add_output(node(g, entropy.op, inputs, "cost", entropy.attributes));
  });
}

const std::vector<double> kScores{0.3, -0.2, 0.9, 1.5, 0.1, -0.4, 0.2, 0.8, -1.1, 0.6, 0.7, 0.2};
const std::vector<int64_t> kLabels{2, 0, 1, 2};

Inputs labelled(int64_t begin, int64_t end, double denominator) {
  return {{"x", doubles({end - begin, 3}, {kScores.begin() + begin * 3, kScores.begin() + end * 3})},
          {"target", HostTensor::from<int64_t>({end - begin}, {kLabels.begin() + begin, kLabels.begin() + end})},
          {kLossDenominator, doubles({}, {denominator})},
          {kGlobalBatch, doubles({}, {4})}};
}

// The file's own value on the whole batch against the sum over parts with the denominator that the host computes.
void expect_cross_entropy(const Entropy& entropy, double denominator, LossDenominator kind) {
  const Graph graph = cross_entropy(entropy);
  ModelProgram file(graph.clone(), options({.keep_file_mode = true, .loss = LossKind::kNone}));
  const double expected = outputs_of(file.program({ProgramMode::kEvaluate, 4}), labelled(0, 4, 0)).at("cost")[0];
  ModelProgram program(graph.clone(), options());
  double sum = 0, correct = 0;
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}}) {
    const auto found =
        outputs_of(program.program({ProgramMode::kTrain, end - begin}), labelled(begin, end, denominator));
    sum += found.at(kLossOutput)[0];
    correct += found.at(kCorrectTop1Output)[0];
  }
  EXPECT_NEAR(sum, expected, 1e-12);
  const LossInfo info = *program.loss();
  EXPECT_EQ(info.denominator, kind);
  const Graph evaluation = program.program({ProgramMode::kEvaluate, 4});  // a sum: the host divides
  EXPECT_NEAR(outputs_of(evaluation, labelled(0, 4, 0)).at(kLossOutput)[0], expected * denominator, 1e-12);
  EXPECT_EQ(info.label, "target");
  EXPECT_EQ(info.scores, "logits");
  EXPECT_EQ(info.classes, 3);
  EXPECT_EQ(info.class_weights, entropy.weights);
  EXPECT_EQ(correct, entropy.attributes.has("ignore_index") ? 2 : 3);
}

TEST(OwnLoss, CrossEntropyOfTheFile) { expect_cross_entropy({}, 4, LossDenominator::kSamples); }

TEST(OwnLoss, CrossEntropyWithClassWeights) {
  expect_cross_entropy({.weights = {0.5, 2, 4}}, 4 + 0.5 + 2 + 4, LossDenominator::kLabelWeights);
}

TEST(OwnLoss, CrossEntropyThatIgnoresALabel) {
  expect_cross_entropy({.attributes = {{"ignore_index", int64_t{0}}}}, 3, LossDenominator::kLabelWeights);
}

TEST(OwnLoss, SummedCrossEntropy) {
  expect_cross_entropy({.attributes = {{"reduction", std::string("sum")}}}, 1, LossDenominator::kNone);
}

TEST(OwnLoss, LabelsThatAreNotInt64KeepTheirType) {
  ModelProgram program(cross_entropy({}, DType::kInt32), options());
  const Graph train = program.program({ProgramMode::kTrain, 4});
  EXPECT_EQ(train.find_value("target")->role, Role::kLabel);
  EXPECT_EQ(train.find_value("target")->type.text(), "int32[4]");
}

TEST(OwnLoss, CrossEntropyAskedForIsAttachedAlthoughTheFileHasAScalar) {
  Graph graph = classifier(3, [](Graph& g, Value& logits) {
    g.add_output(logits);
    g.add_output(reduce(g, "ReduceMean", logits, "average"));
  });
  ModelProgram program(std::move(graph), options({.loss = LossKind::kCrossEntropy}));
  program.program({ProgramMode::kTrain, 2});
  EXPECT_EQ(program.loss()->scores, "logits");
}

TEST(OwnLoss, TwoCrossEntropiesOfDifferentLabelsAreUndecidable) {
  Graph graph = cross_entropy({});
  Value& second = node(graph, "SoftmaxCrossEntropyLoss",
                       {graph.find_value("logits"), &add_image_input(graph, "other", {Dim("N")}, DType::kInt64)}, "c2");
  Value* first = graph.find_value("cost");
  graph.remove_output(*first);
  graph.add_output(node(graph, "Add", {first, &second}, "total"));
  ModelProgram program(std::move(graph), options({.replicas = 2}));
  expect_error(ErrorKind::kModel, "SoftmaxCrossEntropyLoss -> c2", [&] { program.program({ProgramMode::kTrain, 2}); });
}

}  // namespace
}  // namespace onward::test
