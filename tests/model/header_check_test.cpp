// SPDX-License-Identifier: Apache-2.0
#include "model/header_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Shape = std::vector<std::int64_t>;

const Shape kEmbedding{128, 8}, kNorm{8};
const std::vector<ExpectedParameter> kModel{
    {"model.embed_tokens.weight", kEmbedding, DType::bfloat16},
    {"model.norm.weight", kNorm, DType::bfloat16},
    {"lm_head.weight", kEmbedding, DType::bfloat16}};

StoredTensor stored(std::string name, Shape shape, std::string dtype = "BF16") {
  return {std::move(name), std::move(dtype), std::move(shape), 0};
}

TEST(HeaderCheck, AgreesWithTheSameTensorsInAnyOrder) {
  const TensorList header{{stored("lm_head.weight", {128, 8}), stored("model.norm.weight", {8}),
                           stored("model.embed_tokens.weight", {128, 8})}};
  EXPECT_THAT(check_header({.parameters = kModel}, header), IsEmpty());
}

TEST(HeaderCheck, TellsWhatIsMissingUnexpectedAndOfAnotherShape) {
  const TensorList header{{stored("model.embed_tokens.weight", {128, 9}),
                           stored("model.norm.bias", {8}), stored("lm_head.weight", {128, 8})}};
  EXPECT_THAT(check_header({.parameters = kModel}, header),
              ElementsAre("1 tensor of the model missing from the checkpoint: model.norm.weight",
                          "1 tensor of the checkpoint unknown to the model: model.norm.bias",
                          "1 tensor of another shape in the checkpoint: model.embed_tokens.weight "
                          "is [128, 9], not [128, 8]"));
}

TEST(HeaderCheck, TellsOtherDtypesAndNamesOnlyTheFirst) {
  TensorList header;
  for (const ExpectedParameter& p : kModel)
    header.tensors.push_back(
        stored(std::string(p.name), Shape(p.shape.begin(), p.shape.end()), "F32"));
  for (int i = 0; i < 5; ++i) header.tensors.push_back(stored("extra." + std::to_string(i), {1}));
  EXPECT_THAT(
      check_header({.parameters = kModel}, header),
      ElementsAre(
          "5 tensors of the checkpoint unknown to the model: extra.0, extra.1, extra.2, ...",
          "3 tensors of another dtype in the checkpoint: model.embed_tokens.weight is F32, not "
          "bfloat16, "
          "model.norm.weight is F32, not bfloat16, lm_head.weight is F32, not bfloat16"));
}

TEST(HeaderCheck, TiedTensorsMayBeAbsentFromEitherSide) {
  const std::vector<std::string_view> tied{"lm_head.weight"};
  const TensorList without{
      {stored("model.embed_tokens.weight", {128, 8}), stored("model.norm.weight", {8})}};
  EXPECT_THAT(check_header({.parameters = kModel, .tied = tied}, without), IsEmpty());
  const std::vector<ExpectedParameter> headless(kModel.begin(), kModel.begin() + 2);
  TensorList with = without;
  with.tensors.push_back(stored("lm_head.weight", {128, 8}));
  EXPECT_THAT(check_header({.parameters = headless, .tied = tied}, with), IsEmpty());
}

TEST(HeaderCheck, FindsTensorsOfABaseModelAndPassesOverBuffers) {
  const std::vector<std::string_view> tied{"lm_head.weight"}, buffers{".masked_bias"};
  const TensorList header{{stored("embed_tokens.weight", {128, 8}), stored("norm.weight", {8}),
                           stored("h.0.attn.masked_bias", {})}};
  EXPECT_THAT(check_header({kModel, tied, buffers, "model"}, header), IsEmpty());
}

}  // namespace
}  // namespace memtape
