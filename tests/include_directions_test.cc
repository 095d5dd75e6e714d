// The folders' include directions, read from the #include lines: graph <- ops <- passes; graph <- models; ops <-
// runtime; tools and tests may include everything. Protobuf appears in the ONNX sources only.
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/support/text_files.h"

namespace onward::test {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::set<std::string>> kMayInclude = {{"graph", {"graph"}},
                                                                  {"ops", {"graph", "ops"}},
                                                                  {"passes", {"graph", "ops", "passes"}},
                                                                  {"models", {"graph", "models"}},
                                                                  {"runtime", {"graph", "ops", "runtime"}}};

std::vector<std::string> includes_of(const fs::path& path, const std::regex& form) {
  std::vector<std::string> found;
  std::istringstream text(read_text(path.string()));
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (std::regex_search(line, match, form)) found.push_back(match[1]);
  }
  return found;
}

std::vector<fs::path> sources(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_dir()) / folder)) {
    const std::string extension = entry.path().extension();
    if (extension == ".h" || extension == ".cc" || extension == ".cu") paths.push_back(entry.path());
  }
  return paths;
}

TEST(IncludeDirections, EveryFolderIncludesOnlyWhatItMay) {
  const std::regex quoted("^\\s*#include \"([a-z_]+)/");
  std::size_t checked = 0;
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const fs::path& path : sources(folder)) {
      for (const std::string& target : includes_of(path, quoted)) {
        EXPECT_TRUE(allowed.contains(target)) << path << " includes from " << target << "/";
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 20u);
}

TEST(IncludeDirections, ProtobufStaysInSourcesOfGraph) {
  const std::regex protobuf("^\\s*#include [<\"]((onnx|google/protobuf)[/_].*)[>\"]");
  for (const char* folder : {"graph", "ops", "passes", "models", "runtime", "tools"}) {
    for (const fs::path& path : sources(folder)) {
      if (includes_of(path, protobuf).empty()) continue;
      EXPECT_EQ(path.parent_path().filename(), "graph") << path;
      EXPECT_EQ(path.extension(), ".cc") << path;
    }
  }
}

TEST(IncludeDirections, NoConditionalCompilationInLogic) {
  // What a build leaves out is a source file left out; the exception names the processor, not an option.
  const std::set<std::string> exceptions = {"denormals.cc"};
  const std::regex conditional("^\\s*#\\s*(if|ifdef|ifndef)\\b(.*)$");
  for (const char* folder : {"graph", "ops", "passes", "models", "runtime", "tools"}) {
    for (const fs::path& path : sources(folder)) {
      if (exceptions.contains(path.filename())) continue;
      EXPECT_TRUE(includes_of(path, conditional).empty()) << path;
    }
  }
}

}  // namespace
}  // namespace onward::test
