// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/transformers_model.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "base/text.h"

namespace memtape::megatron {
namespace {

constexpr auto kFamilies =
    std::to_array<std::string_view>({"llama", "mistral", "mixtral", "qwen3"});

constexpr auto kStrategy = std::to_array<std::string_view>(
    {"tp", "sp", "pp", "vp", "cp", "ep", "etp", "experts", "topk", "capacity_factor", "recompute",
     "recompute_method", "recompute_num_layers", "recompute_modules", "ce_fusion", "swiglu_fusion",
     "tie", "ddp"});
constexpr auto kDdp = std::to_array<std::string_view>(
    {"use_distributed_optimizer", "overlap_grad_reduce", "overlap_param_gather",
     "grad_reduce_in_fp32", "bucket_size", "pad_buckets_for_high_nccl_busbw"});

Result<void> known_keys(const Config& object, std::span<const std::string_view> known) {
  for (const std::string& key : object.keys())
    if (std::ranges::find(known, key) == known.end())
      return bad_input(fmt::format("unknown key {}", key), "--strategy", suggestion(key, known));
  return {};
}

class Attributes {
 public:
  void number(std::string_view name, std::int64_t value) { set(name, fmt::format("{}", value)); }
  void truth(std::string_view name, bool value) { set(name, value ? "true" : "false"); }
  void text(std::string_view name, std::string_view value) { set(name, json_quoted(value)); }
  void set(std::string_view name, std::string json) {
    lines_.push_back(fmt::format("{}: {}", json_quoted(name), json));
  }
  std::string object() const { return fmt::format("{{{}}}", fmt::join(lines_, ",\n")); }

 private:
  std::vector<std::string> lines_;
};

void add_model(const Config& c, const Config& strategy, Attributes& a) {
  const std::int64_t heads = c.dimension("num_attention_heads");
  const std::int64_t hidden = c.dimension("hidden_size");
  a.number("num_layers", c.layers("num_hidden_layers"));
  a.number("hidden_size", hidden);
  a.number("ffn_hidden_size", c.dimension("intermediate_size"));
  a.number("num_attention_heads", heads);
  a.truth("group_query_attention", true);
  a.number("num_query_groups", c.dimension("num_key_value_heads", heads));
  a.number("kv_channels", c.dimension("head_dim", std::max<std::int64_t>(1, hidden / heads)));
  a.number("max_position_embeddings", c.dimension("max_position_embeddings", 2048));
  a.number("vocab_size", c.dimension("vocab_size"));
  a.truth("add_bias_linear", false);
  a.truth("add_qkv_bias", c.boolean("attention_bias", false));
  a.text("normalization", "RMSNorm");
  a.text("position_embedding_type", "rope");
  a.truth("swiglu", true);
  a.truth("untie_embeddings_and_output_weights", !strategy.boolean("tie", false));
}

void add_experts(const Config& strategy, Attributes& a) {
  const std::int64_t experts = strategy.count("experts", 0);
  if (experts == 0) return;
  a.number("num_experts", experts);
  a.number("moe_router_topk", strategy.dimension("topk", 2));
  if (strategy.has("capacity_factor"))
    a.set("moe_expert_capacity_factor", strategy.json("capacity_factor"));
}

void add_layout(const Config& s, const LayoutRecipe& layout, Attributes& a) {
  const auto size = [&](std::string_view name, const char* key,
                        const std::optional<std::int64_t>& option) {
    a.number(name, s.dimension(key, option.value_or(1)));
  };
  size("tensor_model_parallel_size", "tp", layout.tp);
  size("pipeline_model_parallel_size", "pp", layout.pp);
  size("num_virtual_stages_per_pipeline_rank", "vp", layout.vpp);
  size("context_parallel_size", "cp", layout.cp);
  size("expert_model_parallel_size", "ep", layout.ep);
  if (s.has("etp") || layout.etp) size("expert_tensor_parallel_size", "etp", layout.etp);
  a.truth("sequence_parallel", s.boolean("sp", layout.sp.value_or(1) > 1));
}

void add_buffers(const Config& ddp, Attributes& a) {
  a.truth("use_distributed_optimizer", ddp.boolean("use_distributed_optimizer", false));
  a.truth("overlap_grad_reduce", ddp.boolean("overlap_grad_reduce", false));
  a.truth("overlap_param_gather", ddp.boolean("overlap_param_gather", false));
  a.truth("ddp_pad_buckets_for_high_nccl_busbw",
          ddp.boolean("pad_buckets_for_high_nccl_busbw", false));
  a.truth("grad_reduce_in_bf16", !ddp.boolean("grad_reduce_in_fp32", true));
  if (ddp.has("bucket_size")) a.number("ddp_bucket_size", ddp.dimension("bucket_size"));
}

void add_recompute(const Config& s, const TrainRecipe& recipe, Attributes& a) {
  const std::string_view asked = recipe.checkpointing == Checkpointing::none        ? ""
                                 : recipe.checkpointing == Checkpointing::selective ? "selective"
                                                                                    : "full";
  const std::string granularity = s.text("recompute", asked);
  if (granularity.empty()) return;
  a.text("recompute_granularity", granularity);
  if (granularity == "full") a.text("recompute_method", s.text("recompute_method", "uniform"));
  a.number("recompute_num_layers", s.dimension("recompute_num_layers", 1));
  if (s.has("recompute_modules")) a.set("recompute_modules", s.json("recompute_modules"));
}

void add_numbers(const Config& s, const TrainRecipe& recipe, Attributes& a) {
  const DType dtype = recipe.parameter_dtype();
  if (dtype == DType::bfloat16) a.truth("bf16", true);
  if (dtype == DType::float16) a.truth("fp16", true);
  a.number("seq_length", recipe.sequence_length);
  a.number("micro_batch_size", recipe.micro_batch_size);
  a.set("clip_grad", fmt::format("{}", recipe.max_grad_norm.value_or(0.0)));
  a.set("hidden_dropout", "0.0");
  a.set("attention_dropout", "0.0");
  a.text("transformer_impl", "local");
  a.truth("gradient_accumulation_fusion", false);
  a.truth("masked_softmax_fusion", false);
  a.truth("fused_kernels", false);
  a.truth("create_attention_mask_in_dataloader", false);  // each layer makes its own
  a.truth("attention_softmax_in_fp32", true);
  a.truth("cross_entropy_loss_fusion", s.boolean("ce_fusion", false));
  a.truth("bias_swiglu_fusion", s.boolean("swiglu_fusion", true));
}

}  // namespace

Result<Config> megatron_configuration(const Config& c, const TrainRecipe& recipe) {
  const std::string family = c.text("model_type", "");
  if (std::ranges::find(kFamilies, family) == kFamilies.end())
    return unsupported(fmt::format("\"{}\" is not modelled by --framework megatron-core", family),
                       c.where() + ": model_type", suggestion(family, kFamilies));
  const std::string& text = recipe.layout.strategy;
  const Result<Config> strategy = Config::parse(text.empty() ? "{}" : text, "--strategy");
  if (!strategy) return tl::unexpected(strategy.error());
  const Config ddp = strategy->object("ddp");
  for (const auto& known : {known_keys(*strategy, kStrategy), known_keys(ddp, kDdp)})
    if (!known) return tl::unexpected(known.error());
  Attributes attributes;
  attributes.text("model_type", "megatron");
  add_model(c, *strategy, attributes);
  add_experts(*strategy, attributes);
  add_layout(*strategy, recipe.layout, attributes);
  add_buffers(ddp, attributes);
  add_recompute(*strategy, recipe, attributes);
  add_numbers(*strategy, recipe, attributes);
  for (const auto& checked : {c.check(), strategy->check()})
    if (!checked) return tl::unexpected(checked.error());
  return Config::parse(attributes.object(), "--strategy");
}

}  // namespace memtape::megatron
