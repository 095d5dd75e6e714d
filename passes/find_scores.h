#pragma once
#include <string>

#include "passes/pass.h"

namespace onward {

// The value that a classifier's predictions are read from.
struct Scores {
  Value* value = nullptr;  // floats, one row a sample; [N, classes] once trailing dimensions of size 1 are dropped
  std::string output;      // the output of the graph that it was found by
  std::string behind;      // "Softmax" or "LogSoftmax" if that node lies between the two, else empty
};

// The one output with scores for at least two classes; the scores before a Softmax or LogSoftmax at its end.
// Error(kModel) listing the outputs if none or several qualify.
Scores find_scores(const Graph& graph, const PassContext& context);

// nullptr if no output qualifies or several do.
Value* find_only_scores(const Graph& graph, const PassContext& context);

}  // namespace onward
