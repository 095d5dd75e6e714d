#pragma once
#include <string>
#include <vector>

#include "tools/compare.h"

namespace onward::cli {

// Why a test does not apply. The list is closed: what is not on it and does not pass is a failure.
enum class SkipClass {
  kUnsupportedOp,    // a node of the model is of an op, or of a version of it, that `onward ops` does not list
  kUnsupportedType,  // the ops are there, but not for these element types
  kNotATensor,       // sequences, optional values, maps, sparse tensors
  kRandomNumbers,    // the result depends on the generator of another program
};
std::string skip_name(SkipClass skip);

enum class TestStatus { kPassed, kFailed, kSkipped };

struct TestResult {
  TestStatus status = TestStatus::kPassed;
  SkipClass skip = SkipClass::kUnsupportedOp;  // kSkipped only
  std::string detail;                          // what differs, or what is not supported
};

// The folders at or below `folder` that hold a model.onnx, in order of name. Error(kData) if there is none.
std::vector<std::string> find_test_cases(const std::string& folder);

// Runs the model of a test folder on every test_data_set_*: input_*.pb for its inputs in order, output_*.pb for what
// its outputs must be. Never throws what a model or its data cause: that is a failed test.
TestResult run_test_case(const std::string& folder, const Tolerance& tolerance, int threads);

}  // namespace onward::cli
