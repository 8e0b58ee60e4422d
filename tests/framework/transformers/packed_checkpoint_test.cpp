// SPDX-License-Identifier: Apache-2.0
// quantization_config of a checkpoint that GPTQ or AWQ packed.
#include "framework/transformers/packed_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape::transformers {
namespace {

Result<std::optional<PackedCheckpoint>> read(const std::string& quantization) {
  return packed_checkpoint(*Config::parse(
      R"({"model_type": "llama", "quantization_config": )" + quantization + "}", "config.json"));
}

std::string error_of(const std::string& quantization) {
  const auto packed = read(quantization);
  return packed ? "(no error)" : packed.error().line();
}

TEST(PackedCheckpoint, IsNoneOfPlainWeights) {
  EXPECT_FALSE(packed_checkpoint(*Config::parse("{}", "config.json"))->has_value());
  EXPECT_FALSE(read(R"({"quant_method": "fp8"})")->has_value());
}

TEST(PackedCheckpoint, ReadsBothSpellingsOfTheGroups) {
  EXPECT_EQ((*read(R"({"quant_method": "gptq", "bits": 8, "group_size": -1})"))->group_size, -1);
  const auto awq = *read(R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 64})");
  EXPECT_EQ(awq->method, PackedCheckpoint::Method::awq);
  EXPECT_EQ(awq->group_size, 64);
  EXPECT_EQ((*read(R"({"quant_method": "gptq"})"))->bits, 4);
}

TEST(PackedCheckpoint, TakesTheKernelThatCanBeTrained) {
  EXPECT_EQ((*read(R"({"quant_method": "awq"})"))->awq_kernel, AwqKernel::triton);
  EXPECT_EQ((*read(R"({"quant_method": "awq", "backend": "awq_gemm"})"))->awq_kernel,
            AwqKernel::cuda);
  EXPECT_THAT(error_of(R"({"quant_method": "gptq", "backend": "gptq_marlin"})"),
              testing::HasSubstr("marlin cannot be trained"));
}

TEST(PackedCheckpoint, NamesWhatIsWrong) {
  EXPECT_THAT(error_of(R"({"quant_method": "gptq", "bits": 3})"),
              testing::StartsWith("config.json: quantization_config: GPTQ in 3 bits"));
  EXPECT_THAT(error_of(R"({"quant_method": "awq", "version": "gemv"})"),
              testing::HasSubstr("packing gemv is not modelled"));
  EXPECT_THAT(error_of(R"({"quant_method": "gptq", "group_size": 0})"),
              testing::HasSubstr("group_size: must be -1 or positive"));
}

}  // namespace
}  // namespace memtape::transformers
