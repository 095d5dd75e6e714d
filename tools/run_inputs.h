#pragma once
#include <map>
#include <string>

#include "graph/graph.h"

namespace onward::cli {

// The tensor as int64. Error(kData) naming the first element that is not a whole number; `what` says whose they are.
HostTensor whole_numbers(const HostTensor& tensor, const std::string& what);

// Checks one tensor per input of the model against the declared types and against each other, and returns the rows of
// the batch: dimension 0 of the first input that has one. Dimension 0 may differ from what the file fixes where that is
// a batch size: a 1, or what all inputs share. Error(kData): another number of dimensions, another size than the file
// fixes, one symbolic dimension with two sizes, batch inputs with different rows; with several replicas every input
// that has dimensions is split and must have the rows of the batch. `label` names an input whose rows the caller
// checks.
int64_t count_rows(const Graph& graph, const std::map<std::string, HostTensor>& tensors, int64_t replicas,
                   const std::string& label = "");

// Error(kData) with both numbers if there is not one label (or one row of labels) for each row of the batch. `label` is
// the type that the file has.
void check_label_rows(const TensorType& label, int64_t rows, const std::string& file);

}  // namespace onward::cli
