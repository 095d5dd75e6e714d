#include "ops/reshape/resolve_shape.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace onward::test {
namespace {

const TensorType kImage(DType::kFloat32, {2, 3, 4, 5});

HostTensor ints(const std::vector<int64_t>& values) {
  return HostTensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}

TEST(ResolveShape, ZeroCopiesAndMinusOneTakesTheRest) {
  EXPECT_EQ(resolve_shape({2, 3, 4}, {{0, -1}}), (Shape{2, 12}));
  EXPECT_EQ(resolve_shape({2, 3, 4}, {{-1}}), (Shape{24}));
  EXPECT_EQ(resolve_shape({2, 3, 4}, {{4, 0, 2}}), (Shape{4, 3, 2}));
  EXPECT_EQ(resolve_shape({1, 1}, {{}}), Shape{});
}

TEST(ResolveShape, NoRowsLeaveTheOtherDimensionsDefined) {
  EXPECT_EQ(resolve_shape({0, 3, 4}, {{0, -1}}), (Shape{0, 12}));
  EXPECT_EQ(resolve_shape({0, 3, 4}, {{-1, 12}}), (Shape{0, 12}));
  EXPECT_EQ(resolve_shape({0, 3, 4}, {{1, 12}}, {.dependent = true}), (Shape{0, 12}));
  EXPECT_EQ(resolve_shape({0, 3, 4}, {{1, -1}}, {.dependent = true, .exported = 1, .local = 0}), (Shape{0, 12}));
}

TEST(ResolveShape, AllowZeroMeansZero) {
  EXPECT_EQ(resolve_shape({0, 3}, {{0, 0}, true}), (Shape{0, 0}));
  expect_error(ErrorKind::kModel, "found [0,2]", [] { resolve_shape({2, 3}, {{0, 2}, true}); });
}

TEST(ResolveShape, ABatchBakedIntoTheShapeIsDerivedAgain) {
  const BatchOfFile batch{.dependent = true, .exported = 1, .local = 8};
  EXPECT_EQ(resolve_shape({8, 512, 1, 1}, {{1, 512}}, batch), (Shape{8, 512}));
  EXPECT_EQ(resolve_shape({8, 512, 1, 1}, {{1, -1}}, batch), (Shape{8, 512}));
  EXPECT_EQ(resolve_shape({8, 6, 7}, {{6, -1}}, batch), (Shape{48, 7})) << "several rows per sample";
  EXPECT_EQ(resolve_shape({8, 512}, {{8, 2, -1}}, batch), (Shape{8, 2, 256})) << "what fits is left alone";
  const BatchOfFile four{.dependent = true, .exported = 4, .local = 3};
  EXPECT_EQ(resolve_shape({3, 512, 1, 1}, {{4, -1}}, four), (Shape{3, 512}));
  EXPECT_EQ(resolve_shape({3, 5, 2}, {{20, 2}}, four), (Shape{15, 2}));
}

TEST(ResolveShape, WhatDoesNotHangOnTheBatchIsReadLiterally) {
  EXPECT_EQ(resolve_shape({64}, {{1, -1, 1, 1}}, {.exported = 1, .local = 8}), (Shape{1, 64, 1, 1}));
  expect_error(ErrorKind::kModel, "24 elements of 2x3x4, found [1,12]", [] { resolve_shape({2, 3, 4}, {{1, 12}}); });
}

TEST(ResolveShape, RefusesWhatDoesNotFit) {
  const BatchOfFile batch{.dependent = true};
  expect_error(ErrorKind::kModel, "found [5,5]", [&] { resolve_shape({2, 3, 4}, {{5, 5}}, batch); });
  expect_error(ErrorKind::kModel, "found [-1,-1]", [&] { resolve_shape({2, 3, 4}, {{-1, -1}}, batch); });
  expect_error(ErrorKind::kModel, "found [2,12,0]", [&] { resolve_shape({2, 12}, {{2, 12, 0}}, batch); });
}

TEST(Reshape, TheFormsOfAllOpsetsAgree) {
  const auto shape_of = [](const NormalCase& made) { return made.node->attributes.get_ints("shape"); };
  EXPECT_EQ(shape_of(normal_case("Reshape", 1, {kImage}, {{"shape", Shape{0, -1}}})), (Shape{2, 60}));
  EXPECT_EQ(shape_of(normal_case("Reshape", 5, {kImage, ints({0, -1})})), (Shape{2, 60}));
  const NormalCase newest = normal_case("Reshape", 14, {kImage, ints({2, -1})}, {{"allowzero", int64_t{1}}});
  EXPECT_EQ(shape_of(newest), (Shape{2, 60}));
  EXPECT_EQ(newest.node->inputs().size(), 1u);
  EXPECT_FALSE(newest.node->attributes.has("allowzero"));
}

TEST(Flatten, CountsNegativeAxesFromTheEnd) {
  EXPECT_EQ(normal_case("Flatten", 13, {kImage}, {{"axis", int64_t{-1}}}).node->output(0)->type.text(),
            "float32[24,5]");
  EXPECT_EQ(normal_case("Flatten", 9, {kImage}).node->output(0)->type.text(), "float32[2,60]");
  expect_error(ErrorKind::kModel, "rank 4, found 5", [] {
    normal_case("Flatten", 13, {kImage}, {{"axis", int64_t{5}}});
  });
}

TEST(Squeeze, TakesAxesFromAttributeOrInputAndKeepsTheRowsOfABatch) {
  const TensorType pooled(DType::kFloat32, {1, 3, 1, 1});
  EXPECT_EQ(normal_case("Squeeze", 11, {pooled}, {{"axes", Shape{-1, 2}}}).node->output(0)->type.text(),
            "float32[1,3]");
  EXPECT_EQ(normal_case("Squeeze", 13, {pooled, ints({3, 0})}).node->output(0)->type.text(), "float32[3,1]");
  EXPECT_EQ(normal_case("Squeeze", 13, {pooled}).node->output(0)->type.text(), "float32[1,3]");
  const HostTensor constant = HostTensor::from<float>({1, 2, 1}, {1, 2});
  EXPECT_EQ(normal_case("Squeeze", 13, {constant}).node->output(0)->type.text(), "float32[2]");
  expect_error(ErrorKind::kModel, "size 1 in dimension 1", [&] { normal_case("Squeeze", 13, {pooled, ints({1})}); });
}

TEST(Unsqueeze, CountsAxesInTheOutput) {
  EXPECT_EQ(normal_case("Unsqueeze", 11, {kImage}, {{"axes", Shape{-1, 0}}}).node->output(0)->type.text(),
            "float32[1,2,3,4,5,1]");
  EXPECT_EQ(normal_case("Unsqueeze", 13, {kImage, ints({2})}).node->output(0)->type.text(), "float32[2,3,1,4,5]");
  expect_error(ErrorKind::kModel, "different axes", [] { normal_case("Unsqueeze", 13, {kImage, ints({0, 0})}); });
}

}  // namespace
}  // namespace onward::test
