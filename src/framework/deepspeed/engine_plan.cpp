// SPDX-License-Identifier: Apache-2.0
// What an engine runs with: a ds_config together with the model and the rest of the recipe.
#include <algorithm>
#include <string>
#include <utility>

#include "framework/deepspeed/ds_config.h"
#include "framework/torch/strategy.h"

namespace memtape::deepspeed {
namespace {

Result<void> settle_precision(const DsOptions& said, DType weights, DsConfig& config) {
  const bool is_bf16 = said.bf16.is_on(weights == DType::bfloat16);
  const bool is_fp16 = said.fp16.is_on(weights == DType::float16);
  if (is_bf16 && is_fp16)
    return bad_input("bf16 and fp16 are both enabled", "--strategy", "one of them");
  config.model_dtype = is_bf16 ? DType::bfloat16 : is_fp16 ? DType::float16 : DType::float32;
  if (!is_bf16 && !is_fp16 && weights != DType::float32)
    return bad_input("DeepSpeed wants float32 weights where neither bf16 nor fp16 is enabled",
                     "--strategy", R"("bf16": {"enabled": true}, or --weights fp32)");
  config.check_grad_overflow = is_fp16 || (is_bf16 && said.bf16.check_grad_overflow);
  config.immediate_grad_update = said.bf16.immediate_grad_update;
  config.scales_loss = is_fp16 && said.fp16.scales_loss;
  return {};
}

/// Of ZeRO 3 alone; _create_zero_param_parallel_group of deepspeed/utils/groups.py.
Result<void> settle_hierarchy(std::int64_t asked, std::int64_t ranks, ZeroConfig& z) {
  z.hpz_partition_size = std::min(asked, ranks);
  if (asked >= 0 && (asked <= 1 || ranks % z.hpz_partition_size == 0)) return {};
  return bad_input(
      std::to_string(ranks) + " GPUs are no groups of " + std::to_string(z.hpz_partition_size),
      "--strategy: zero_optimization.zero_hpz_partition_size", "a divisor of the GPUs");
}

Result<void> settle_zero(const DsOptions& said, const LayoutRecipe& layout, DsConfig& config) {
  ZeroConfig& z = config.zero;
  const std::int64_t stage = said.stage.value_or(layout.zero.value_or(0));
  z.stage = static_cast<int>(stage);
  if (layout.zero.value_or(stage) != stage)
    return bad_input("the ds_config says stage " + std::to_string(stage), "--zero",
                     std::to_string(stage));
  z.overlap_comm = said.overlap_comm.value_or(stage == 3);
  z.offload_optimizer |= layout.offload == "optimizer" || layout.offload == "all";
  z.offload_param |= layout.offload == "all" && stage == 3;
  if (z.offload_optimizer && stage == 0)
    return bad_input("an optimizer is offloaded by ZeRO 1, 2 and 3",
                     "--strategy: zero_optimization.offload_optimizer", "stage 1, 2 or 3");
  if (z.offload_param && stage != 3)
    return bad_input("parameters are offloaded by ZeRO 3",
                     "--strategy: zero_optimization.offload_param", "stage 3");
  if (stage != 3 || !said.hpz_partition_size) return {};
  return settle_hierarchy(*said.hpz_partition_size, layout.gpus, z);
}

Result<void> settle_dtypes(const DsOptions& said, DsConfig& config) {
  config.grad_accum_dtype = said.grad_accum_dtype.value_or(config.model_dtype);
  config.communication_data_type = said.communication_data_type.value_or(config.model_dtype);
  if (config.zero.stage != 0 || config.grad_accum_dtype == config.model_dtype) return {};
  return bad_input("DeepSpeed without ZeRO accumulates gradients in the model's dtype",
                   "--strategy: data_types.grad_accum_dtype", "stage 1, 2 or 3");
}

Result<void> check_rest(const DsConfig& config, std::optional<std::int64_t> total,
                        const TrainRecipe& recipe) {
  if (config.makes_under_zero_init && config.zero.stage != 3)
    return bad_input("zero.Init cuts parameters, as ZeRO 3 alone does", "--strategy: zero_init",
                     "false, or stage 3");
  if (!config.zero.compute_grad_norm && config.gradient_clipping > 0.0)
    return bad_input("clipping needs the norm", "--strategy: zero_optimization.compute_grad_norm",
                     "true, or gradient_clipping 0");
  const std::int64_t product =
      recipe.micro_batch_size * recipe.gradient_accumulation * recipe.layout.gpus;
  if (total.value_or(product) == product) return {};
  return bad_input("train_batch_size is not micro-batch x accumulation x GPUs",
                   "--strategy: train_batch_size", std::to_string(product));
}

std::int64_t hidden_size(const Config& model) {
  const Config text = model.has("text_config") ? model.object("text_config") : model;
  return text.optional_dimension({"hidden_size", "n_embd", "d_model"}).value_or(1024);
}

/// transformers asks the device whether positions step by one everywhere. The runs DeepSpeed was
/// recorded from answered every such question with no.
constexpr const char* kPacked =
    "rows are taken to be packed with several sequences, so that a mask is made; "
    "\"packed_sequences\": false in --strategy if they are not";

}  // namespace

Result<DsConfig> ds_config_of(const DsOptions& said, const Config& model, const TrainRecipe& recipe,
                              AutoSizes sizes) {
  DsConfig config;
  config.zero = said.zero;
  if (sizes == AutoSizes::filled_in)
    for (const auto& [size, of_hidden] : said.automatic)
      config.zero.*size = of_hidden(hidden_size(model));
  config.gradient_clipping = said.gradient_clipping.value_or(recipe.max_grad_norm.value_or(1.0));
  config.packed_sequences = said.packed_sequences.value_or(true);
  config.makes_under_zero_init = said.makes_under_zero_init;
  config.optimizer = said.optimizer;
  return torch::check_data_parallel(recipe.layout, {"dp", "zero"})
      .and_then([&] { return settle_precision(said, recipe.parameter_dtype(), config); })
      .and_then([&] { return settle_zero(said, recipe.layout, config); })
      .and_then([&] { return settle_dtypes(said, config); })
      .and_then([&] { return check_rest(config, said.total, recipe); })
      .map([&] {
        using Kind = ConfiguredOptimizer::Kind;
        const bool is_fused = config.optimizer && config.optimizer->kind == Kind::fused_adam;
        if (is_fused && config.zero.offload_optimizer) config.optimizer->kind = Kind::cpu_adam;
        return config;
      });
}

TrainRecipe resolved(TrainRecipe recipe) {
  const DsOptions said = recipe.own.of<DsOptions>();
  if (said.packed_sequences.value_or(true)) recipe.assumed.push_back(kPacked);
  if (said.micro_batch) recipe.micro_batch_size = *said.micro_batch;
  if (said.accumulation) recipe.gradient_accumulation = *said.accumulation;
  recipe.names_gradient_accumulation |= said.accumulation || said.batch;
  const std::int64_t others =
      recipe.layout.gpus *
      (said.micro_batch ? recipe.micro_batch_size : recipe.gradient_accumulation);
  if (!said.batch || *said.batch % others != 0) return recipe;
  if (said.micro_batch && !said.accumulation) recipe.gradient_accumulation = *said.batch / others;
  if (!said.micro_batch) recipe.micro_batch_size = *said.batch / others;
  return recipe;
}

}  // namespace memtape::deepspeed
