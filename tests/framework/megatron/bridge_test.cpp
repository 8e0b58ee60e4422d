// SPDX-License-Identifier: Apache-2.0
// A transformers configuration runs the very program that pretrain_gpt.py runs with the arguments
// that Megatron-Bridge's provider stands for.
#include "framework/megatron/bridge.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "framework/megatron/pretrain.h"

namespace memtape::megatron {
namespace {

constexpr const char* kShape = R"("num_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
  "group_query_attention": true, "num_query_groups": 4, "kv_channels": 32, "max_position_embeddings": 512,
  "vocab_size": 1024, "add_bias_linear": false, "normalization": "RMSNorm", "position_embedding_type": "rope",
  "swiglu": true, "untie_embeddings_and_output_weights": true, "hidden_dropout": 0.0, "attention_dropout": 0.0,
  "bf16": true, "seq_length": 128, "micro_batch_size": 2, "global_batch_size": 4, "clip_grad": 1.0,
  "cross_entropy_loss_fusion": true, "create_attention_mask_in_dataloader": false, "attention_backend": "flash")";

TrainRecipe recipe_of(std::int64_t gpus) {
  TrainRecipe recipe;
  recipe.attention = AttentionChoice::flash;
  recipe.sequence_length = 128;
  recipe.micro_batch_size = 2;
  recipe.layout.gpus = gpus;
  return recipe;
}

torch::TrainRun run(const std::string& json, const TrainRecipe& recipe) {
  const Result<Config> config = Config::parse(json, "test");
  EXPECT_TRUE(config.has_value());
  Result<torch::TrainRun> run =
      run_training(recipe, *read_arguments(*config, recipe), {.major = 9, .sm_count = 132}, 0);
  EXPECT_TRUE(run.has_value()) << run.error().line();
  return std::move(*run);
}

void expect_same(const torch::TrainRun& bridge, const torch::TrainRun& launch) {
  EXPECT_EQ(bridge.statics.parameters, launch.statics.parameters);
  EXPECT_EQ(bridge.tape.events.size(), launch.tape.events.size());
  EXPECT_EQ(bridge.tape.requested, launch.tape.requested);
}

TEST(Bridge, LlamaOnTensorRanks) {
  TrainRecipe recipe = recipe_of(2);
  const std::string launch = fmt::format(
      R"({{"model_type": "megatron", {}, "ffn_hidden_size": 512, "tensor_model_parallel_size": 2,
          "global_batch_size": 4}})",
      kShape);
  recipe.gradient_accumulation = 2;
  const torch::TrainRun launched = run(launch, recipe);
  recipe.layout.tp = 2;
  expect_same(
      run(R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 256, "intermediate_size": 512,
    "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 512, "vocab_size": 1024})",
          recipe),
      launched);
}

TEST(Bridge, ExpertsOfQwen3) {
  TrainRecipe recipe = recipe_of(2);
  const std::string launch = fmt::format(
      R"({{"model_type": "megatron", {}, "ffn_hidden_size": 512, "qk_layernorm": true, "num_experts": 8,
          "moe_router_topk": 2, "moe_ffn_hidden_size": 64, "moe_grouped_gemm": true, "moe_permute_fusion": true,
          "moe_token_dispatcher_type": "alltoall", "moe_router_load_balancing_type": "aux_loss",
          "moe_aux_loss_coeff": 0.001, "expert_model_parallel_size": 2}})",
      kShape);
  const torch::TrainRun launched = run(launch, recipe);
  recipe.layout.ep = 2;
  expect_same(
      run(R"({"model_type": "qwen3_moe", "num_hidden_layers": 4, "hidden_size": 256, "intermediate_size": 512,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 32, "max_position_embeddings": 512,
    "vocab_size": 1024, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64})",
          recipe),
      launched);
}

}  // namespace
}  // namespace memtape::megatron
