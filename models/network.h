#pragma once
#include <string>

#include "graph/graph.h"
#include "models/initialise.h"

namespace onward {

struct ConvOptions {
  int64_t channels = 0;  // of the output
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t pad = 0;
  bool bias = false;
};

struct PoolOptions {
  int64_t kernel = 2;
  int64_t stride = 2;
  int64_t pad = 0;
};

enum class LinearInit : uint8_t { kUniform, kKaimingNormal };

// Appends layers to a graph. `name` is the layer's path as PyTorch writes it ("layer1.0.conv1"): the node and its
// output carry it, parameters are "<name>.weight" and so on. Images are float32[N,C,H,W]; the batch dimension N is
// symbolic. Error(kUsage) from the layer whose output would have no pixels.
class Network {
 public:
  // input: C, H, W
  Network(const std::string& name, const std::string& doc, const Shape& input, uint64_t seed);

  Value& input() { return *graph_.inputs()[0]; }
  Value& conv(const std::string& name, Value& x, const ConvOptions& options);
  Value& batch_norm(const std::string& name, Value& x);
  Value& relu(const std::string& name, Value& x);
  Value& max_pool(const std::string& name, Value& x, const PoolOptions& options);
  Value& global_average_pool(const std::string& name, Value& x);
  Value& flatten(const std::string& name, Value& x);
  Value& linear(const std::string& name, Value& x, int64_t outputs, LinearInit init = LinearInit::kUniform);
  Value& add(const std::string& name, Value& a, Value& b);

  // Names the model's output and gives the graph away.
  Graph finish(Value& logits);

 private:
  Value& parameter(const std::string& layer, const std::string& name, HostTensor data);
  Value& layer(const char* op, const std::string& name, std::vector<Value*> inputs, const Shape& row,
               const std::string& doc, Attributes attributes = {});

  Graph graph_;
  Initialiser initialiser_;
};

// The dimensions behind the batch: C, H, W of an image.
Shape row_shape(const Value& value);

}  // namespace onward
