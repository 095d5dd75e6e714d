// onward ops: what is supported, read from the registry.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/core/registry.h"
#include "tools/command.h"

namespace onward::cli {
namespace {

// The element types for which a backend has kernels; "any" for kernels of every type.
std::set<std::string> kernel_types(const OpId& op, Backend backend) {
  std::set<std::string> types;
  for (const KernelDef* kernel : registry().kernels(op, backend)) {
    types.insert(kernel->dtype == DType::kUndefined ? "any" : dtype_name(kernel->dtype));
  }
  return types;
}

nlohmann::json describe(const OpDef& def) {
  nlohmann::json kernels = nlohmann::json::object();
  for (const Backend backend : {Backend::kCpu, Backend::kCuda}) {
    const auto types = kernel_types(def.id, backend);
    if (!types.empty()) kernels[backend_name(backend)] = types;
  }
  return {{"name", def.id.name},
          {"domain", def.id.domain},
          {"opsets", def.versions},
          {"summary", def.summary},
          {"gradient", def.gradient != nullptr},
          {"kernels", kernels},
          {"communicates", def.communicates}};
}

using Row = std::vector<std::string>;

Row row(const OpDef& def) {
  return {to_string(def.id),
          fmt::format("{}", fmt::join(def.versions, ",")),
          def.gradient ? "yes" : "no",
          fmt::format("{}", fmt::join(kernel_types(def.id, Backend::kCpu), ",")),
          fmt::format("{}", fmt::join(kernel_types(def.id, Backend::kCuda), ",")),
          def.summary};
}

// Columns as wide as their widest entry.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size() + 2);
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format("{:<{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

int run(const Options& options) {
  if (options.flag("json")) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [id, def] : registry().ops()) list.push_back(describe(def));
    fmt::print("{}\n", nlohmann::json{{"ops", list}}.dump());
    return 0;
  }
  std::vector<Row> rows{{"op", "opsets", "gradient", "cpu", "cuda", "what it is"}};
  for (const auto& [id, def] : registry().ops()) rows.push_back(row(def));
  fmt::print("{}", table(rows));
  return 0;
}

}  // namespace

Command ops_command() {
  return {{.name = "ops",
           .summary = "list ops, their opsets, backends, types and gradients",
           .max_positional = 0,
           .options = {{"Outputs", "json", "", "", "one JSON object"}}},
          run};
}

}  // namespace onward::cli
