#include "ops/core/cuda/convert_layout.h"

#include <cstring>

#include "graph/error.h"
#include "ops/core/layout.h"

namespace onward::test {
namespace {

std::vector<unsigned char> numbered(std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 37 + i / 251);
  return data;
}

TEST(ConvertLayoutOnDevice, MovesTheSameBytesAsTheCpu) {
  const std::vector<Shape> shapes{{2, 3, 4, 5},  {1, 64, 7, 9}, {3, 33, 65}, {2, 5, 2, 3, 4}, {4, 1, 6, 6},
                                  {5, 70, 1, 1}, {0, 3, 4, 4},  {7, 9},      {2, 128, 8, 8}};
  for (const Shape& shape : shapes) {
    for (const std::size_t size : {1, 2, 4, 8}) {
      const auto bytes = static_cast<std::size_t>(element_count(shape)) * size;
      const std::vector<unsigned char> source = numbered(bytes);
      for (const auto& [from, to] :
           {std::pair(Layout::kRowMajor, Layout::kChannelsLast), std::pair(Layout::kChannelsLast, Layout::kRowMajor),
            std::pair(Layout::kChannelsLast, Layout::kChannelsLast)}) {
        SCOPED_TRACE(to_string(shape) + " of " + std::to_string(size) + " bytes, from " + layout_name(from));
        std::vector<unsigned char> expected(bytes), found(bytes, 0xff);
        convert_layout(source.data(), from, expected.data(), to, shape, size);
        convert_layout_on_device(source.data(), from, found.data(), to, shape, size, nullptr);
        EXPECT_EQ(found, expected);
      }
    }
  }
}

TEST(ConvertLayoutOnDevice, RefusesOtherElementSizes) {
  EXPECT_THROW(
      convert_layout_on_device(nullptr, Layout::kRowMajor, nullptr, Layout::kChannelsLast, {2, 3, 4, 4}, 3, nullptr),
      Error);
}

}  // namespace
}  // namespace onward::test
