#pragma once
#include <gtest/gtest.h>

#include <string>

#include "graph/error.h"

namespace onward::test {

// Expects `run` to throw an Error of `kind` whose full text (message and notes) contains `part`.
template <typename Run>
void expect_error(ErrorKind kind, const std::string& part, Run run) {
  try {
    run();
    ADD_FAILURE() << "expected an error with \"" << part << "\", found none";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << "expected \"" << part << "\" in:\n"
                                                                       << error.what();
  }
}

}  // namespace onward::test
