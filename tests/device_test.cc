#include "runtime/device.h"

#include "graph/error.h"

namespace onward::test {
namespace {

TEST(Devices, ShareTheThreads) {
  EXPECT_EQ(parse_devices("auto", 4).size(), 1u);
  EXPECT_EQ(parse_devices("cpu", 4)[0].threads, 4);
  const auto three = parse_devices("cpu:3", 8);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[2].text(), "cpu:2");
  EXPECT_EQ(three[2].threads, 2);
  EXPECT_EQ(parse_devices("cpu:4", 2)[3].threads, 1);
  EXPECT_GE(parse_devices("cpu")[0].threads, 1);
}

TEST(Devices, RefuseWhatIsNotThere) {
  for (const char* text : {"cuda", "cuda:0,1", "cuda*2"}) {
    try {
      parse_devices(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDevice);
      EXPECT_THAT(error.message(), testing::HasSubstr("no CUDA plugin"));
    }
  }
  for (const char* text : {"", "cpu:", "cpu:0", "cpu:x", "cpu:2x", "cpu:-1", "gpu", "cudax"}) {
    try {
      parse_devices(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << text;
    }
  }
}

}  // namespace
}  // namespace onward::test
