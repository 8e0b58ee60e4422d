// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/options.h"

#include "framework/fsdp2/optimizer_over_shards.h"
#include "framework/torch/strategy.h"

namespace memtape::torch_cp {
namespace {

struct Said : Options {
  bool names_fsdp2 = false;
};

/// fully_shard with bf16 in the forward: ring attention's flash kernel takes no fp32.
fsdp2::Options low_precision() {
  fsdp2::Options options;
  options.mixed_precision.param_dtype = DType::bfloat16;
  options.mixed_precision.reduce_dtype = DType::float32;
  return options;
}

/// An object of fully_shard's options, true for bf16 over fp32, false or null for none.
Result<void> read_fsdp2(const Config& json, std::string_view name, Said& said) {
  const std::string text = json.json(name);
  said.names_fsdp2 = true;
  if (text == "true") said.fsdp2 = low_precision();
  if (text == "true" || text == "false" || text == "null") return {};
  return fsdp2::read_options(json.object(name)).map([&](const fsdp2::Options& read) {
    said.fsdp2 = read;
  });
}

/// "rotate" is what set_rotate_method is given
/// (torch/distributed/tensor/experimental/_attention.py).
constexpr auto kFields = std::to_array<ConfigField<Said>>({
    {"rotate", fields::pick<&Said::rotate, kRotations>},
    {"fsdp2", read_fsdp2},
    {"loss", torch::check_loss},
});

/// Where fully_shard is not spoken of, it is there for parameters that are held in fp32.
Result<void> settle_fsdp2(const TrainRecipe& recipe, Said& said) {
  const bool in_fp32 = recipe.parameter_dtype() == DType::float32 && !recipe.autocasts();
  if (!said.names_fsdp2 && in_fp32) said.fsdp2 = low_precision();
  if (!said.fsdp2) return {};
  return fsdp2::lay_over(Layout({{"shard", recipe.layout.gpus}}), *said.fsdp2).and_then([&] {
    return fsdp2::check_optimizer_over_shards(recipe);
  });
}

Result<void> check_recipe(const TrainRecipe& recipe) {
  if (recipe.attention == AttentionChoice::eager)
    return bad_input("context_parallel takes the place of sdpa alone", "--attention", "sdpa");
  const std::int64_t pieces = 2 * recipe.layout.gpus;
  if (recipe.sequence_length % pieces == 0) return {};
  return bad_input(std::to_string(recipe.sequence_length) + " tokens are no " +
                       std::to_string(pieces) + " equal stretches",
                   "--sequence-length", "a multiple of twice the GPUs");
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

Result<Options> options_of(const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  Said said = recipe.own.of<Said>();
  return torch::check_axes(layout, {"cp"})
      .and_then([&] { return torch::remaining_axis(layout, "cp", layout.cp, 1); })
      .and_then([&](std::int64_t) { return settle_fsdp2(recipe, said); })
      .and_then([&] { return check_recipe(recipe); })
      .map([&]() -> Options { return said; });
}

}  // namespace memtape::torch_cp
