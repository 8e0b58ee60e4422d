// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/strategy.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "model/config_fields.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {
namespace {

using fields::put;

/// Sets a size, which null is not.
template <auto member, class T>
Result<void> size(const Config& json, std::string_view name, T& into) {
  into.*member = json.dimension(name);
  return {};
}

/// Sets a word, which null is not.
template <auto member>
Result<void> word(const Config& json, std::string_view name, Strategy& said) {
  said.*member = json.text(name);
  return {};
}

Result<void> read_capacity(const Config& json, std::string_view name, Strategy& said) {
  said.capacity_factor = json.number(name);
  return {};
}

Result<void> read_modules(const Config& json, std::string_view name, Strategy& said) {
  said.recompute_modules = json.texts(name);
  return {};
}

Result<void> hand_on(const Config& json, std::string_view name, Strategy& said) {
  said.arguments.set(name, json.json(name));
  return {};
}

template <auto member>
Result<void> read_and_hand_on(const Config& json, std::string_view name, Strategy& said) {
  said.*member = json.optional_text(name);
  return hand_on(json, name, said);
}

/// An error for a key that is in none of the rows.
template <class T, std::size_t n>
Result<void> check_known(const Config& object, const std::array<ConfigField<T>, n>& rows) {
  std::vector<std::string_view> known;
  for (const ConfigField<T>& row : rows) known.push_back(row.names);
  for (const std::string& key : object.keys())
    if (std::ranges::find(known, key) == known.end())
      return bad_input(fmt::format("unknown key {}", key), "--strategy", suggestion(key, known));
  return {};
}

using Ddp = DdpStrategy;
constexpr auto kDdpFields = std::to_array<ConfigField<Ddp>>({
    {"use_distributed_optimizer", put<&Ddp::use_distributed_optimizer>},
    {"overlap_grad_reduce", put<&Ddp::overlap_grad_reduce>},
    {"overlap_param_gather", put<&Ddp::overlap_param_gather>},
    {"grad_reduce_in_fp32", put<&Ddp::grad_reduce_in_fp32>},
    {"bucket_size", size<&Ddp::bucket_size>},
    {"pad_buckets_for_high_nccl_busbw", put<&Ddp::pad_buckets_for_high_nccl_busbw>},
});

Result<void> read_ddp(const Config& json, std::string_view name, Strategy& said) {
  const Config ddp = json.object(name);
  return check_known(ddp, kDdpFields).and_then([&] {
    return read_fields(ddp, "--strategy", kDdpFields, said.ddp);
  });
}

constexpr auto kFields = std::to_array<ConfigField<Strategy>>({
    {"tp", size<&Strategy::tp>},
    {"sp", put<&Strategy::sp>},
    {"pp", size<&Strategy::pp>},
    {"vp", size<&Strategy::vp>},
    {"cp", size<&Strategy::cp>},
    {"ep", size<&Strategy::ep>},
    {"etp", size<&Strategy::etp>},
    {"experts", fields::put_count<&Strategy::experts>},
    {"topk", size<&Strategy::topk>},
    {"capacity_factor", read_capacity},
    {"recompute", word<&Strategy::recompute>},
    {"recompute_method", put<&Strategy::recompute_method>},
    {"recompute_num_layers", fields::put_count<&Strategy::recompute_num_layers>},
    {"recompute_modules", read_modules},
    {"ce_fusion", put<&Strategy::ce_fusion>},
    {"swiglu_fusion", put<&Strategy::swiglu_fusion>},
    {"tie", put<&Strategy::tie>},
    {"ddp", read_ddp},
    {"transformer_impl", read_and_hand_on<&Strategy::transformer_impl>},
    {"fp8", read_and_hand_on<&Strategy::fp8>},
    {"fp8_recipe", read_and_hand_on<&Strategy::fp8_recipe>},
    {"moe_token_dispatcher_type", read_and_hand_on<&Strategy::moe_token_dispatcher_type>},
    {"attention_backend", hand_on},
    {"qk_layernorm", hand_on},
    {"gradient_accumulation_fusion", hand_on},
    {"fp8_param_gather", hand_on},
    {"fp4", read_and_hand_on<&Strategy::fp4>},
    {"fp4_recipe", hand_on},
    {"fp4_param_gather", hand_on},
    {"use_precision_aware_optimizer", hand_on},
    {"main_params_dtype", hand_on},
    {"exp_avg_dtype", hand_on},
    {"exp_avg_sq_dtype", hand_on},
    {"mtp_num_layers", hand_on},
    {"moe_grouped_gemm", hand_on},
    {"moe_router_load_balancing_type", hand_on},
    {"moe_aux_loss_coeff", hand_on},
    {"moe_z_loss_coeff", hand_on},
    {"moe_router_dtype", hand_on},
    {"moe_router_pre_softmax", hand_on},
    {"moe_router_score_function", hand_on},
    {"moe_router_num_groups", hand_on},
    {"moe_router_group_topk", hand_on},
    {"moe_router_topk_scaling_factor", hand_on},
    {"moe_router_enable_expert_bias", hand_on},
    {"moe_shared_expert_intermediate_size", hand_on},
    {"moe_shared_expert_gate", hand_on},
    {"moe_shared_expert_overlap", hand_on},
    {"moe_pad_expert_input_to_capacity", hand_on},
    {"moe_ffn_hidden_size", hand_on},
    {"moe_layer_freq", hand_on},
    {"decoder_first_pipeline_num_layers", hand_on},
    {"decoder_last_pipeline_num_layers", hand_on},
    {"account_for_embedding_in_pipeline_split", hand_on},
    {"account_for_loss_in_pipeline_split", hand_on},
    {"pipeline_model_parallel_layout", hand_on},
});

/// The formats of --fp8-format and --fp4-format (megatron/training/arguments.py,
/// _add_mixed_precision_args; TransformerConfig.fp4).
Result<void> check_formats(const Strategy& said) {
  constexpr auto kFormats = std::to_array<std::string_view>({"", "e4m3", "hybrid"});
  if (std::ranges::find(kFormats, said.fp8.value_or("")) == kFormats.end())
    return bad_input(fmt::format("Megatron-LM has no fp8 \"{}\"", *said.fp8), "--strategy",
                     "e4m3 or hybrid");
  if (const std::string fp4 = said.fp4.value_or(""); !fp4.empty() && fp4 != "e2m1")
    return bad_input(fmt::format("Megatron-LM has no fp4 \"{}\"", fp4), "--strategy", "e2m1");
  return {};
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  const Result<Config> object = Config::parse(json, "--strategy");
  if (!object) return tl::unexpected(object.error());
  Strategy said;
  return check_known(*object, kFields)
      .and_then([&] { return read_fields(*object, "--strategy", kFields, said); })
      .and_then([&] { return object->check(); })
      .and_then([&] { return check_formats(said); })
      .map([&] { recipe.own.of<Strategy>() = std::move(said); });
}

const Strategy& strategy_of(const TrainRecipe& recipe) { return recipe.own.of<Strategy>(); }

}  // namespace memtape::megatron
