// SPDX-License-Identifier: Apache-2.0
// Micro-batches of mixtures of experts that are written down leave the tape that they leave when
// each of them is run: routers, dispatchers, layouts and recomputation drawn at random.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "draw.h"
#include "equal_tapes.h"
#include "framework/megatron/pretrain.h"
#include "framework/megatron/strategy.h"

namespace memtape {
namespace {

/// The members of a JSON object, drawn.
class Options {
 public:
  void add(std::string_view key, std::string_view value) {
    text_ += fmt::format("{}\"{}\": {}", text_.empty() ? "" : ", ", key, value);
  }
  void add(std::string_view key, int value) { add(key, std::to_string(value)); }
  void flag(std::string_view key, bool value) { add(key, value ? "true" : "false"); }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

void add_router(Draw& draw, Options& options) {
  options.add("moe_router_load_balancing_type",
              draw.of({R"("aux_loss")", R"("seq_aux_loss")", R"("global_aux_loss")",
                       R"(["aux_loss", "global_aux_loss"])", R"("none")", R"("sinkhorn")"}));
  options.add("moe_aux_loss_coeff", "[0.01, 0.02]");
  if (draw.one_in(3)) options.add("moe_z_loss_coeff", "0.001");
  const bool sigmoid = draw.coin();
  options.add("moe_router_score_function", sigmoid ? R"("sigmoid")" : R"("softmax")");
  options.flag("moe_router_pre_softmax", draw.coin());
  if (sigmoid) options.flag("moe_router_enable_expert_bias", draw.coin());
  if (draw.one_in(3)) options.add("moe_router_num_groups", 4);
  if (draw.one_in(3)) options.add("moe_router_topk_scaling_factor", "2.5");
  if (draw.coin()) options.add("moe_router_dtype", R"("fp32")");
}

/// Groups need a number of theirs.
std::string with_groups(std::string object) {
  if (object.find("num_groups") == std::string::npos) return object;
  object.insert(object.size() - 1, R"(, "moe_router_group_topk": 2)");
  return object;
}

void add_experts(Draw& draw, Options& options) {
  options.add("experts", 8);
  options.add("topk", draw.of({1, 2, 2}));
  options.add("moe_ffn_hidden_size", 32);
  options.add("moe_layer_freq", draw.of({R"("1")", R"-("([0]*4+[1]*4)")-", R"("2")"}));
  const bool gathers = draw.one_in(3);
  options.add("moe_token_dispatcher_type",
              gathers ? R"("allgather")" : draw.of({R"("alltoall")", R"("flex")"}));
  options.flag("moe_grouped_gemm", draw.coin());
  if (draw.coin()) options.add("moe_shared_expert_intermediate_size", 64);
  options.flag("moe_shared_expert_gate", draw.one_in(3));
  if (gathers || draw.coin()) return;
  options.add("capacity_factor", draw.of({"1.0", "1.25", "8.0"}));
  options.flag("moe_pad_expert_input_to_capacity", draw.coin());
}

void add_recompute(Draw& draw, Options& options) {
  const int kind = draw.of({0, 0, 1, 2, 3});
  if (kind == 0) return;
  options.add("recompute", kind == 2 ? R"("full")" : R"("selective")");
  if (kind == 2) options.add("recompute_method", draw.of({R"("uniform")", R"("block")"}));
  if (kind == 3)
    options.add("recompute_modules",
                draw.of({R"(["moe"])", R"(["moe", "layernorm"])", R"(["moe_act", "layernorm"])",
                         R"(["shared_experts", "core_attn"])", R"(["mlp", "moe"])"}));
}

void add_layout(Draw& draw, Options& options, TrainRecipe& recipe) {
  LayoutRecipe& layout = recipe.layout;
  layout.pp = draw.of({1, 2, 2, 4, 8});
  layout.tp = draw.of({1, 1, 2});
  layout.ep = draw.of({1, 2, 2});
  if (*layout.pp > 1 && *layout.pp < 8 && draw.coin()) layout.vpp = 2;
  layout.gpus = *layout.pp * *layout.tp * 2;
  if (*layout.tp > 1) options.flag("sp", true);
  options.add("etp", draw.coin() ? static_cast<int>(*layout.tp) : 1);
  recipe.gradient_accumulation =
      layout.vpp ? draw.of({8, 16, 24}) : draw.of({5, 6, 8, 12, 16, 24, 40});
}

TrainRecipe recipe_of(Draw& draw, std::string& strategy) {
  TrainRecipe recipe;
  recipe.weights = DType::bfloat16;
  recipe.sequence_length = 128;
  Options options;
  options.flag("tie", draw.coin());
  options.add("transformer_impl", draw.of({R"("local")", R"("transformer_engine")"}));
  options.add("ddp", fmt::format(R"({{"use_distributed_optimizer": {}}})", draw.coin()));
  add_router(draw, options);
  add_experts(draw, options);
  add_recompute(draw, options);
  add_layout(draw, options, recipe);
  strategy = with_groups(options.object());
  EXPECT_TRUE(megatron::read_strategy(strategy, recipe).has_value());
  return recipe;
}

constexpr const char* kModel =
    R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 160,
        "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 512, "num_local_experts": 4, "num_experts_per_tok": 2})";

TEST(EqualRoutedMicroBatches, AreWrittenAsTheyAreRun) {
  constexpr unsigned kDraws = 160;
  int compared = 0, written_down = 0;
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    Draw draw(seed);
    std::string strategy;
    const TrainRecipe recipe = recipe_of(draw, strategy);
    SCOPED_TRACE(fmt::format("pp {} vpp {} tp {} ep {}, {} micro-batches, {}", *recipe.layout.pp,
                             recipe.layout.vpp.value_or(1), *recipe.layout.tp, *recipe.layout.ep,
                             recipe.gradient_accumulation, strategy));
    const Config config = *Config::parse(kModel, "config.json");
    const int rank = static_cast<int>(draw.of({0, 1, 2, 3, 5, 7, 11}) % recipe.layout.gpus);
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
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 100);
  // The others hold a graph into the next step, or more of one than its leaf.
  EXPECT_GT(written_down, compared * 9 / 10);
}

}  // namespace
}  // namespace memtape
