#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace onward {

// The parameters and state of one replica, between steps and outside any plan: row-major in ONNX order, 64-byte
// aligned, one flat block of memory for the parameters and one for the state of each graph added. Addresses never
// change.
class ParameterStore {
 public:
  struct Entry {
    std::string name;
    Role role = Role::kParameter;  // or kState
    DType dtype = DType::kUndefined;
    Shape shape;
    std::size_t bytes = 0;
    std::byte* data = nullptr;
  };

  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  // Adds the graph's parameters and state that the store does not have yet, with their initial values (zeros where the
  // graph has none). Those that it has keep their values; Error(kModel) if their type differs.
  void add(const Graph& graph);

  // In order of name.
  const std::map<std::string, Entry>& entries() const { return entries_; }
  bool has(const std::string& name) const { return entries_.contains(name); }
  // Error(kModel) for an unknown name.
  const Entry& entry(const std::string& name) const;

  // Copies, between steps only.
  HostTensor read(const std::string& name) const;
  // Error(kModel) if the type or shape is not the entry's.
  void write(const std::string& name, const HostTensor& tensor);

  // xxHash of names, types and bytes of the entries with this role, in order of name: equal stores have equal hashes.
  uint64_t hash(Role role) const;
  // xxHash of names, roles and types of all entries: stores of one model have equal signatures, whatever their values.
  uint64_t signature() const;
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  void add_role(const Graph& graph, Role role);

  std::map<std::string, Entry> entries_;
  std::vector<std::unique_ptr<std::byte[], Free>> blocks_;
  std::size_t bytes_ = 0;
};

}  // namespace onward
