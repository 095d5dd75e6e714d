#include "tests/support/kernel_check.h"

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "tests/support/kernel_driver.h"

namespace onward::test {
namespace {

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 1e-11;
    case DType::kFloat32: return 1e-5;
    default: return 2e-2;
  }
}

void expect_same_bits(const std::vector<MaybeTensor>& found, const std::vector<MaybeTensor>& expected) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    if (!found[i]) continue;
    EXPECT_TRUE(same_bits(*found[i], *expected[i]));
  }
}

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
std::optional<OpCase> empty_case(const OpDef& def, const SampleCase& sample, const std::vector<std::size_t>& split,
                                 DType dtype) {
  try {
    OpCase made = make_case(def, without_rows(sample, split), dtype);
    for (Value* value : made.graph.inputs()) value->distribution = Distribution::kReplicated;
    for (std::size_t i : split) made.node->input(i)->distribution = Distribution::kBatchSplit;
    distribute_node(*made.node, 2, registry());
    return made;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<MaybeTensor> widened(const std::vector<MaybeTensor>& tensors) {
  std::vector<MaybeTensor> wide = tensors;
  for (MaybeTensor& tensor : wide) {
    if (tensor && is_floating(tensor->dtype())) tensor = tensor->cast(DType::kFloat64);
  }
  return wide;
}

void expect_close_in(DType dtype, const std::vector<MaybeTensor>& found, const std::vector<MaybeTensor>& expected,
                     double slack) {
  const double relative = tolerance(dtype) * slack;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    ASSERT_EQ(found[i].has_value(), expected[i].has_value());
    if (!found[i]) continue;
    EXPECT_TRUE(all_close(*found[i], *expected[i], relative, relative * 1e-3));
  }
}

bool check_kernel(const OpDef& def, const SampleCase& sample, const KernelDef& kernel, DType dtype,
                  const std::vector<int>& team_sizes) {
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
    for (const int threads : team_sizes) {
      SCOPED_TRACE(std::to_string(threads) + " threads");
      const KernelRun run{.threads = threads, .same = layout};
      const auto first = run_kernel(kernel, spec, made.inputs, run);
      expect_close_in(dtype, first, expected, changes_rounding ? 20 : 1);
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

std::optional<OpCase> zero_row_case(const OpDef& def, const SampleCase& sample, DType dtype) {
  for (const auto& split : possible_splits(sample)) {
    std::optional<OpCase> made = empty_case(def, sample, split, dtype);
    if (made) return made;
  }
  return std::nullopt;
}

}  // namespace onward::test
