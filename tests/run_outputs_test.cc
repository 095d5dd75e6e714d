#include "tools/run_outputs.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/error.h"
#include "graph/tensor_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace onward::cli {
namespace {

TEST(RunOutputs, WritesTensorsAndAManifest) {
  const test::TemporaryFolder temporary;
  const std::string path = temporary.file("outputs");
  OutputFolder folder(path);
  folder.add("block/conv.weight", "gradient", ".grad", HostTensor::from<float>({2}, {1, 2}));
  folder.write();
  EXPECT_EQ(read_tensor_file(path + "/block_conv.weight.grad.npy").values<float>()[1], 2);
  const nlohmann::json manifest = nlohmann::json::parse(test::read_text(path + "/manifest.json"));
  EXPECT_EQ(manifest.at(0).at("name"), "block/conv.weight");
  EXPECT_EQ(manifest.at(0).at("kind"), "gradient");
}

TEST(RunOutputs, TwoNamesForOneFileAreAnErrorBeforeAnythingIsWritten) {
  const test::TemporaryFolder temporary;
  const std::string path = temporary.file("colliding");
  OutputFolder folder(path);
  folder.add("a/b", "output", "", HostTensor::scalar<float>(1));
  folder.add("a_b", "output", "", HostTensor::scalar<float>(2));
  EXPECT_THROW(folder.write(), Error);
  EXPECT_TRUE(std::filesystem::is_empty(path));
}

TEST(RunOutputs, RowsSplitAndJoinAgain) {
  const HostTensor whole = HostTensor::from<int64_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  const std::vector<HostTensor> parts = {slice_rows(whole, 0, 2), slice_rows(whole, 2, 0), slice_rows(whole, 2, 1)};
  EXPECT_EQ(parts[1].shape(), (Shape{0, 2}));
  const HostTensor joined = join_rows(parts);
  EXPECT_EQ(joined.shape(), whole.shape());
  EXPECT_EQ(joined.to_int64(), whole.to_int64());
}

}  // namespace
}  // namespace onward::cli
