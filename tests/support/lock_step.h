#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace onward::test {

using NamedTensors = std::map<std::string, HostTensor>;

// Several simulated replicas that run their programs node by node on the calling thread, with no plan and no device:
// the reference for passes and runtime. Replicas stop at each collective and go on when all have reached it; that they
// reach the same one, by op, id and operands, is expected of the programs.
class LockStep {
 public:
  struct Options {
    int max_priority = 0;        // the plain kernels
    bool fill_with_nan = false;  // outputs hold NaN before a kernel writes them
  };
  explicit LockStep(int replicas) : LockStep(replicas, Options()) {}
  LockStep(int replicas, Options options) : stores_(static_cast<std::size_t>(replicas)), options_(options) {}

  // Runs one program per replica with its inputs by name; afterwards the updates take effect. Parameters and state
  // start from the data of the first program that has them. Returns the outputs by name, per replica.
  std::vector<NamedTensors> run(const std::vector<const Graph*>& programs, const std::vector<NamedTensors>& inputs);

  // The value of a parameter or state on a replica.
  const HostTensor& stored(const std::string& name, std::size_t replica = 0) const {
    return stores_.at(replica).at(name);
  }
  void set_stored(const std::string& name, HostTensor value) {
    for (NamedTensors& store : stores_) store[name] = value;
  }
  const NamedTensors& store(std::size_t replica = 0) const { return stores_.at(replica); }
  // Collectives run so far, as every replica has issued them: "AllReduce 3".
  const std::vector<std::string>& collectives() const { return collectives_; }

 private:
  std::vector<NamedTensors> stores_;
  Options options_;
  std::vector<std::string> collectives_;
};

}  // namespace onward::test
