// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/transformers_model.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/megatron/attributes.h"
#include "framework/megatron/bridge.h"
#include "framework/megatron/bridge_mixtures.h"
#include "framework/megatron/strategy.h"
#include "model/type_of.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {
namespace {

/// Those without experts; bridge_mixtures.h has the others.
constexpr auto kDense =
    std::to_array<std::string_view>({"llama", "mistral", "qwen2", "qwen3", "gpt2"});

std::vector<std::string_view> known_families() {
  std::vector<std::string_view> known(kDense.begin(), kDense.end());
  for (const BridgeMixture& mixture : bridge_mixtures()) known.push_back(mixture.family);
  return known;
}

/// A mixture of experts as the configuration has it, or as --strategy says of a dense one.
struct CountedExperts {
  std::int64_t count = 0, topk = 2, width = 0, shared_width = 0;
  std::string layers = "1";  ///< --moe-layer-freq
};

/// "([0]*3+[1]*58)": which of the layers are of experts.
std::string layer_list(std::int64_t layers, const auto& is_expert) {
  std::string list;
  for (std::int64_t first = 0, next = 0; first < layers; first = next) {
    while (next < layers && is_expert(next) == is_expert(first)) ++next;
    list += fmt::format("{}[{}]*{}", first == 0 ? "" : "+", is_expert(first) ? 1 : 0, next - first);
  }
  return fmt::format("({})", list);
}

/// Layers of experts: all behind the dense ones, or every so many and none of those that are named
/// (Qwen3).
std::string mixture_layers(const Config& c, const BridgeMixture& mixture) {
  if (mixture.dense_first.key.empty() && !c.has("decoder_sparse_step")) return "1";
  const std::int64_t dense = c.count(mixture.dense_first.key, mixture.dense_first.otherwise),
                     every = c.dimension("decoder_sparse_step", 1);
  const std::vector<std::int64_t> named = c.integers("mlp_only_layers");
  return layer_list(c.layers("num_hidden_layers"), [&](std::int64_t i) {
    return i >= dense && (i + 1) % every == 0 && std::ranges::find(named, i) == named.end();
  });
}

CountedExperts experts_of(const Config& c) {
  const BridgeMixture* const mixture = bridge_mixture(type_of(c));
  if (!mixture) return {};
  const auto count = [&c](const CountedBy& by) {
    return by.key.empty() ? 0 : c.count(by.key, by.otherwise);
  };
  CountedExperts experts{.count = count(mixture->experts),
                         .topk = count(mixture->topk),
                         .layers = mixture_layers(c, *mixture)};
  if (mixture->width.empty()) return experts;
  experts.width = c.dimension(mixture->width);
  experts.shared_width = count(mixture->shared) * experts.width;
  return experts;
}

void add_experts(const Config& c, const Strategy& strategy, Attributes& a) {
  CountedExperts experts = experts_of(c);
  experts.count = strategy.experts.value_or(experts.count);
  if (experts.count == 0) return;
  a.number("num_experts", experts.count);
  a.number("moe_router_topk", strategy.topk.value_or(experts.topk));
  if (experts.width > 0) a.number("moe_ffn_hidden_size", experts.width);
  if (experts.shared_width > 0)
    a.number("moe_shared_expert_intermediate_size", experts.shared_width);
  a.text("moe_layer_freq", experts.layers);
  if (!strategy.capacity_factor) return;
  a.set("moe_expert_capacity_factor", fmt::format("{}", *strategy.capacity_factor));
  a.truth("moe_pad_expert_input_to_capacity", true);
  a.text("moe_token_dispatcher_type", "alltoall");
}

/// Multi-latent attention.
void add_latent(const Config& c, Attributes& a) {
  a.truth("multi_latent_attention", true);
  a.number("q_lora_rank", c.optional_dimension("q_lora_rank").value_or(0));
  a.number("kv_lora_rank", c.dimension("kv_lora_rank"));
  a.number("qk_head_dim", c.dimension("qk_nope_head_dim"));
  a.number("qk_pos_emb_head_dim", c.dimension("qk_rope_head_dim"));
  a.number("v_head_dim", c.dimension("v_head_dim"));
  a.truth("qk_layernorm", true);
}

void add_gpt2(const Config& c, const Strategy& strategy, Attributes& a) {
  const std::int64_t hidden = c.dimension("n_embd");
  a.number("num_layers", c.layers("n_layer"));
  a.number("hidden_size", hidden);
  a.number("ffn_hidden_size", c.dimension("n_inner", 4 * hidden));
  a.number("num_attention_heads", c.dimension("n_head"));
  a.number("max_position_embeddings", c.dimension("n_positions", 1024));
  a.number("vocab_size", c.dimension("vocab_size"));
  a.truth("untie_embeddings_and_output_weights", !strategy.tie.value_or(true));
}

void add_decoder(const Config& c, const Strategy& strategy, Attributes& a) {
  const std::string family = type_of(c);
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
  a.truth("add_qkv_bias", c.boolean("attention_bias", family == "qwen2"));
  a.text("normalization", "RMSNorm");
  a.text("position_embedding_type", "rope");
  a.truth("swiglu", true);
  a.truth("untie_embeddings_and_output_weights", !strategy.tie.value_or(false));
  if (const BridgeMixture* const mixture = bridge_mixture(family); mixture && mixture->latent)
    add_latent(c, a);
}

/// How the layers of well-known models that do not divide are laid out: Llama 3.1 405B's 126 as if
/// embedding and loss were layers, DeepSeek-V3's 61 with what is over on the last stage
/// (Megatron-Bridge's recipes/llama/llama3.py and recipes/deepseek/deepseek_v3.py).
void add_split(const Config& c, const Strategy& s, std::int64_t stages, Attributes& a) {
  constexpr std::array<std::string_view, 5> kSaid{
      "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
      "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split",
      "pipeline_model_parallel_layout"};
  const std::string family = type_of(c);
  if (std::ranges::any_of(kSaid, [&](const auto key) { return s.arguments.has(key); })) return;
  const std::int64_t layers = family == "gpt2" ? 0 : c.layers("num_hidden_layers");
  if (layers % stages == 0) return;
  if (family == "llama" && (layers + 2) % stages == 0) {
    a.truth("account_for_embedding_in_pipeline_split", true);
    a.truth("account_for_loss_in_pipeline_split", true);
  }
  const std::int64_t each = (layers + stages - 1) / stages, last = layers - each * (stages - 1);
  const BridgeMixture* const mixture = bridge_mixture(family);
  if (mixture && mixture->latent && last > 0) a.number("decoder_last_pipeline_num_layers", last);
}

void add_layout(const Config& c, const Strategy& s, const LayoutRecipe& layout, Attributes& a) {
  const auto size = [](const std::optional<std::int64_t>& said,
                       const std::optional<std::int64_t>& option) {
    return said.value_or(option.value_or(1));
  };
  const std::int64_t stages = size(s.pp, layout.pp), chunks = size(s.vp, layout.vpp);
  a.number("tensor_model_parallel_size", size(s.tp, layout.tp));
  a.number("pipeline_model_parallel_size", stages);
  a.number("num_virtual_stages_per_pipeline_rank", chunks);
  add_split(c, s, stages * chunks, a);
  a.number("context_parallel_size", size(s.cp, layout.cp));
  a.number("expert_model_parallel_size", size(s.ep, layout.ep));
  if (s.etp || layout.etp) a.number("expert_tensor_parallel_size", size(s.etp, layout.etp));
  a.truth("sequence_parallel", s.sp.value_or(layout.sp.value_or(1) > 1));
}

void add_buffers(const DdpStrategy& ddp, const LayoutRecipe& layout, Attributes& a) {
  a.truth("use_distributed_optimizer",
          ddp.use_distributed_optimizer.value_or(layout.zero.value_or(0) == 1));
  a.truth("overlap_grad_reduce", ddp.overlap_grad_reduce);
  a.truth("overlap_param_gather", ddp.overlap_param_gather);
  a.truth("ddp_pad_buckets_for_high_nccl_busbw", ddp.pad_buckets_for_high_nccl_busbw);
  a.truth("grad_reduce_in_bf16", !ddp.grad_reduce_in_fp32);
  if (ddp.bucket_size) a.number("ddp_bucket_size", *ddp.bucket_size);
}

void add_recompute(const Strategy& s, const TrainRecipe& recipe, Attributes& a) {
  const std::string_view asked = recipe.checkpointing == Checkpointing::none        ? ""
                                 : recipe.checkpointing == Checkpointing::selective ? "selective"
                                                                                    : "full";
  const std::string granularity = s.recompute.value_or(std::string(asked));
  if (granularity.empty()) return;
  a.text("recompute_granularity", granularity);
  if (granularity == "full") a.text("recompute_method", s.recompute_method);
  a.number("recompute_num_layers", s.recompute_num_layers);
  if (s.recompute_modules) a.texts("recompute_modules", *s.recompute_modules);
}

void add_numbers(const TrainRecipe& recipe, Attributes& a) {
  const DType dtype = recipe.parameter_dtype();
  if (dtype == DType::bfloat16) a.truth("bf16", true);
  if (dtype == DType::float16) a.truth("fp16", true);
  a.number("seq_length", recipe.sequence_length);
  a.number("micro_batch_size", recipe.micro_batch_size);
  a.set("clip_grad", fmt::format("{}", recipe.max_grad_norm.value_or(0.0)));
  a.set("hidden_dropout", "0.0");
  a.set("attention_dropout", "0.0");
}

/// A loop of one's own over megatron-core's local layers, where neither Transformer Engine nor Apex
/// is there.
void add_local(const Strategy& s, Attributes& a) {
  a.text("transformer_impl", "local");
  a.truth("gradient_accumulation_fusion", false);
  a.truth("masked_softmax_fusion", false);
  a.truth("fused_kernels", false);
  a.truth("create_attention_mask_in_dataloader", false);  // each layer makes its own
  a.truth("attention_softmax_in_fp32", true);
  a.truth("cross_entropy_loss_fusion", s.ce_fusion.value_or(false));
  a.truth("bias_swiglu_fusion", s.swiglu_fusion);
}

/// Transformer Engine's attention is never unfused unless that is asked for.
bool is_local(const Strategy& strategy, const TrainRecipe& recipe) {
  const bool unfused = recipe.attention == AttentionChoice::eager;
  return strategy.transformer_impl.value_or(unfused ? "local" : "transformer_engine") == "local";
}

/// What --precision says of the products, where --strategy does not.
void add_low_bits(const TrainRecipe& recipe, const Strategy& s, Attributes& a) {
  if (!recipe.low_bits || s.arguments.has("fp8") || s.arguments.has("fp4")) return;
  if (recipe.low_bits == LowBits::nvfp4) {
    a.text("fp4", "e2m1");
    return;
  }
  const bool is_mx = recipe.low_bits == LowBits::mxfp8;
  a.text("fp8", is_mx ? "e4m3" : "hybrid");
  if (is_mx && !s.arguments.has("fp8_recipe")) a.text("fp8_recipe", "mxfp8");
}

}  // namespace

Result<Config> megatron_configuration(const Config& c, const TrainRecipe& recipe) {
  const std::string family = type_of(c);
  if (std::ranges::find(kDense, family) == kDense.end() && !bridge_mixture(family))
    return unsupported(fmt::format("\"{}\" is not modelled by --framework megatron-core", family),
                       c.where() + ": model_type", suggestion(family, known_families()));
  const Strategy& strategy = strategy_of(recipe);
  Attributes attributes;
  attributes.text("model_type", "megatron");
  if (family == "gpt2")
    add_gpt2(c, strategy, attributes);
  else
    add_decoder(c, strategy, attributes);
  add_experts(c, strategy, attributes);
  add_layout(c, strategy, recipe.layout, attributes);
  add_buffers(strategy.ddp, recipe.layout, attributes);
  add_recompute(strategy, recipe, attributes);
  add_numbers(recipe, attributes);
  if (is_local(strategy, recipe))
    add_local(strategy, attributes);
  else
    add_bridge(c, strategy, recipe, attributes);
  attributes.set_all(strategy.arguments);
  add_low_bits(recipe, strategy, attributes);
  if (const Result<void> fine = c.check(); !fine) return tl::unexpected(fine.error());
  return Config::parse(attributes.object(), "--strategy");
}

TrainRecipe resolved(TrainRecipe recipe, const Config& c) {
  recipe.micro_batch_size = c.integer("micro_batch_size", recipe.micro_batch_size);
  recipe.sequence_length =
      c.integer("seq_length", c.integer("encoder_seq_length", recipe.sequence_length));
  if (c.has("expert_model_parallel_size"))
    recipe.layout.ep = c.integer("expert_model_parallel_size", 1);
  const std::string backend = c.text("attention_backend", "");
  if (backend == "unfused" || backend == "local" || c.text("transformer_impl", "") == "local")
    recipe.attention = AttentionChoice::eager;
  return recipe;
}

}  // namespace memtape::megatron
