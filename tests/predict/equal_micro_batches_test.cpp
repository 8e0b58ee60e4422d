// SPDX-License-Identifier: Apache-2.0
// Micro-batches that are written down leave the tape that they leave when each of them is run:
// Megatron's schedules over models, layouts and options drawn at random.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "draw.h"
#include "equal_tapes.h"
#include "framework/megatron/pretrain.h"
#include "framework/megatron/strategy.h"

namespace memtape {
namespace {

constexpr const char* kModels[] = {
    R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 8,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512})",
    R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 8, "n_head": 4, "vocab_size": 512,
        "n_positions": 256})",
    R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 160,
        "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 512, "num_local_experts": 4, "num_experts_per_tok": 2})",
    R"({"model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 160,
        "moe_intermediate_size": 32, "num_hidden_layers": 8, "first_k_dense_replace": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 512,
        "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 2,
        "topk_group": 1, "q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8, "v_head_dim": 16})"};

TrainRecipe recipe_of(Draw& draw, std::string& said) {
  TrainRecipe recipe;
  recipe.weights = DType::bfloat16;
  recipe.sequence_length = 128;
  recipe.gradient_accumulation = draw.of({1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 40});
  LayoutRecipe& layout = recipe.layout;
  layout.pp = draw.of({1, 2, 4, 8});
  layout.tp = draw.of({1, 1, 2});
  if (*layout.pp > 1 && *layout.pp < 8 && draw.coin()) layout.vpp = 2;
  if (layout.vpp) recipe.gradient_accumulation = draw.of({8, 16, 24});
  if (draw.coin()) layout.cp = 2;  // whose attention keeps states that go with the graph
  layout.gpus = *layout.pp * *layout.tp * 2;
  const char* recompute =
      draw.of({R"("none")", R"("selective")", R"("full", "recompute_method": "uniform")",
               R"("full", "recompute_method": "block", "recompute_num_layers": 1)",
               R"("selective", "recompute_modules": ["moe"])"});
  const std::string strategy = fmt::format(
      R"({{"recompute": {}, "transformer_impl": "{}", "ce_fusion": {}, "tie": {},
          "ddp": {{"use_distributed_optimizer": {}}}}})",
      recompute, draw.of({"local", "transformer_engine"}), draw.coin(), draw.coin(), draw.coin());
  EXPECT_TRUE(megatron::read_strategy(strategy, recipe).has_value());
  said = fmt::format("pp {} vpp {} tp {}, {} micro-batches, {}", *layout.pp, layout.vpp.value_or(0),
                     *layout.tp, recipe.gradient_accumulation, strategy);
  return recipe;
}

/// How many forwards of micro-batches, those of each chunk, the last step begins.
std::int64_t forwards_of_last_step(const Tape& tape) {
  std::set<std::pair<int, int>> found;
  for (const Mark& mark : tape.marks)
    if (mark.phase == Phase::forward && mark.step == torch::kSteps - 1)
      found.emplace(mark.micro_batch, mark.stage);
  return static_cast<std::int64_t>(found.size());
}

TEST(EqualMicroBatches, AreWrittenAsTheyAreRun) {
  int compared = 0, written_down = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    Draw draw(seed);
    const Config config = *Config::parse(draw.of(kModels), "config.json");
    std::string said;
    const TrainRecipe recipe = recipe_of(draw, said);
    SCOPED_TRACE(said);
    const int rank = static_cast<int>(draw.of({0, 1, 2, 3, 5, 7}) % recipe.layout.gpus);
    const auto arguments = megatron::read_arguments(config, recipe);
    if (!arguments) continue;  // the draw does not fit together
    const auto run = [&](torch::EqualLayerRuns runs) {
      return megatron::run_training(recipe, *arguments, {.major = 9, .sm_count = 132}, rank, runs);
    };
    const auto all = run(torch::EqualLayerRuns::all_run);
    if (!all) continue;
    const auto written = run(torch::EqualLayerRuns::written_down);
    ASSERT_TRUE(written.has_value());
    ++compared;
    if (written->layers_differ) continue;  // made again with all run
    ++written_down;
    expect_same(all->tape, written->tape);
    EXPECT_EQ(written->rounds_not_followed, 0);
    EXPECT_GE(forwards_of_last_step(written->tape),
              recipe.gradient_accumulation * recipe.layout.vpp.value_or(1));
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 60);
  // The others hold a graph into the next step, as rings on one stage do, or more than its leaf.
  EXPECT_GT(written_down, compared * 9 / 10);
}

}  // namespace
}  // namespace memtape
