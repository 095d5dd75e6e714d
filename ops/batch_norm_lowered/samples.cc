#include "ops/batch_norm_lowered/samples.h"

#include <fmt/format.h>

namespace onward {
namespace {

using Inputs = std::vector<std::optional<SampleInput>>;

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes{{3, 5, 4, 6},    {2, 16, 9, 8},  {2, 64, 5, 5},  {2, 130, 3, 3},
                                          {1, 3, 40, 40},  {5, 7},         {9, 256},       {2, 3, 9},
                                          {2, 16, 24, 24}, {1, 261, 2, 3}, {2, 4, 2, 3, 2}};
  return kShapes;
}

SampleInput image(const Shape& shape) { return {.shape = shape, .low = -2, .high = 3}; }
SampleInput vector(const Shape& shape, double low, double high) {
  return {.shape = {shape[1]}, .low = low, .high = high};
}
SampleInput exact(Shape shape, double low, double high) {
  return {.shape = std::move(shape), .low = low, .high = high, .exact_type = true};
}

std::string name_of(const Shape& shape, const std::string& more = "") { return to_string(shape) + more; }

// Shapes on which every combination of options runs; on the others only the richest.
bool runs_all_options(const Shape& shape) {
  return shape == shapes()[0] || shape == shapes()[1] || shape == shapes()[3];
}

// mean, inv_std, scale, bias
void add_affine(Inputs& inputs, const Shape& shape) {
  inputs.push_back(vector(shape, -0.5, 1));
  inputs.push_back(vector(shape, 0.5, 2));
  inputs.push_back(vector(shape, -1.5, 1.5));
  inputs.push_back(vector(shape, -1, 1));
}

SampleInput statistics(int64_t replicas, const std::vector<double>& values) {
  const auto width = static_cast<int64_t>(values.size()) / (replicas > 0 ? replicas : 1);
  return {.shape = replicas > 0 ? Shape{replicas, width} : Shape{width}, .values = values, .exact_type = true};
}

}  // namespace

std::vector<SampleCase> batch_norm_statistics_samples() {
  std::vector<SampleCase> cases;
  for (const Shape& shape : shapes()) cases.push_back({.name = name_of(shape), .inputs = {image(shape)}});
  cases.push_back(
      {.name = "far from zero", .inputs = {SampleInput{.shape = {2, 3, 20, 20}, .low = 999, .high = 1001}}});
  return cases;
}

std::vector<SampleCase> batch_norm_finalize_samples() {
  const SampleInput mean{.shape = {2}, .low = -1, .high = 1}, variance{.shape = {2}, .low = 0.5, .high = 2};
  const Attributes attributes{{"epsilon", 1e-3}, {"momentum", 0.8}};
  Attributes unbiased = attributes;
  unbiased.set("unbiased", int64_t{1});
  const std::vector<double> three{1, 2, 3, 4, 5, 0, 0, 0, 0, 0, -1, 0.5, 2, 0, 7};
  return {{.name = "one",
           .inputs = {statistics(0, {0.5, -1, 6, 0, 8}), mean, variance},
           .outputs = 5,
           .attributes = attributes},
          {.name = "three replicas, one empty",
           .inputs = {statistics(3, three), mean, variance},
           .outputs = 5,
           .attributes = attributes},
          {.name = "unbiased", .inputs = {statistics(3, three), mean, variance}, .outputs = 5, .attributes = unbiased},
          {.name = "no rows at all",
           .inputs = {statistics(0, {0, 0, 0, 0, 0}), mean, variance},
           .outputs = 5,
           .attributes = attributes}};
}

std::vector<SampleCase> batch_norm_apply_samples() {
  std::vector<SampleCase> cases;
  for (const Shape& shape : shapes()) {
    for (const bool residual : {false, true}) {
      for (const bool relu : {false, true}) {
        if (!runs_all_options(shape) && !(residual && relu)) continue;
        Inputs inputs{image(shape)};
        add_affine(inputs, shape);
        if (residual) inputs.push_back(image(shape));
        cases.push_back(
            {.name = name_of(shape, fmt::format("{}{}", residual ? ", residual" : "", relu ? ", relu" : "")),
             .inputs = inputs,
             .attributes = {{"relu", int64_t{relu}}}});
      }
    }
  }
  return cases;
}

std::vector<SampleCase> batch_norm_grad_reduce_samples() {
  std::vector<SampleCase> cases;
  for (const Shape& shape : shapes()) {
    for (const char* mask : {"none", "recompute", "y"}) {
      for (const bool addend : {false, true}) {
        for (const int outputs : {1, 2}) {
          if (!runs_all_options(shape) && !(addend && outputs == 2)) continue;
          Inputs inputs{image(shape), image(shape)};
          add_affine(inputs, shape);
          inputs.push_back(std::string(mask) == "y" ? std::optional(image(shape)) : std::nullopt);
          if (addend) inputs.push_back(image(shape));
          cases.push_back({.name = name_of(shape, fmt::format(", mask {}{}{}", mask, addend ? ", two gradients" : "",
                                                              outputs > 1 ? ", keeps g" : "")),
                           .inputs = inputs,
                           .outputs = outputs,
                           .attributes = {{"mask", std::string(mask)}}});
        }
      }
    }
  }
  const Shape shape{2, 3, 4, 4};
  cases.push_back({.name = "no scale and bias",
                   .inputs = {image(shape), image(shape), vector(shape, -0.5, 1), vector(shape, 0.5, 2)},
                   .attributes = {{"mask", std::string("none")}}});
  return cases;
}

std::vector<SampleCase> batch_norm_grad_apply_samples() {
  std::vector<SampleCase> cases;
  for (const Shape& shape : shapes()) {
    for (const char* mask : {"none", "recompute"}) {
      const auto count = static_cast<double>(element_count(shape) / shape[1]);
      Inputs inputs{image(shape), image(shape), vector(shape, -0.5, 1), vector(shape, 0.5, 2),
                    vector(shape, -1.5, 1.5)};
      inputs.push_back(exact({2 * shape[1]}, -count, count));
      inputs.push_back(SampleInput{.shape = {}, .values = {count}, .exact_type = true});
      if (std::string(mask) == "recompute") inputs.push_back(vector(shape, -1, 1));
      cases.push_back({.name = name_of(shape, std::string(", mask ") + mask),
                       .inputs = inputs,
                       .attributes = {{"mask", std::string(mask)}}});
    }
  }
  return cases;
}

std::vector<SampleCase> batch_norm_grad_parameters_samples() {
  std::vector<SampleCase> cases;
  for (const DType to : {DType::kFloat64, DType::kFloat32}) {
    cases.push_back({.name = dtype_name(to),
                     .inputs = {exact({10}, -3, 3)},
                     .outputs = 2,
                     .attributes = {{"to", static_cast<int64_t>(to)}}});
  }
  return cases;
}

}  // namespace onward
