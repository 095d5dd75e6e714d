// The order of all passes, and the only place that knows it.
#include "passes/pass.h"

namespace onward {

std::vector<Pass> preparation_pipeline(const ProgramOptions&) {
  std::vector<Pass> passes;
  return passes;
}

std::vector<Pass> pass_pipeline(const ProgramOptions&, const ProgramRequest&) {
  std::vector<Pass> passes;
  return passes;
}

}  // namespace onward
