// SPDX-License-Identifier: Apache-2.0
#include "model/model_name.h"

#include <gtest/gtest.h>

#include "model/quantized_name.h"

namespace memtape {
namespace {

TEST(ModelName, a_path_ends_in_the_name) {
  for (const char* path :
       {"/data/models/Qwen3-8B", "/data/models/Qwen3-8B/", "/x/Qwen/Qwen3-8B", "D:\\llm\\qwen3-8b",
        "hub/models--Qwen--Qwen3-8B/snapshots/9c925d64d72725edaf899c6cb9c377fd0709d9c5",
        "/m/Qwen3-8B-Q4_K_M.gguf", "/m/Qwen_Qwen3-8B-GGUF/model-00001-of-00002.gguf",
        "/m/Qwen3-8B-GGUF/Qwen3-8B-BF16-00001-of-00002.gguf"}) {
    const PathModel found = model_of_path(path);
    EXPECT_EQ(found.id, "Qwen/Qwen3-8B") << path;
    EXPECT_TRUE(is_path(path)) << path;
  }
  EXPECT_EQ(model_of_path("/data/Qwen3-8B-mine").id, "");
  EXPECT_EQ(model_of_path("/").id, "");
  EXPECT_FALSE(is_path("Qwen/Qwen3-8B"));
}

TEST(ModelName, a_quantized_copy_is_known_by_its_base) {
  EXPECT_EQ(known_name("RedHatAI/Qwen3-8B-FP8-dynamic"), "Qwen/Qwen3-8B-FP8-dynamic");
  EXPECT_EQ(known_name("TheBloke/Llama-2-7B-AWQ"), "meta-llama/Llama-2-7b-hf-AWQ");
  EXPECT_EQ(model_of_path("/models/Qwen3-8B-AWQ").id, "Qwen/Qwen3-8B-AWQ");
  EXPECT_EQ(known_name("org/Nonesuch-9B-AWQ"), "");
  EXPECT_EQ(known_name("org/gpt-oss-20b-AWQ"), "");  // is quantized itself
  EXPECT_EQ(quantized_name("unsloth/Qwen3-8B-unsloth-bnb-4bit")->base->id, "Qwen/Qwen3-8B");
}

TEST(ModelName, file_types) {
  EXPECT_EQ(model_of_path("/m/Qwen3-8B.q5_k_s.gguf").file_type, "Q5_K_S");
  EXPECT_EQ(model_of_path("/m/Qwen3-8B-UD-IQ2_XXS.gguf").file_type, "IQ2_XXS");
  EXPECT_EQ(file_type_named("UD-Q4_K_XL"), "Q4_K_M");
  EXPECT_EQ(file_type_named("ud-q2_k_xl"), "Q2_K");
  EXPECT_EQ(file_type_named("Q8_K_XL"), "Q8_0");
  EXPECT_EQ(file_type_named("mxfp4"), "MXFP4_MOE");
}

TEST(ModelName, a_fine_tune_holds_the_name_of_its_base) {
  EXPECT_EQ(base_of("Org/Qwen3-8B-my-finetune")->id, "Qwen/Qwen3-8B");
  EXPECT_EQ(base_of("x/awesome_Meta-Llama-3-8B-Instruct.v2")->id,
            "meta-llama/Meta-Llama-3-8B-Instruct");
  EXPECT_EQ(base_of("x/Qwen3-8Bit"), nullptr);
}

}  // namespace
}  // namespace memtape
