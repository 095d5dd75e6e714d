// onward bench: the time of whole training steps on generated data.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/error.h"
#include "graph/random.h"
#include "graph/scalars.h"
#include "tools/command.h"
#include "tools/log.h"
#include "tools/option_groups.h"
#include "tools/session.h"
#include "tools/trace_file.h"

namespace onward::cli {
namespace {

std::vector<OptionSpec> bench_options() {
  return join(
      {{{"Benchmark", "batch-size", "N", "64", "global batch size"},
        {"Benchmark", "steps", "N", "10", "timed steps"},
        {"Benchmark", "warmup", "N", "2", "steps before them"},
        {"Benchmark", "winograd", "", "", "3x3 convolutions by Winograd's algorithm: faster, rounds differently"},
        {"Benchmark", "trace", "FILE", "", "write a Chrome trace of the last step"},
        {"Benchmark", "json", "", "", "print one JSON object"}},
       device_options(),
       optimizer_options(),
       precision_options()});
}

// One batch of standard normal images and labels that go round the classes.
std::vector<StepFeeds> generated_feeds(const Session& session, int64_t batch) {
  const RandomStream stream(0, RandomPurpose::kSyntheticData);
  std::vector<StepFeeds> feeds;
  for (const BatchShare& share : split_batch(batch, static_cast<int64_t>(session.devices.size()))) {
    Shape shape = session.sample;
    shape.insert(shape.begin(), share.count);
    std::vector<double> pixels(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = stream.normal(0, i);
    std::vector<int64_t> labels(static_cast<std::size_t>(share.count));
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<int64_t>(i) % std::max<int64_t>(1, session.loss.classes);
    StepFeeds feed;
    feed.local_batch = share.count;
    feed.tensors[session.inputs.image] = {HostTensor::from<double>(shape, pixels).cast(session.dtype),
                                          Layout::kRowMajor};
    if (!session.inputs.label.empty())
      feed.tensors[session.inputs.label] = {HostTensor::from<int64_t>({share.count}, labels), Layout::kRowMajor};
    feed.scalars = {{kLearningRate, 1e-3},
                    {kLossDenominator, static_cast<double>(batch)},
                    {kGlobalBatch, static_cast<double>(batch)},
                    {kSampleOffset, static_cast<double>(share.first)}};
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

std::vector<double> time_steps(const Options& options, Session& session, std::vector<StepFeeds>& feeds) {
  const int64_t warmup = options.integer("warmup", 0), steps = options.integer("steps", 1);
  std::vector<double> times;
  for (int64_t step = 0; step < warmup + steps; ++step) {
    for (StepFeeds& feed : feeds) {
      feed.scalars[kOptimizerStep] = static_cast<double>(step + 1);
      feed.scalars[kRandomStep] = static_cast<double>(step);
    }
    const bool traced = options.given("trace") && step + 1 == warmup + steps;
    if (traced) session.replicas->start_trace();
    const auto begin = std::chrono::steady_clock::now();
    session.replicas->run(ProgramMode::kTrain, feeds);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    if (step >= warmup) times.push_back(elapsed.count());
    if (traced) write_trace(options.text("trace"), session.replicas->stop_trace());
  }
  return times;
}

// Kernel -> number of steps that use it.
std::map<std::string, int> kernels_in_use(const Plan& plan) {
  std::map<std::string, int> kernels;
  for (const PlanStep& step : plan.steps) {
    if (step.kind == StepKind::kKernel) ++kernels[step.op.name + ": " + step.kernel];
  }
  return kernels;
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int run(const Options& options) {
  const std::vector<Device> devices = chosen_devices(options);
  const int64_t batch = options.integer("batch-size", static_cast<int64_t>(devices.size()));
  ReplicaOptions replica_options;
  replica_options.winograd = options.flag("winograd");
  const Model model = Model::load(options.positional().front());
  Session session = open_session(model, program_options(options, static_cast<int>(devices.size())), devices,
                                 ProgramMode::kTrain, batch, replica_options);
  std::vector<StepFeeds> feeds = generated_feeds(session, batch);
  std::vector<double> times = time_steps(options, session, feeds);
  std::sort(times.begin(), times.end());
  const double median = (times[times.size() / 2] + times[(times.size() - 1) / 2]) / 2;
  double flops = 0;
  for (int r = 0; r < session.replicas->size(); ++r) {
    flops += session.replicas->plan({ProgramMode::kTrain, feeds[static_cast<std::size_t>(r)].local_batch}, r).flops();
  }
  const Plan& plan = session.replicas->plan({ProgramMode::kTrain, feeds.front().local_batch});
  int threads = 0;
  for (const Device& device : devices) threads += device.threads;
  const nlohmann::ordered_json result = {{"images_per_second", static_cast<double>(batch) / median * 1e3},
                                         {"step_ms", median},
                                         {"step_ms_min", times.front()},
                                         {"step_ms_max", times.back()},
                                         {"steps", times.size()},
                                         {"batch_size", batch},
                                         {"replicas", devices.size()},
                                         {"threads", threads},
                                         {"precision", options.text("precision")},
                                         {"optimizer", options.text("optimizer")},
                                         {"peak_rss_mib", peak_rss_mib()},
                                         {"arena_mib", static_cast<double>(plan.arena_bytes) / (1 << 20)},
                                         {"flops_per_second", flops / median * 1e3},
                                         {"layout_conversions", plan.conversions()},
                                         {"kernels", kernels_in_use(plan)}};
  if (options.flag("json")) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print(
        "{:.1f} images/s, step {:.2f} ms (min {:.2f}, max {:.2f}, {} steps), {:.1f} GFLOP/s, peak memory {:.0f} MiB\n",
        result["images_per_second"].get<double>(), median, times.front(), times.back(), times.size(),
        flops / median / 1e6, peak_rss_mib());
  }
  return 0;
}

}  // namespace

Command bench_command() {
  return {{.name = "bench",
           .summary = "time whole training steps on generated data",
           .positional = "M.onnx",
           .min_positional = 1,
           .max_positional = 1,
           .options = bench_options()},
          run};
}

}  // namespace onward::cli
