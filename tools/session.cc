#include "tools/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "ops/core/registry.h"
#include "runtime/autotune.h"
#include "tools/log.h"
#include "tools/option_groups.h"

namespace onward::cli {

namespace {

std::vector<const Value*> data_inputs(const Graph& graph) {
  std::vector<const Value*> inputs;
  for (const Value* value : graph.inputs()) {
    if (value->role == Role::kInput) inputs.push_back(value);
  }
  return inputs;
}

// Before the passes, whose messages are about nodes.
void check_element_types(const Graph& graph) {
  for (const Value* input : graph.inputs()) {
    const DType dtype = input->type.dtype;
    if (is_floating(dtype) || is_integer(dtype) || dtype == DType::kBool) continue;
    throw Error(ErrorKind::kModel, fmt::format("expected numbers for the input '{}' of the model, found {}",
                                               input->name(), input->type.text()));
  }
}

void check_image(const Value& input) {
  if (input.type.dtype == DType::kFloat32 || input.type.dtype == DType::kFloat64) return;
  throw Error(ErrorKind::kModel,
              fmt::format("expected float32 images for the input '{}' of the model, because data are normalised before "
                          "it reads them, found {}; change the input's type and leave out its Cast",
                          input.name(), input.type.text()));
}

void read_inputs(const Graph& graph, Session& session) {
  const std::vector<const Value*> inputs = data_inputs(graph);
  if (inputs.size() != 1) {
    std::vector<std::string> names;
    for (const Value* input : inputs) names.push_back("'" + input->name() + "'");
    throw Error(ErrorKind::kModel, fmt::format("expected a model with one data input, found {}{}", inputs.size(),
                                               names.empty() ? "" : fmt::format(": {}", fmt::join(names, ", "))));
  }
  check_image(*inputs.front());
  session.inputs.image = inputs.front()->name();
  session.inputs.label = session.loss.label;
  const Shape shape = inputs.front()->type.shape();
  session.sample.assign(shape.begin() + 1, shape.end());
  session.dtype = inputs.front()->type.dtype;
  for (const Value* state : graph.values_with_role(Role::kState)) {
    if (state->distribution == Distribution::kLocal) session.local_state.push_back(state->name());
  }
}

// The layout in which the plan takes the images.
Layout image_layout(const Session& session, ProgramMode mode, int64_t local_batch) {
  const Plan& plan = session.replicas->plan({mode, local_batch});
  for (const PlanInput& input : plan.inputs) {
    if (input.name == session.inputs.image) return plan.buffers[static_cast<std::size_t>(input.buffer)].layout;
  }
  return Layout::kRowMajor;
}

SyntheticOptions synthetic_options(const Options& options, const Session& session) {
  SyntheticOptions synthetic;
  if (session.sample.size() == 3) synthetic.shape = {session.sample[0], session.sample[1], session.sample[2]};
  if (session.loss.classes > 0) synthetic.classes = session.loss.classes;
  synthetic.seed = static_cast<uint64_t>(options.integer("seed", 0));
  return synthetic;
}

void check_classes(const Session& session, const Dataset& data) {
  if (session.loss.classes > 0 && data.class_count() > session.loss.classes) {
    throw Error(ErrorKind::kData, fmt::format("expected a model with at least {} classes for '{}', found {} scores per "
                                              "sample in '{}'; build the model with --classes {}",
                                              data.class_count(), data.source, session.loss.classes,
                                              session.loss.scores, data.class_count()));
  }
  if (session.loss.classes > data.class_count()) {
    warn(fmt::format("the model tells {} classes apart, the data set '{}' has {}", session.loss.classes, data.source,
                     data.class_count()));
  }
}

// A list that says nothing about this model is a mistake; parts of it may be of convolutions that are not computed now,
// such as the gradients of frozen parameters.
void check_choice(const std::set<std::string>& chosen, const std::map<std::string, KernelSpec>& choices) {
  std::vector<std::string> known, unknown;
  for (const auto& [key, spec] : choices) known.push_back(key);
  std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(unknown),
               [&](const std::string& key) { return !choices.contains(key); });
  if (unknown.empty()) return;
  const std::string text = fmt::format(
      "--autotune to name convolutions of the model that Winograd can compute ({}), "
      "found '{}'",
      known.empty() ? "there are none" : fmt::format("{}", fmt::join(known, ", ")), fmt::join(unknown, ","));
  if (unknown.size() == chosen.size()) throw Error(ErrorKind::kUsage, "expected " + text);
  warn("expected " + text + ", which changes nothing");
}

}  // namespace

Session open_session(const Model& model, const ProgramOptions& program_options, const std::vector<Device>& devices,
                     ProgramMode mode, int64_t global_batch, ReplicaOptions replica_options, bool tune) {
  Session session;
  session.devices = devices;
  session.program = std::make_unique<ModelProgram>(model, program_options);
  const auto shares = split_batch(global_batch, static_cast<int64_t>(devices.size()));
  check_element_types(session.program->prepared());
  const Graph graph = session.program->program({mode, shares.front().count});
  if (const auto loss = session.program->loss()) session.loss = *loss;
  read_inputs(graph, session);
  for (const std::string& fact : session.program->facts()) say(fact);
  for (const std::string& warning : session.program->warnings()) warn(warning);
  const PlannerOptions planner{.threads = devices.front().threads};
  if (tune) {
    replica_options.winograd_for = autotune(graph, registry(), planner);
  } else if (!replica_options.winograd_for.empty()) {
    check_choice(replica_options.winograd_for, winograd_choices(graph, registry(), planner));
  }
  session.winograd_for = replica_options.winograd_for;
  session.replicas = std::make_unique<ReplicaGroup>(*session.program, devices, registry(), replica_options);
  session.replicas->prepare({mode, shares.front().count});
  return session;
}

Dataset open_data(const Options& options, const Session& session, Split split) {
  const std::string path = options.text("data");
  const DatasetKind kind = parse_dataset_kind(options.text("dataset"));
  if (path.empty() && kind != DatasetKind::kSynthetic) {
    throw Error(ErrorKind::kUsage, "expected --data PATH (or --dataset synthetic), found none");
  }
  Dataset data = open_dataset(path.empty() ? "synthetic" : path, kind, split, synthetic_options(options, session));
  check_classes(session, data);
  return data;
}

std::unique_ptr<Loader> open_loader(const Options& options, const Session& session, const Dataset& data,
                                    ProgramMode mode, bool training) {
  const Fit fit = fit_images(data.shape, session.sample, parse_fit(options.text("fit")));
  const auto seed = static_cast<uint64_t>(options.integer("seed", 0));
  const Augmentation changes = training ? augmentation(options) : Augmentation{};
  const int64_t batch = options.integer("batch-size", 1);
  SamplerOptions sampling{.samples = data.count(),
                          .batch_size = batch,
                          .shuffle = training,
                          .drop_last = training && options.flag("drop-last"),
                          .seed = seed};
  LoaderOptions loading;
  loading.replicas = static_cast<int64_t>(session.devices.size());
  loading.workers = static_cast<int>(options.integer("workers", 0, 1024));
  loading.dtype = session.dtype;
  const int64_t share = split_batch(batch, loading.replicas).front().count;
  if (fit.sample.size() == 3) loading.layout = image_layout(session, mode, share);
  return std::make_unique<Loader>(data, Transform(fit, normalisation(options, data.name), changes, seed), sampling,
                                  loading);
}

}  // namespace onward::cli
