#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onward {

// What the loss of a step is divided by: the value of the scalar input kLossDenominator. The loss of an evaluation
// program is a sum over its rows, which the host adds up and divides by the same number, taken over all of them.
enum class LossDenominator : uint8_t {
  kNone,          // by 1: the loss of the file is a sum
  kSamples,       // samples of the global batch
  kLabelWeights,  // sum over the global batch of the class weights (1 without weights) of the labels that are not
                  // ignored
};

// What the host has to know about the loss of a program, as plain data.
struct LossInfo {
  std::string value;    // the scalar that is differentiated: "loss", or the name of the output asked for
  std::string scores;   // the [N, classes] value that predictions are read from; empty if there is none
  std::string label;    // the label input; empty if the loss reads no class labels
  int64_t classes = 0;  // 0 if the loss reads no class labels
  std::optional<int64_t> ignore_index;  // labels equal to it do not count
  std::vector<double> class_weights;    // one per class; empty: all 1
  LossDenominator denominator = LossDenominator::kSamples;
};

}  // namespace onward
