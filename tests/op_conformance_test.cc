// Every registered op on the sample cases of its record. A new op is covered without being named here.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"
#include "ops/core/registry.h"
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
    {"Expand", "becomes onward::BroadcastTo"},   {"Constant", "has no inputs"},
    {"ConstantOfShape", "its input is a shape"}, {"Range", "computes positions"},
    {"Ceil", "its derivative is zero"},          {"Floor", "its derivative is zero"},
    {"Round", "its derivative is zero"},         {"Sign", "its derivative is zero"},
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

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 1e-11;
    case DType::kFloat32: return 1e-5;
    default: return 2e-2;
  }
}

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

// The tensors of a sample rounded to `dtype`, in fp64: what a kernel in `dtype` is compared on.
std::vector<MaybeTensor> widened(const std::vector<MaybeTensor>& tensors) {
  std::vector<MaybeTensor> wide = tensors;
  for (MaybeTensor& tensor : wide) {
    if (tensor && is_floating(tensor->dtype())) tensor = tensor->cast(DType::kFloat64);
  }
  return wide;
}

void expect_close(const std::vector<MaybeTensor>& found, const std::vector<MaybeTensor>& expected, double relative) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    ASSERT_EQ(found[i].has_value(), expected[i].has_value());
    if (!found[i]) continue;
    EXPECT_TRUE(all_close(*found[i], *expected[i], relative, relative * 1e-3));
  }
}

void expect_same_bits(const std::vector<MaybeTensor>& found, const std::vector<MaybeTensor>& expected) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    if (!found[i]) continue;
    EXPECT_TRUE(same_bits(*found[i], *expected[i]));
  }
}

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

// Every kernel of the op, in every layout it takes, on 1 and 2 threads, against the plain fp64 kernel; twice the same
// bits; whatever outputs and workspace held before; and in place where the record allows it. Returns whether the kernel
// takes the sample.
bool check_kernel(const OpDef& def, const SampleCase& sample, const KernelDef& kernel, DType dtype) {
  const OpCase made = make_case(def, sample, dtype);
  KernelSpec spec = kernel_spec(*made.node);
  // Algorithms that change rounding beyond the order of additions ask for the permission, and get a wider tolerance.
  const bool changes_rounding = kernel.accepts && !kernel.accepts(spec);
  spec.winograd = true;
  const bool fits = kernel.dtype == DType::kUndefined || kernel.dtype == kernel_dtype(spec);
  if (!fits || (kernel.accepts && !kernel.accepts(spec))) return false;
  SCOPED_TRACE(dtype_name(dtype) + ", " + kernel.make(spec)->describe() + ", priority " +
               std::to_string(kernel.priority));

  const OpCase exact = make_case(def, sample, widened(made.inputs));
  const std::vector<MaybeTensor> expected = run_node(*exact.node, exact.inputs, 0);
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    if (layout == Layout::kChannelsLast && !takes_any_layout(kernel, spec)) continue;
    SCOPED_TRACE(layout == Layout::kRowMajor ? "row-major" : "channels-last");
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(std::to_string(threads) + " threads");
      const KernelRun run{.threads = threads, .same = layout};
      const auto first = run_kernel(kernel, spec, made.inputs, run);
      expect_close(first, expected, tolerance(dtype) * (changes_rounding ? 20 : 1));
      expect_same_bits(run_kernel(kernel, spec, made.inputs, run), first);
      KernelRun zeros = run;
      zeros.garbage = 0;
      {
        SCOPED_TRACE("buffers held zeros instead of NaN before");
        expect_same_bits(run_kernel(kernel, spec, made.inputs, zeros), first);
      }
      for (const InPlacePair& pair : in_place_pairs(def, *made.node)) {
        const auto in = static_cast<std::size_t>(pair.input), out = static_cast<std::size_t>(pair.output);
        if (!spec.has_input(in) || !spec.has_output(out)) continue;
        KernelSpec laid_out = spec;
        assign_layouts(kernel, layout, laid_out);
        const Operand &a = laid_out.inputs[in], &b = laid_out.outputs[out];
        if (a.layout != b.layout || a.shape != b.shape || a.dtype != b.dtype) continue;
        SCOPED_TRACE("output " + std::to_string(out) + " in place of input " + std::to_string(in));
        KernelRun shared = run;
        shared.in_place = pair;
        expect_same_bits(run_kernel(kernel, spec, made.inputs, shared), first);
      }
    }
  }
  return true;
}

TEST_P(OpKernels, AgreeWithThePlainFp64One) {
  for (const KernelDef* kernel : registry().kernels(GetParam(), Backend::kCpu)) {
    bool reached = false;
    for_each_sample([&](const SampleCase& sample) {
      // Both, whatever type the kernel is found under: the learning rate of an optimizer is float64 beside float32
      // parameters.
      for (const DType dtype : {DType::kFloat64, DType::kFloat32})
        reached |= check_kernel(def(), sample, *kernel, dtype);
    });
    EXPECT_TRUE(reached) << "no sample reaches the " << dtype_name(kernel->dtype) << " kernel of priority "
                         << kernel->priority;
  }
}

// ---- a batch of zero rows

// The sample with dimension 0 of the given inputs set to zero, and of the shapes among the attributes that start with
// the same number of rows.
SampleCase without_rows(const SampleCase& sample, const std::vector<std::size_t>& split) {
  SampleCase empty = sample;
  const int64_t rows = sample.inputs[split.front()]->shape[0];
  for (std::size_t i : split) {
    empty.inputs[i]->shape[0] = 0;
    empty.inputs[i]->values.clear();
  }
  for (const char* name : {"shape", "input_shape"}) {
    if (!sample.attributes.has(name)) continue;
    std::vector<int64_t> shape = sample.attributes.get_ints(name);
    if (!shape.empty() && shape[0] == rows) shape[0] = 0;
    empty.attributes.set(name, shape);
  }
  return empty;
}

// Which inputs hold the rows of a batch: input 0 and those with as many rows, or input 0 alone.
std::vector<std::vector<std::size_t>> possible_splits(const SampleCase& sample) {
  if (sample.inputs.empty() || !sample.inputs[0] || sample.inputs[0]->shape.empty()) return {};
  const int64_t rows = sample.inputs[0]->shape[0];
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const auto& input = sample.inputs[i];
    if (input && !input->shape.empty() && input->shape[0] == rows) all.push_back(i);
  }
  if (all.size() == 1) return {all};
  return {all, {0}};
}

// The op on an empty share; nullopt if neither its distribution rule nor its shape rule takes such a split.
std::optional<OpCase> empty_case(const OpDef& def, const SampleCase& sample, const std::vector<std::size_t>& split) {
  try {
    OpCase made = make_case(def, without_rows(sample, split), DType::kFloat64);
    for (Value* value : made.graph.inputs()) value->distribution = Distribution::kReplicated;
    for (std::size_t i : split) made.node->input(i)->distribution = Distribution::kBatchSplit;
    distribute_node(*made.node, 2, registry());
    return made;
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST_P(OpKernels, TakeABatchOfZeroRows) {
  bool applied = false;
  for_each_sample([&](const SampleCase& sample) {
    for (const auto& split : possible_splits(sample)) {
      const std::optional<OpCase> made = empty_case(def(), sample, split);
      if (!made) continue;
      applied = true;
      const std::vector<MaybeTensor> outputs = run_node(*made->node, made->inputs, 1 << 30);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i] || made->node->output(i)->distribution != Distribution::kPartial) continue;
        for (double value : outputs[i]->to_double()) ASSERT_EQ(value, 0) << "a sum over no rows, output " << i;
      }
      break;
    }
  });
  EXPECT_NE(applied, kWithoutRows.contains(GetParam())) << "whether dimension 0 of some sample can be a batch";
}

}  // namespace
}  // namespace onward::test
