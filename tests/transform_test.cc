#include "runtime/data/transform.h"

#include <fmt/format.h>

#include <numeric>
#include <set>

#include "graph/error.h"
#include "tests/support/expect_error.h"

namespace onward::test {
namespace {

Fit same(ImageShape shape) { return fit_images(shape, {shape.channels, shape.height, shape.width}, FitMode::kNone); }

std::vector<int> place(const std::vector<uint8_t>& image, const Fit& fit, const AugmentChoice& choice) {
  std::vector<uint8_t> out(static_cast<std::size_t>(fit.output.count()), 99);
  place_image(image, fit, choice, out);
  return {out.begin(), out.end()};
}

TEST(Normalise, C4_NamedConstants) {
  const NormaliseTable cifar(parse_normalisation("cifar10", ""), 3);
  EXPECT_NEAR(cifar.value(0, 128), 0.042756, 1e-6);
  EXPECT_NEAR(cifar.value(1, 128), 0.081153, 1e-6);
  EXPECT_NEAR(cifar.value(2, 128), 0.212006, 1e-6);
  const NormaliseTable imagenet(parse_normalisation("imagenet", ""), 3);
  for (int c = 0; c < 3; ++c) {
    const double mean[]{.485, .456, .406}, std_dev[]{.229, .224, .225};
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(imagenet.value(c, static_cast<uint8_t>(byte)),
                static_cast<float>((byte / 255.0 - mean[c]) / std_dev[c]));
    }
  }
  const NormaliseTable none(parse_normalisation("none", ""), 3);
  EXPECT_EQ(none.value(2, 255), 1.0f);
  EXPECT_EQ(none.value(2, 51), 0.2f);
}

TEST(Normalise, AutoGoesByTheDataSet) {
  for (const char* name : {"cifar10", "cifar100", "mnist", "fashion-mnist"}) {
    EXPECT_EQ(parse_normalisation("auto", name).mean, parse_normalisation(name, "").mean);
  }
  EXPECT_EQ(parse_normalisation("auto", "synthetic").mean, (std::vector<double>{0}));
  EXPECT_EQ(parse_normalisation("imagenet", "cifar10").mean[0], .485);
}

TEST(Normalise, GivenConstants) {
  const Normalisation given = parse_normalisation(".1,.2,.3/.4,.5,.6", "cifar10");
  EXPECT_EQ(given.mean, (std::vector<double>{.1, .2, .3}));
  EXPECT_EQ(given.std_dev, (std::vector<double>{.4, .5, .6}));
  EXPECT_EQ(NormaliseTable(parse_normalisation("0.5/2", ""), 3).value(2, 255), 0.25f);
  for (const char* bad : {"", "cifar", "1,2,3", "1,,2/1", "1/", "/1", "1/x", "1/2/3", "1 /2", "nan/1", "1/inf"}) {
    expect_error(ErrorKind::kUsage, fmt::format("found '{}'", bad), [&] { parse_normalisation(bad, "synthetic"); });
  }
  expect_error(ErrorKind::kUsage, "deviations above zero", [] { parse_normalisation("1,2,3/1,0,1", ""); });
  expect_error(ErrorKind::kUsage, "one for each of 3 channels, found 2",
               [] { NormaliseTable(parse_normalisation("1,2/1", ""), 3); });
  expect_error(ErrorKind::kUsage, "one for each of 1 channels, found 3",
               [] { NormaliseTable(parse_normalisation("cifar10", ""), 1); });
}

TEST(Augment, C7_FlipsAreExact) {
  const std::vector<uint8_t> image{1, 2, 3, 4};
  const Fit fit = same({1, 2, 2});
  EXPECT_EQ(place(image, fit, {true, false}), (std::vector<int>{2, 1, 4, 3}));
  EXPECT_EQ(place(image, fit, {false, true}), (std::vector<int>{3, 4, 1, 2}));
  EXPECT_EQ(place(image, fit, {true, true}), (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(place(image, fit, {}), (std::vector<int>{1, 2, 3, 4}));
}

// Against the definition: the image in a field of zeros, cut, then flipped.
TEST(Augment, PlacesAsDefinedForEveryShapeAndMove) {
  for (const ImageShape& shape : {ImageShape{1, 3, 4}, ImageShape{3, 5, 2}, ImageShape{2, 1, 1}}) {
    std::vector<uint8_t> image(static_cast<std::size_t>(shape.count()));
    std::iota(image.begin(), image.end(), 1);
    for (int64_t more : {0, 1, 4}) {
      const Fit fit =
          fit_images(shape, {shape.channels == 1 ? 3 : shape.channels, shape.height + more, shape.width + 2 * more},
                     FitMode::kPad);
      for (int64_t down = -6; down <= 6; ++down) {
        for (int64_t right = -6; right <= 6; ++right) {
          for (int flips = 0; flips < 4; ++flips) {
            const AugmentChoice choice{(flips & 1) != 0, (flips & 2) != 0, down, right};
            std::vector<int> expected;
            for (int64_t c = 0; c < fit.output.channels; ++c) {
              for (int64_t y = 0; y < fit.output.height; ++y) {
                for (int64_t x = 0; x < fit.output.width; ++x) {
                  const int64_t row = (choice.vflip ? fit.output.height - 1 - y : y) + down - more / 2;
                  const int64_t column = (choice.hflip ? fit.output.width - 1 - x : x) + right - more;
                  const bool inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
                  const int64_t plane = shape.channels == 1 ? 0 : c;
                  expected.push_back(
                      inside ? image[static_cast<std::size_t>((plane * shape.height + row) * shape.width + column)]
                             : 0);
                }
              }
            }
            ASSERT_EQ(place(image, fit, choice), expected)
                << shape.text() << " " << down << " " << right << " " << flips;
          }
        }
      }
    }
  }
}

TEST(Augment, C5_FlipsAreFairAndIndependent) {
  const Augmenter augmenter(parse_augmentation("hflip,vflip"), 3);
  int horizontal = 0, vertical = 0, both = 0, changed = 0;
  for (int64_t i = 0; i < 10000; ++i) {
    const AugmentChoice choice = augmenter.choose(0, i);
    horizontal += choice.hflip;
    vertical += choice.vflip;
    both += choice.hflip && choice.vflip;
    changed += choice.hflip != augmenter.choose(1, i).hflip;
  }
  for (const int count : {horizontal, vertical, changed}) {
    EXPECT_GE(count, 4800);
    EXPECT_LE(count, 5200);
  }
  EXPECT_NEAR(both, 2500, 150);
}

TEST(Augment, C5_ChoicesDependOnSeedEpochAndSampleOnly) {
  const Augmentation all = parse_augmentation("hflip,vflip,crop:4");
  const Augmenter a(all, 3), b(all, 4), only_hflip(parse_augmentation("hflip"), 3);
  int different = 0;
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(a.choose(2, i).hflip, only_hflip.choose(2, i).hflip);
    const AugmentChoice x = a.choose(2, i), y = b.choose(2, i);
    different += x.hflip != y.hflip || x.vflip != y.vflip || x.down != y.down || x.right != y.right;
  }
  EXPECT_GT(different, 90);
}

TEST(Augment, CropsReachEveryPlaceEquallyOften) {
  const Augmenter augmenter(parse_augmentation("crop:2"), 0);
  std::vector<int> counts(25);
  for (int64_t i = 0; i < 25000; ++i) {
    const AugmentChoice choice = augmenter.choose(0, i);
    ASSERT_LE(std::abs(choice.down), 2);
    ASSERT_LE(std::abs(choice.right), 2);
    EXPECT_FALSE(choice.hflip || choice.vflip);
    ++counts[static_cast<std::size_t>((choice.down + 2) * 5 + choice.right + 2)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Augment, Parsing) {
  EXPECT_FALSE(parse_augmentation("none").any());
  EXPECT_FALSE(parse_augmentation("").any());
  EXPECT_EQ(parse_augmentation("vflip,crop:4,hflip").text(), "hflip,vflip,crop:4");
  EXPECT_EQ(parse_augmentation("none").text(), "none");
  for (const char* bad : {"flip", "hflip,", ",hflip", "crop", "crop:", "crop:0", "crop:-1", "crop:4x", "hflip,none",
                          "crop:99999999999999999999"}) {
    expect_error(ErrorKind::kUsage, "expected --augment", [&] { parse_augmentation(bad); });
  }
}

TEST(Fit, EqualOrUnknownShapes) {
  const ImageShape image{3, 32, 32};
  EXPECT_EQ(fit_images(image, {3, 32, 32}, FitMode::kNone).output, image);
  EXPECT_EQ(fit_images(image, {3, -1, -1}, FitMode::kNone).sample, (Shape{3, 32, 32}));
  EXPECT_EQ(fit_images({1, 28, 28}, {784}, FitMode::kNone).sample, (Shape{784}));
  EXPECT_EQ(fit_images({1, 28, 28}, {28, 28}, FitMode::kPad).sample, (Shape{28, 28}));
  EXPECT_EQ(fit_images({1, 28, 28}, {28, -1}, FitMode::kNone).sample, (Shape{28, 28}));
}

TEST(Fit, PadsInTheMiddle) {
  const Fit even = fit_images({1, 28, 28}, {1, 32, 32}, FitMode::kPad);
  EXPECT_EQ(even.top, 2);
  EXPECT_EQ(even.left, 2);
  const Fit fit = fit_images({1, 1, 2}, {3, 2, 5}, FitMode::kPad);
  const std::vector<int> plane{0, 7, 8, 0, 0, 0, 0, 0, 0, 0};
  std::vector<int> expected;
  for (int c = 0; c < 3; ++c) expected.insert(expected.end(), plane.begin(), plane.end());
  EXPECT_EQ(place({7, 8}, fit, {}), expected);
}

TEST(Fit, MismatchesStateBothShapes) {
  expect_error(ErrorKind::kData,
               "expected images of 3x32x32 for the model's input, found 1x28x28; --fit pad pads them with zeros and "
               "repeats the channel",
               [] {
                 fit_images({1, 28, 28}, {3, 32, 32}, FitMode::kNone);
               });
  expect_error(ErrorKind::kData, "found 3x32x32; --fit pad pads them with zeros", [] {
    fit_images({3, 32, 32}, {3, 224, 224}, FitMode::kNone);
  });
  for (const FitMode mode : {FitMode::kNone, FitMode::kPad}) {
    expect_error(ErrorKind::kData, "expected images of 1x28x28 for the model's input, found 3x32x32 in the data set",
                 [&] {
                   fit_images({3, 32, 32}, {1, 28, 28}, mode);
                 });
    expect_error(ErrorKind::kData, "expected images of 3x32x16", [&] { fit_images({1, 28, 28}, {3, 32, 16}, mode); });
    expect_error(ErrorKind::kData, "expected images of 4x28x28", [&] { fit_images({1, 28, 28}, {4, 28, 28}, mode); });
    expect_error(ErrorKind::kData, "expected images of 100 ", [&] { fit_images({1, 28, 28}, {100}, mode); });
    expect_error(ErrorKind::kData, "expected images of scalar", [&] { fit_images({1, 28, 28}, {}, mode); });
  }
  EXPECT_EQ(parse_fit("pad"), FitMode::kPad);
  expect_error(ErrorKind::kUsage, "found 'resize'", [] { parse_fit("resize"); });
}

TEST(Transform, PaddingIsNormalisedLikeABlackPixel) {
  const Transform transform(fit_images({1, 1, 1}, {1, 1, 3}, FitMode::kPad), parse_normalisation("0.5/0.5", ""));
  std::vector<float> out(3);
  transform.apply(std::vector<uint8_t>{255}, 0, 0, Layout::kRowMajor, out.data());
  EXPECT_EQ(out, (std::vector<float>{-1, 1, -1}));
}

TEST(Transform, LayoutsAndTypesHoldTheSameValues) {
  const ImageShape shape{3, 4, 5};
  std::vector<uint8_t> image(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<uint8_t>(i * 37);
  const Transform transform(same(shape), parse_normalisation("cifar10", ""), parse_augmentation("hflip,vflip,crop:1"),
                            9);
  for (int64_t sample = 0; sample < 20; ++sample) {
    std::vector<float> rows(60), last(60);
    std::vector<double> rows_double(60), last_double(60);
    transform.apply(image, 1, sample, Layout::kRowMajor, rows.data());
    transform.apply(image, 1, sample, Layout::kChannelsLast, last.data());
    transform.apply(image, 1, sample, Layout::kRowMajor, rows_double.data());
    transform.apply(image, 1, sample, Layout::kChannelsLast, last_double.data());
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(last[i * 3 + c], rows[c * 20 + i]);
        EXPECT_EQ(rows_double[c * 20 + i], rows[c * 20 + i]);
        EXPECT_EQ(last_double[i * 3 + c], rows[c * 20 + i]);
      }
    }
  }
}

TEST(Transform, C7_WithoutAugmentationEveryEpochIsTheImage) {
  const std::vector<uint8_t> image{0, 51, 102, 153};
  const Transform transform(same({1, 2, 2}), parse_normalisation("none", ""));
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    std::vector<float> out(4);
    transform.apply(image, epoch, epoch, Layout::kRowMajor, out.data());
    EXPECT_EQ(out, (std::vector<float>{0, .2f, .4f, .6f}));
  }
}

}  // namespace
}  // namespace onward::test
