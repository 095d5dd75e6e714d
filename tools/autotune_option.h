#pragma once
#include <set>
#include <string>

#include "runtime/checkpoint.h"
#include "tools/options.h"

namespace onward::cli {

// --autotune is empty (off), "measure", "direct" (measured: Winograd is nowhere faster), or the keys of autotune.h with
// commas between them: what config.json and checkpoints hold, so that a run can be repeated bit for bit.
void check_autotune(const Options& options);  // Error(kUsage) for anything else, and together with --winograd
bool asks_to_measure(const Options& options);
std::set<std::string> chosen_algorithms(const Options& options);
std::string autotune_text(const std::set<std::string>& winograd_for);

// Takes the choice of the run that made the checkpoint, if this one would measure again.
void adopt_choice(Options& options, const Checkpoint& checkpoint);

}  // namespace onward::cli
