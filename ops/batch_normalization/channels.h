#pragma once
// The arithmetic that every form of batch normalization shares, written for clarity: the plain kernels are made of it.
// All sums are in double.
#include <cmath>
#include <cstdint>
#include <string>

#include "graph/types.h"

namespace onward {

// A tensor (N, C, spatial...) as seen per channel. A tensor of rank 1 has one channel.
struct ChannelView {
  int64_t batch = 0;
  int64_t channels = 1;
  int64_t spatial = 1;  // positions of one channel of one sample

  explicit ChannelView(const Shape& shape) {
    batch = shape.empty() ? 1 : shape[0];
    if (shape.size() > 1) channels = shape[1];
    for (std::size_t i = 2; i < shape.size(); ++i) spatial *= shape[i];
  }
  int64_t values_per_channel() const { return batch * spatial; }
  // Calls body(begin, end) for each run of the channel's elements in row-major memory.
  template <typename Body>
  void for_each_run(int64_t channel, Body&& body) const {
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t begin = (n * channels + channel) * spatial;
      body(begin, begin + spatial);
    }
  }
};

// Count, mean and sum of squared deviations from the mean of some numbers. No numbers: all zero.
struct Moments {
  double count = 0;
  double mean = 0;
  double m2 = 0;

  // Joins the moments of further numbers (Chan, Golub, LeVeque: Algorithms for computing the sample variance, 1983).
  void merge(const Moments& other) {
    if (other.count == 0) return;
    const double total = count + other.count, delta = other.mean - mean;
    mean += delta * (other.count / total);
    m2 += other.m2 + delta * delta * (count * other.count / total);
    count = total;
  }
  double population_variance() const { return count > 0 ? m2 / count : 0; }
};

// In two passes: first the mean, then deviations from it.
template <typename T>
Moments channel_moments(const T* x, const ChannelView& view, int64_t channel) {
  Moments moments;
  moments.count = static_cast<double>(view.values_per_channel());
  if (moments.count == 0) return moments;
  double sum = 0;
  view.for_each_run(channel, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) sum += static_cast<double>(x[i]);
  });
  moments.mean = sum / moments.count;
  view.for_each_run(channel, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const double deviation = static_cast<double>(x[i]) - moments.mean;
      moments.m2 += deviation * deviation;
    }
  });
  return moments;
}

// The rule by which running statistics follow those of a batch. ONNX: running * momentum + batch * (1 - momentum), with
// the population variance; `unbiased` takes m2 / (count - 1) instead, as PyTorch does.
struct RunningRule {
  double momentum = 0.9;
  bool unbiased = false;

  // No numbers leave the running statistics as they are.
  double mean(double running, const Moments& batch) const {
    return batch.count > 0 ? blend(running, batch.mean) : running;
  }
  double variance(double running, const Moments& batch) const {
    if (batch.count == 0) return running;
    return blend(running, unbiased ? batch.m2 / (batch.count - 1) : batch.population_variance());
  }

 private:
  double blend(double running, double batch) const { return running * momentum + batch * (1 - momentum); }
};

inline double inverse_deviation(double variance, double epsilon) { return 1 / std::sqrt(variance + epsilon); }

// Error(kModel) when a batch has one value per channel: its variance says nothing. `node` is how messages name the
// node.
void check_values_per_channel(double count, const std::string& node);

}  // namespace onward
