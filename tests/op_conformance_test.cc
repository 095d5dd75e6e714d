// Every registered op on the sample cases of its record. A new op is covered without being named here.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "graph/error.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_driver.h"
#include "tests/support/op_case.h"

namespace onward::test {

void PrintTo(const OpId& op, std::ostream* stream) { *stream << to_string(op); }

}  // namespace onward::test

namespace onward::test {
namespace {

// Ops that are always replaced before kernels are chosen, by a pass or by their normalise rule: they have no kernel.
const std::set<OpId> kAlwaysLowered{
    {"", "Expand"}, {kOnwardDomain, "SyncBatchNormalization"}, {kOnwardDomain, "SyncBatchNormalizationGrad"}};

// Standard ops with floating outputs that have no gradient rule, and why.
const std::map<std::string, std::string> kWithoutGradient{
    {"Expand", "becomes onward::BroadcastTo"},
    {"Constant", "has no inputs"},
    {"ConstantOfShape", "its input is a shape"},
    {"Range", "computes positions"},
};

// Ops whose operands never hold the rows of a batch, in any of their samples.
const std::set<OpId> kWithoutRows{{"", "Constant"},
                                  {"", "ConstantOfShape"},
                                  {"", "Range"},
                                  {kOnwardDomain, "Select"},  // scalars
                                  {kOnwardDomain, "AllFinite"},
                                  {kOnwardDomain, "AllReduce"},
                                  {kOnwardDomain, "ClipByNorm"},
                                  {kOnwardDomain, "GlobalNorm"},
                                  {kOnwardDomain, "AdamStep"},
                                  {kOnwardDomain, "MomentumStep"},
                                  {kOnwardDomain, "SgdStep"}};  // parameters

bool is_lowered(const OpId& id) { return kAlwaysLowered.contains(id); }

template <typename Condition>
std::vector<OpId> ops_with(Condition&& condition) {
  std::vector<OpId> ids;
  for (const auto& [id, def] : registry().ops()) {
    if (condition(def)) ids.push_back(id);
  }
  return ids;
}

std::vector<OpId> all_ops() {
  return ops_with([](const OpDef&) { return true; });
}
std::vector<OpId> ops_with_kernels() {
  return ops_with([](const OpDef& def) { return !is_lowered(def.id); });
}
std::vector<OpId> ops_with_gradients() {
  return ops_with([](const OpDef& def) { return def.gradient && !is_lowered(def.id); });
}

std::string test_name(const testing::TestParamInfo<OpId>& info) {
  std::string name = info.param.domain.empty() ? "" : info.param.domain + "_";
  name += info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

class OpTest : public testing::TestWithParam<OpId> {
 protected:
  const OpDef& def() const { return registry().op(GetParam()); }
  std::vector<SampleCase> samples() const { return def().samples ? def().samples() : std::vector<SampleCase>{}; }
  bool lowered() const { return is_lowered(GetParam()); }

  // Calls check(sample); a failure or an exception names the op and the sample.
  template <typename Check>
  void for_each_sample(Check&& check) {
    for (const SampleCase& sample : samples()) {
      SCOPED_TRACE(to_string(GetParam()) + ", sample " + sample.name);
      try {
        check(sample);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
};

class OpRecord : public OpTest {};
class OpGradient : public OpTest {};
class OpKernels : public OpTest {};

INSTANTIATE_TEST_SUITE_P(Conformance, OpRecord, testing::ValuesIn(all_ops()), test_name);
INSTANTIATE_TEST_SUITE_P(Conformance, OpGradient, testing::ValuesIn(ops_with_gradients()), test_name);
INSTANTIATE_TEST_SUITE_P(Conformance, OpKernels, testing::ValuesIn(ops_with_kernels()), test_name);

TEST_P(OpRecord, IsComplete) {
  EXPECT_NE(def().infer, nullptr) << "no shape rule";
  EXPECT_FALSE(def().summary.empty()) << "no summary";
  EXPECT_TRUE(lowered() || !samples().empty()) << "no sample cases";
  EXPECT_EQ(GetParam().domain.empty(), !def().versions.empty()) << "exactly the standard ops list versions";
  EXPECT_TRUE(std::is_sorted(def().versions.begin(), def().versions.end()));
  bool floating = false;
  for_each_sample([&](const SampleCase& sample) {
    const OpCase made = make_case(def(), sample, DType::kFloat64);
    bool in = false, out = false;
    for (const MaybeTensor& tensor : made.inputs) in |= tensor && is_floating(tensor->dtype());
    for (const Value* value : made.node->outputs()) out |= value && is_floating(value->type.dtype);
    floating |= in && out;
    if (lowered()) return;
    EXPECT_NE(registry().kernel(kernel_spec(*made.node), Backend::kCpu, 0), nullptr) << "no plain fp64 kernel";
    const OpCase single = make_case(def(), sample, DType::kFloat32);
    EXPECT_NE(registry().kernel(kernel_spec(*single.node), Backend::kCpu, 0), nullptr) << "no plain fp32 kernel";
  });
  if (GetParam().domain.empty() && floating && !kWithoutGradient.contains(GetParam().name)) {
    EXPECT_NE(def().gradient, nullptr) << "a standard op on real numbers without a gradient";
    const auto list = samples();
    EXPECT_TRUE(std::any_of(list.begin(), list.end(), [](const SampleCase& s) { return !s.gradients.empty(); }))
        << "no sample checks the gradient";
  }
}

// The gradient rule, run on plain kernels, against central differences in fp64. Each wanted input alone gives the same
// as all together.
TEST_P(OpGradient, MatchesFiniteDifferences) {
  for_each_sample([&](const SampleCase& sample) {
    if (sample.gradients.empty()) return;
    OpCase made = make_case(def(), sample, DType::kFloat64);
    std::vector<MaybeTensor> dys(made.node->outputs().size());
    for (int k : sample.gradient_outputs) {
      const Value* y = made.node->output(static_cast<std::size_t>(k));
      dys[static_cast<std::size_t>(k)] =
          random_tensor(DType::kFloat64, y->type.shape(), -1, 1, 1000 + static_cast<uint64_t>(k));
    }
    std::vector<bool> wanted(made.inputs.size(), false);
    for (int i : sample.gradients) wanted[static_cast<std::size_t>(i)] = true;
    const std::vector<MaybeTensor> together = gradients_by_rule(made, dys, wanted);

    for (int i : sample.gradients) {
      SCOPED_TRACE("input " + std::to_string(i));
      const auto index = static_cast<std::size_t>(i);
      const HostTensor zero(DType::kFloat64, made.inputs[index]->shape());
      const HostTensor found = together[index].value_or(zero);
      ASSERT_EQ(found.type(), made.inputs[index]->type());
      const std::vector<double> values = found.to_double();
      double scale = 0;
      for (double value : values) scale = std::max(scale, std::fabs(value));
      for (const auto& [position, derivative] : gradient_by_differences(made, dys, index)) {
        const double value = values[static_cast<std::size_t>(position)];
        ASSERT_NEAR(value, derivative, 1e-6 * (std::fabs(derivative) + scale) + 1e-8) << "at element " << position;
      }
      OpCase alone = make_case(def(), sample, DType::kFloat64);
      std::vector<bool> one(made.inputs.size(), false);
      one[index] = true;
      EXPECT_TRUE(same_bits(gradients_by_rule(alone, dys, one)[index].value_or(zero), found)) << "wanted alone";
    }
  });
}

TEST_P(OpKernels, AgreeWithThePlainFp64One) {
  for (const KernelDef* kernel : registry().kernels(GetParam(), Backend::kCpu)) {
    bool reached = false;
    for_each_sample([&](const SampleCase& sample) {
      // Both, whatever type the kernel is found under: the learning rate of an optimizer is float64 beside float32
      // parameters.
      for (const DType dtype : {DType::kFloat64, DType::kFloat32})
        reached |= check_kernel(def(), sample, *kernel, dtype, {1, 2});
    });
    EXPECT_TRUE(reached) << "no sample reaches the " << dtype_name(kernel->dtype) << " kernel of priority "
                         << kernel->priority;
  }
}

TEST_P(OpKernels, TakeABatchOfZeroRows) {
  bool applied = false;
  for_each_sample([&](const SampleCase& sample) {
    const std::optional<OpCase> made = zero_row_case(def(), sample, DType::kFloat64);
    if (!made) return;
    applied = true;
    const std::vector<MaybeTensor> outputs = run_node(*made->node, made->inputs, 1 << 30);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i] || made->node->output(i)->distribution != Distribution::kPartial) continue;
      for (double value : outputs[i]->to_double()) ASSERT_EQ(value, 0) << "a sum over no rows, output " << i;
    }
  });
  EXPECT_NE(applied, kWithoutRows.contains(GetParam())) << "whether dimension 0 of some sample can be a batch";
}

}  // namespace
}  // namespace onward::test
