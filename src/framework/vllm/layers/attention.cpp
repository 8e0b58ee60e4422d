// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/attention.h"

#include <algorithm>
#include <array>

#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/ops.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// cache_config.sliding_window: one window for all layers, where the configuration has no pattern.
std::int64_t model_window(const Config& config) {
  const std::string type = type_of(config);
  const bool interleaved = config.has("layer_types") || type.starts_with("gemma") ||
                           type == "gpt_oss" || !config.boolean("use_sliding_window", true);
  return interleaved ? 0 : config.optional_integer("sliding_window").value_or(0);
}

/// What transformers' configuration class says where config.json does not say how long contexts
/// are.
std::int64_t class_positions(const Config& config, std::int64_t otherwise) {
  struct Row {
    std::string_view family;
    std::int64_t positions;
  };
  static constexpr auto kRows = std::to_array<Row>({
      {"llama", 2048},
      {"mistral", 131072},
      {"mixtral", 131072},
      {"qwen2", 32768},
      {"qwen2_moe", 32768},
      {"qwen3", 32768},
      {"qwen3_moe", 32768},
      {"gemma3_text", 131072},
      {"phi3", 4096},
      {"starcoder2", 4096},
      {"granite", 2048},
  });
  const auto row = std::ranges::find(kRows, type_of(config), &Row::family);
  return row == kRows.end() ? otherwise : row->positions;
}

/// FlashAttention 3 reads quantized queries where the cache is fp8 (flash_attn.py,
/// supports_quant_query_input).
bool quantizes_query(const Settings& settings) {
  return settings.kv_dtype == KvDType::fp8 && settings.device.is(9, 0);
}

/// SGLang's RadixAttention has scales where the checkpoint may bring them (BaseKVCacheMethod of
/// layers/quantization/kv_cache.py), and keeps them.
void make_sglang_kv_scales(const Place& place) {
  const Runtime& runtime = place.runtime();
  if (!runtime.quantization || !runtime.quantization->has_kv_scales()) return;
  for (const char* name : {"k_scale", "v_scale"}) place.parameter(name, {}, DType::float32);
}

}  // namespace

void make_kv_scales(const Place& place) {
  if (place.settings().sglang_layers) return make_sglang_kv_scales(place);
  for (const char* name : {"_k_scale", "_v_scale", "_q_scale", "_prob_scale"})
    place.scope().buffer(name, kernel_output("tensor", {}, DType::float32));
  // _k_scale_cpu and _v_scale_cpu are made while the default device is the GPU; they are made anew,
  // on the host, unless the checkpoint brings scales.
  Runtime& runtime = place.runtime();
  const Quantization* scheme = place.quantization();
  const bool brings_scales = scheme && scheme->has_kv_scales();
  for (int i = 0; i < 2; ++i) {
    const auto copy = std::make_shared<Tensor>(kernel_output("tensor", {}, DType::float32));
    if (brings_scales)
      runtime.kept.push_back(*copy);
    else
      runtime.after_attention.push_back([copy] { copy->reset(); });
  }
  if (!brings_scales) return;
  // BaseKVCacheMethod.create_weights; deleted once their values are in the buffers (kv_cache.py).
  const auto weights = std::make_shared<Weights>(place);
  constexpr std::array kNames{"q_scale", "k_scale", "v_scale", "prob_scale"};
  for (const char* name : kNames) weights->create(name, {}, DType::float32);
  runtime.after_loading.push_back([weights, kNames] {
    for (const char* name : kNames) weights->drop(name);
  });
}

Attention::Attention(const Place& place, const Heads& heads, const AttentionOptions& options)
    : Module(place.scope()),
      runtime_(place.runtime()),
      heads_(heads.query),
      size_v_(options.head_size_v > 0 ? options.head_size_v : heads.size),
      quantizes_query_(quantizes_query(place.settings())) {
  const ghost::ScopeGuard guard(node().scope);
  make_kv_scales(place);
  if (options.shares_cache) return;
  const std::int64_t window = options.window == AttentionOptions::kFull ? 0
                              : options.window > 0                      ? options.window
                                                   : model_window(place.config());
  KvLayer spec;
  spec.kind = window == 0             ? KvKind::full
              : options.chunked_local ? KvKind::chunked_local
                                      : KvKind::sliding_window;
  spec.block_size = place.settings().block_size.value_or(16);
  spec.heads = heads.kv;
  spec.head_size = heads.size;
  spec.head_size_v = size_v_;
  spec.window = window;
  spec.dtype = place.settings().kv_torch_dtype();
  runtime_.kv_layers.push_back(spec);
}

Tensor Attention::forward(const Tensor& query) {
  Tensor quantized;
  if (quantizes_query_)
    quantized = kernel_output("static_scaled_fp8_quant", query.sizes(), DType::float8_e4m3fn);
  const Dims sizes{query.size(0), heads_ * size_v_};
  Tensor output = kernel_output("unified_attention_with_output", sizes, query.dtype());
  if (runtime_.has_metadata) run_kernel(sizes, query.dtype());
  return output;
}

/// flash_attn_varlen_func on one token of each request: queries regrouped by key heads, the output
/// in that order, and the sums of exponentials.
void Attention::run_kernel(const Dims& sizes, DType dtype) const {
  const Tensor lengths = kernel_output("cumsum", {sizes[0] + 1}, DType::int32);
  const Tensor regrouped = kernel_output("reshape", sizes, dtype);
  Tensor apart = kernel_output("empty_like", sizes, dtype);
  const Tensor sums = kernel_output("empty", {heads_, sizes[0]}, DType::float32);
  apart.reset();
  const Tensor turned = kernel_output("reshape", {heads_, sizes[0]}, DType::float32);
}

AttentionBlock::AttentionBlock(const Place& place, std::int64_t hidden, const Heads& heads,
                               const AttentionBlockOptions& options)
    : Module(place.scope()),
      heads_(heads),
      copies_parts_(options.copies_parts),
      full_width_norms_(options.full_width_norms),
      float32_norms_(options.float32_norms) {
  if (options.rope_first) make_rope(place, options);
  qkv_proj_ = qkv_linear(place / options.names[0], hidden, heads, {.bias = options.qkv_bias});
  o_proj_ = std::make_unique<Linear>(
      place / options.names[1], heads.total * heads.size, std::vector<std::int64_t>{hidden},
      LinearOptions{
          .cut = Cut::row, .bias = options.output_bias, .reduce_results = options.reduce_results});
  if (options.qk_norm && !options.norm_last) make_norms(place, options);
  if (options.rope && !options.rope_first) make_rope(place, options);
  attn_ = std::make_unique<Attention>(place / options.names[2], heads,
                                      AttentionOptions{.window = options.window});
  if (options.qk_norm && options.norm_last) make_norms(place, options);
}

void AttentionBlock::widen_input(const Place& place, std::int64_t width, bool bias) {
  replaced_ = std::move(qkv_proj_);
  qkv_proj_ = qkv_linear(place / "qkv_proj", width, heads_, {.bias = bias});
  replaced_->weights.drop("weight");
  replaced_->weights.drop("bias");
  replaced_->bias.reset();
}

void AttentionBlock::make_rope(const Place& place, const AttentionBlockOptions& options) {
  const Config& config = place.config();
  RopeParameters rope = RopeParameters::read(config, options.layer_type);
  if (options.partial_rotary_factor && rope.partial_rotary_factor == 1)
    rope.partial_rotary_factor = *options.partial_rotary_factor;
  rope.keeps_float32 = options.rope_first;
  rotary_ = get_rope(
      place / "rotary_emb",
      {.head_size = heads_.size,
       .max_position = config.optional_integer("max_position_embeddings")
                           .value_or(class_positions(config, options.default_max_position))},
      rope);
  if (options.sinks) sinks_ = place.parameter("sinks", {heads_.query});
}

void AttentionBlock::make_norms(const Place& place, const AttentionBlockOptions& options) {
  const bool wide = options.full_width_norms;
  q_norm_ = std::make_unique<RMSNorm>(place / "q_norm", wide ? heads_.q_size() : heads_.size,
                                      options.norm);
  k_norm_ = std::make_unique<RMSNorm>(place / "k_norm", wide ? heads_.kv_size() : heads_.size,
                                      options.norm);
}

void AttentionBlock::normalize_in_float32(Tensor& q, Tensor& k) const {
  const auto normed = [](const Tensor& x) {
    const auto make = [&] { return kernel_output("mul", x.sizes(), DType::float32); };
    const Tensor product = make();
    return make();
  };
  const DType dtype = q.dtype();
  const Dims q_sizes = q.sizes(), k_sizes = k.sizes();
  if (runtime().tp() == 1) {
    Tensor wide_q = kernel_output("to", q_sizes, DType::float32);
    Tensor wide_k = kernel_output("to", k_sizes, DType::float32);
    const auto variance = [](const Tensor& x) {
      const Tensor squares = kernel_output("pow", x.sizes(), DType::float32);
      return kernel_output("mean", {x.size(0), 1}, DType::float32);
    };
    const Tensor q_var = variance(wide_q);
    const Tensor k_var = variance(wide_k);
    wide_q = normed(wide_q);
    wide_k = normed(wide_k);
    q = kernel_output("to", q_sizes, dtype);
    wide_q.reset();
    k = kernel_output("to", k_sizes, dtype);
    return;
  }
  q = kernel_output("minimax_qk_norm_fusion", q_sizes, dtype);
  k = kernel_output("minimax_qk_norm_fusion", k_sizes, dtype);
}

Tensor AttentionBlock::forward(const Tensor& hidden_states) {
  const Tensor qkv = (*qkv_proj_)(hidden_states);
  const std::int64_t q_size = heads_.q_size(), kv_size = heads_.kv_size();
  Tensor q = qkv.slice(-1, 0, q_size);
  Tensor k = qkv.slice(-1, q_size, q_size + kv_size);
  Tensor v, q_by_head, k_by_head;
  if (copies_parts_) {
    const auto copy = [&](std::int64_t width) {
      return kernel_output("reshape", {qkv.size(0), width}, qkv.dtype());
    };
    q = copy(q_size);
    k = copy(kv_size);
    v = copy(kv_size);
  }
  if (float32_norms_) {
    normalize_in_float32(q, k);
  } else if (q_norm_ && full_width_norms_) {
    q = (*q_norm_)(q);
    k = (*k_norm_)(k);
  } else if (q_norm_) {
    q_by_head = (*q_norm_)(q.view({q.size(0), heads_.query, heads_.size}));
    q = q_by_head.view({q.size(0), q_size});
    k_by_head = (*k_norm_)(k.view({k.size(0), heads_.kv, heads_.size}));
    k = k_by_head.view({k.size(0), kv_size});
  }
  if (rotary_) rotary_->rotate(q, k);
  const Tensor attn_output = (*attn_)(q);
  return (*o_proj_)(attn_output);
}

}  // namespace memtape::vllm
