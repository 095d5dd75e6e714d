#pragma once
#include <vector>

#include "passes/options.h"
#include "runtime/checkpoint.h"
#include "runtime/data/augment.h"
#include "runtime/data/normalise.h"
#include "runtime/device.h"
#include "runtime/schedule.h"
#include "tools/options.h"

namespace onward::cli {

// Options that several commands share, by group, each written down once.
std::vector<OptionSpec> data_options();       // --data ... --drop-last
std::vector<OptionSpec> device_options();     // --devices ... --bucket-mib
std::vector<OptionSpec> precision_options();  // --precision, --seed
std::vector<OptionSpec> optimizer_options();  // --loss, --optimizer ... --freeze
std::vector<OptionSpec> schedule_options();   // --epochs ... --accumulate

// All options of `onward train`; the config.json of a run holds their values.
std::vector<OptionSpec> train_options();

// Groups joined, in order.
std::vector<OptionSpec> join(std::vector<std::vector<OptionSpec>> groups);

// What the options mean for the passes. Reads only options that the command has (`has` below).
ProgramOptions program_options(const Options& options, int replicas);
// The same for the programs of `onward train`, which looks at every gradient for values that are not finite.
ProgramOptions training_options(const Options& options, int replicas);

// The values of --devices (with --threads), --normalize and --augment; mistakes come with the nearest valid word.
std::vector<Device> chosen_devices(const Options& options);
Normalisation normalisation(const Options& options, const std::string& dataset);
Augmentation augmentation(const Options& options);

BatchNormMode batch_norm_mode(const Options& options);
// What the replicas' own running statistics count as under --bn.
LocalState local_state(const Options& options);
OptimizerKind optimizer_kind(const std::string& name);
DType precision(const Options& options);

// The schedule for a run of `steps_per_epoch` optimizer steps an epoch and `total_steps` in all, its base rate scaled
// for the global batch (accumulation included).
Schedule schedule(const Options& options, int64_t steps_per_epoch, int64_t total_steps, int64_t global_batch);

}  // namespace onward::cli
