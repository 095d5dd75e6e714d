#include "runtime/parameter_store.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "graph/error.h"
#include "runtime/plan.h"

namespace onward {

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void ParameterStore::Free::operator()(std::byte* memory) const { std::free(memory); }

void ParameterStore::add(const Graph& graph) {
  add_role(graph, Role::kParameter);
  add_role(graph, Role::kState);
}

void ParameterStore::add_role(const Graph& graph, Role role) {
  std::vector<const Value*> missing;
  std::size_t total = 0;
  for (const Value* value : graph.values_with_role(role)) {
    const auto found = entries_.find(value->name());
    if (found == entries_.end()) {
      missing.push_back(value);
      total += aligned(static_cast<std::size_t>(element_count(value->type.shape())) * dtype_size(value->type.dtype));
    } else if (found->second.dtype != value->type.dtype || found->second.shape != value->type.shape()) {
      throw Error(
          ErrorKind::kModel,
          fmt::format("expected the {} '{}' to be {}, as in an earlier program, found {}", role_name(role),
                      value->name(), TensorType(found->second.dtype, found->second.shape).text(), value->type.text()));
    }
  }
  if (missing.empty()) return;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, total + kAlignment));
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, total + kAlignment);
  blocks_.emplace_back(memory);
  bytes_ += total;
  for (const Value* value : missing) {
    Entry entry{value->name(), role, value->type.dtype, value->type.shape()};
    entry.bytes = static_cast<std::size_t>(element_count(entry.shape)) * dtype_size(entry.dtype);
    entry.data = memory;
    memory += aligned(entry.bytes);
    entries_.emplace(entry.name, entry);
    if (!value->data.empty()) write(entry.name, value->data);
  }
}

const ParameterStore::Entry& ParameterStore::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw Error(ErrorKind::kModel,
                fmt::format("there is no parameter or state '{}' among the {} of the program", name, entries_.size()));
  }
  return found->second;
}

HostTensor ParameterStore::read(const std::string& name) const {
  const Entry& found = entry(name);
  HostTensor tensor(found.dtype, found.shape);
  if (found.bytes) std::memcpy(tensor.edit(), found.data, found.bytes);
  return tensor;
}

void ParameterStore::write(const std::string& name, const HostTensor& tensor) {
  const Entry& found = entry(name);
  if (tensor.dtype() != found.dtype || tensor.shape() != found.shape) {
    throw Error(ErrorKind::kModel,
                fmt::format("expected {} for '{}', found {}", TensorType(found.dtype, found.shape).text(), name,
                            tensor.type().text()));
  }
  if (found.bytes) std::memcpy(found.data, tensor.data(), found.bytes);
}

uint64_t ParameterStore::signature() const {
  std::string text;
  for (const auto& [name, entry] : entries_) {
    text += fmt::format("{} {}:{};", role_name(entry.role), name, TensorType(entry.dtype, entry.shape).text());
  }
  return XXH3_64bits(text.data(), text.size());
}

uint64_t ParameterStore::hash(Role role) const {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for (const auto& [name, entry] : entries_) {
    if (entry.role != role) continue;
    const std::string head = fmt::format("{}:{};", name, TensorType(entry.dtype, entry.shape).text());
    XXH3_64bits_update(state.get(), head.data(), head.size());
    XXH3_64bits_update(state.get(), entry.data, entry.bytes);
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace onward
