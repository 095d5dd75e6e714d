#include "passes/bind_batch.h"

#include <fmt/format.h>

#include <set>

#include "graph/error.h"

namespace onward {
namespace {

class BatchBinder {
 public:
  BatchBinder(Graph& graph, const ProgramOptions& options, int64_t rows) : options_(options), rows_(rows) {
    for (Value* input : graph.inputs()) {
      if (input->role == Role::kInput) inputs_.push_back(input);
    }
  }

  int64_t run() {
    check_options();
    find_batch();
    for (Value* input : inputs_) bind(*input);
    return fixed_rows_;
  }

 private:
  void check_options() const {
    std::set<std::string> names;
    for (const Value* input : inputs_) names.insert(input->name());
    for (const auto& [name, shape] : options_.input_shapes) {
      if (!names.contains(name)) {
        throw Error(ErrorKind::kUsage,
                    fmt::format("expected the name of an input of the model, found '{}'; the inputs are: {}", name,
                                fmt::join(names, ", ")));
      }
    }
  }

  static bool has_rows(const Value& input) { return input.type.dims && !input.type.dims->empty(); }

  void find_batch() {
    const Dim* fixed = nullptr;
    for (const Value* input : inputs_) {
      if (!has_rows(*input) || options_.input_shapes.contains(input->name())) continue;
      const Dim& first = input->type.dims->front();
      any_open_ |= !first.known();
      if (!first.known() && !first.name.empty()) batch_names_.insert(first.name);
      if (first.known() && !fixed) fixed = &first;
    }
    if (!any_open_ && fixed) fixed_rows_ = fixed->value;
  }

  bool is_batch(const Dim& dim) const {
    return !dim.known() || dim.value == 1 || (fixed_rows_ > 0 && dim.value == fixed_rows_);
  }

  void bind(Value& input) const {
    const auto exact = options_.input_shapes.find(input.name());
    if (exact != options_.input_shapes.end()) return bind_exactly(input, exact->second);
    if (!input.type.dims) {
      throw Error(ErrorKind::kModel,
                  fmt::format("expected the input '{}' to have a known number of dimensions, found {}; "
                              "give its shape",
                              input.name(), input.type.text()));
    }
    const TensorType declared = input.type;
    for (std::size_t axis = 0; axis < declared.dims->size(); ++axis) {
      (*input.type.dims)[axis] = Dim(size_of(input, declared, axis));
    }
  }

  void bind_exactly(Value& input, const Shape& shape) const {
    std::vector<Dim> dims;
    for (const int64_t size : shape) dims.emplace_back(size < 0 ? rows_ : size);
    if (input.type.dims && input.type.dims->size() != dims.size()) {
      throw Error(ErrorKind::kUsage, fmt::format("expected a shape for the input '{}' of {}, found {} dimensions",
                                                 input.name(), input.type.text(), dims.size()));
    }
    input.type.dims = dims;
  }

  int64_t size_of(const Value& input, const TensorType& declared, std::size_t axis) const {
    const Dim& dim = (*declared.dims)[axis];
    if (axis == 0 && is_batch(dim)) return rows_;
    if (dim.known()) return dim.value;
    if (batch_names_.contains(dim.name)) return rows_;
    throw Error(
        ErrorKind::kModel,
        fmt::format("expected a number for dimension {} of the input '{}', found {}; only the batch may be left "
                    "open: export the model with a number there",
                    axis, input.name(), declared.text()));
  }

  const ProgramOptions& options_;
  int64_t rows_;
  std::vector<Value*> inputs_;
  std::set<std::string> batch_names_;
  bool any_open_ = false;   // some input leaves its dimension 0 open
  int64_t fixed_rows_ = 0;  // what all of them fix it at
};

}  // namespace

int64_t bind_batch(Graph& graph, const ProgramOptions& options, int64_t rows) {
  return BatchBinder(graph, options, rows).run();
}

}  // namespace onward
