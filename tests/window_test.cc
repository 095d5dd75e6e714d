#include "ops/core/window.h"

#include "graph/error.h"

namespace onward::test {
namespace {

using Ints = std::vector<int64_t>;
using testing::ElementsAre;

TEST(Window, CountsFullWindowsOnly) {
  const Window window = make_window({{"strides", Ints{2}}}, {8}, {3});
  EXPECT_THAT(window.output, ElementsAre(3));
}

TEST(Window, CeilModeAddsTheWindowThatReachesPastTheEnd) {
  EXPECT_THAT(make_window({{"strides", Ints{2}}, {"ceil_mode", int64_t{1}}}, {8}, {3}).output, ElementsAre(4));
  EXPECT_THAT(make_window({{"strides", Ints{2}}, {"ceil_mode", int64_t{1}}}, {4}, {2}).output, ElementsAre(2));
}

// The last window must start inside the input or the padding before it: over 3 elements padded by 1, a third window of
// 2 with stride 2 would start at 4, past the input's end.
TEST(Window, CeilModeDropsAWindowThatStartsInTheEndPadding) {
  const Attributes attributes{{"strides", Ints{2}}, {"pads", Ints{1, 1}}, {"ceil_mode", int64_t{1}}};
  EXPECT_THAT(make_window(attributes, {3}, {2}).output, ElementsAre(2));
  EXPECT_THAT(make_window(attributes, {4}, {2}).output, ElementsAre(3));
}

TEST(Window, AutoPadKeepsTheSize) {
  const Window upper = make_window({{"auto_pad", "SAME_UPPER"}, {"strides", Ints{2}}}, {5}, {4});
  EXPECT_THAT(upper.output, ElementsAre(3));
  EXPECT_THAT(upper.pads_begin, ElementsAre(1));
  EXPECT_THAT(upper.pads_end, ElementsAre(2));
  const Window lower = make_window({{"auto_pad", "SAME_LOWER"}, {"strides", Ints{2}}}, {5}, {4});
  EXPECT_THAT(lower.pads_begin, ElementsAre(2));
  EXPECT_THAT(lower.pads_end, ElementsAre(1));
  // A stride larger than the window leaves nothing to pad.
  const Window sparse = make_window({{"auto_pad", "SAME_UPPER"}, {"strides", Ints{3}}}, {5}, {1});
  EXPECT_THAT(sparse.output, ElementsAre(2));
  EXPECT_THAT(sparse.pads_end, ElementsAre(0));
}

TEST(Window, ExplicitFormGivesTheSameWindow) {
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    for (int64_t size = 3; size < 12; ++size) {
      for (int64_t stride = 1; stride < 4; ++stride) {
        Attributes attributes{
            {"auto_pad", pad}, {"strides", Ints{stride}}, {"dilations", Ints{2}}, {"ceil_mode", int64_t{1}}};
        const Window window = make_window(attributes, {size}, {2});
        make_explicit(attributes, window);
        EXPECT_FALSE(attributes.has("auto_pad"));
        EXPECT_EQ(make_window(attributes, {size}, {2}).output, window.output) << pad << size << stride;
      }
    }
  }
}

TEST(Window, TapsNameInputsAndPadding) {
  const Window window = make_window({{"strides", Ints{2}}, {"pads", Ints{1, 0}}, {"ceil_mode", int64_t{1}}}, {4}, {3});
  ASSERT_THAT(window.output, ElementsAre(2));
  EXPECT_THAT(window_taps(window), ElementsAre(kTapInPadding, 0, 1, 1, 2, 3));
  const Window past = make_window({{"strides", Ints{2}}, {"ceil_mode", int64_t{1}}}, {4}, {3});
  EXPECT_THAT(window_taps(past), ElementsAre(0, 1, 2, 2, 3, kTapBeyondPadding));
}

TEST(Window, InverseListsEveryTapOnce) {
  const Window window =
      make_window({{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 2}}, {"dilations", Ints{1, 2}}}, {5, 6}, {3, 2});
  const std::vector<int32_t> taps = window_taps(window);
  const TapInverse inverse = invert_taps(window, taps);
  std::size_t inside = 0;
  for (const int32_t q : taps) inside += q >= 0;
  EXPECT_EQ(inverse.entries.size(), inside);
  for (std::size_t q = 0; q + 1 < inverse.begin.size(); ++q) {
    for (int32_t e = inverse.begin[q]; e < inverse.begin[q + 1]; ++e) {
      const auto entry = inverse.entries[static_cast<std::size_t>(e)];
      EXPECT_EQ(taps[static_cast<std::size_t>(entry.output * window.positions() + entry.position)],
                static_cast<int32_t>(q));
    }
  }
}

TEST(Window, RefusesWhatDoesNotFit) {
  EXPECT_THROW(make_window({}, {2}, {3}), Error);
  EXPECT_THROW(make_window({{"pads", Ints{1}}}, {4}, {3}), Error);
  EXPECT_THROW(make_window({{"strides", Ints{0}}}, {4}, {3}), Error);
  EXPECT_THROW(make_window({{"auto_pad", "SAME"}}, {4}, {3}), Error);
  EXPECT_THROW(make_window({}, {4, 4}, {3}), Error);
  EXPECT_THROW(spatial_of({4, 5}), Error);
}

}  // namespace
}  // namespace onward::test
