// The documentation names what there is.
#include <filesystem>

#include "tests/support/paths.h"
#include "tests/support/text_files.h"
#include "tools/command.h"

namespace onward::cli {
namespace {

std::string read(const std::string& file) { return test::read_text(test::source_dir() + "/" + file); }

TEST(Documentation, EveryCommandAndOptionHasALine) {
  const std::string page = read("docs/command-line.md");
  for (const Command& command : all_commands()) {
    EXPECT_NE(page.find("\n## onward " + command.spec.name), std::string::npos) << command.spec.name;
    for (const OptionSpec& option : command.spec.options) {
      const std::string name = "`--" + option.name;
      const bool found = page.find(name + "`") != std::string::npos || page.find(name + " ") != std::string::npos;
      EXPECT_TRUE(found) << "onward " << command.spec.name << " --" << option.name;
    }
  }
}

TEST(Documentation, EveryLinkedPageExists) {
  for (const char* page : {"README.md", "CONTRIBUTING.md"}) {
    const std::string text = read(page);
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2)) {
      const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      if (target.rfind("http", 0) == 0) continue;
      EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(test::source_dir()) / target))
          << page << ": " << target;
    }
  }
}

}  // namespace
}  // namespace onward::cli
