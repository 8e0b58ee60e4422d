// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/mla.h"

#include <algorithm>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

std::unique_ptr<Linear> latent_linear(const Place& place, std::int64_t in,
                                      std::vector<std::int64_t> outs, Cut cut) {
  return std::make_unique<Linear>(place, in, std::move(outs), LinearOptions{.cut = cut});
}

/// Tokens of a page: FlashInfer's kernels for data centre Blackwell take 32, FlashMLA and its kin
/// 64, what runs bf16 elsewhere takes any.
std::int64_t cache_block(const Settings& s) {
  const bool flashinfer = s.device.traits.major == 10;
  const std::int64_t usual = flashinfer ? 32 : s.kv_dtype == KvDType::fp8 ? 64 : 16;
  return s.block_size.value_or(usual);
}

}  // namespace

RopeParameters mla_rope(const Config& config) {
  RopeParameters rope = RopeParameters::read(config);
  if (rope.type != "default") rope.type = "deepseek_yarn";
  rope.partial_rotary_factor = 1;
  return rope;
}

void expand_latent_heads(const Place& place, Linear& kv_b_proj, const MlaShape& shape) {
  const Tensor weight = kv_b_proj.weights.get("weight");
  const DType dtype = place.runtime().dtype();
  if (weight.defined() && weight.dtype() == dtype) return;
  const Tensor dequantized =
      kernel_output("dequantize", {shape.kv_lora_rank, kv_b_proj.out()}, dtype);
  place.scope().buffer("W_UV", dequantized);
}

MlaShape::MlaShape(const Config& c)
    : hidden(c.dimension("hidden_size")),
      heads(c.dimension("num_attention_heads")),
      q_lora_rank(c.optional_dimension("q_lora_rank").value_or(0)),
      kv_lora_rank(c.dimension("kv_lora_rank")),
      nope(c.dimension("qk_nope_head_dim")),
      rope(c.dimension("qk_rope_head_dim")),
      value(c.dimension("v_head_dim")) {}

MlaAttention::MlaAttention(const Place& place)
    : Module(place.scope()), place_(place), runtime_(place.runtime()), shape_(place.config()) {
  const MlaShape& s = shape_;
  heads_ = Heads(runtime_, s.heads, s.heads, s.qk()).query;
  if (s.q_lora_rank > 0) {
    a_proj_ = latent_linear(place / "fused_qkv_a_proj", s.hidden,
                            {s.q_lora_rank, s.kv_lora_rank + s.rope}, Cut::replicated);
    q_a_layernorm_ = std::make_unique<RMSNorm>(place / "q_a_layernorm", s.q_lora_rank);
    q_proj_ = latent_linear(place / "q_b_proj", s.q_lora_rank, {s.heads * s.qk()}, Cut::column);
  } else {
    a_proj_ = latent_linear(place / "kv_a_proj_with_mqa", s.hidden, {s.kv_lora_rank + s.rope},
                            Cut::replicated);
    q_proj_ = latent_linear(place / "q_proj", s.hidden, {s.heads * s.qk()}, Cut::column);
  }
  kv_a_layernorm_ = std::make_unique<RMSNorm>(place / "kv_a_layernorm", s.kv_lora_rank);
  kv_b_proj_ = latent_linear(place / "kv_b_proj", s.kv_lora_rank, {s.heads * (s.nope + s.value)},
                             Cut::column);
  o_proj_ = latent_linear(place / "o_proj", s.heads * s.value, {s.hidden}, Cut::row);
  rotary_ = get_rope(place / "rotary_emb",
                     {.head_size = s.rope,
                      .max_position = place.config().integer("max_position_embeddings", 8192)},
                     mla_rope(place.config()));
  const Place attn = place / "mla_attn";
  {
    const ghost::ScopeGuard guard(attn.scope().node().scope);
    make_kv_scales(attn);
  }
  if (caches_latents())
    runtime_.after_attention.push_back([this] {
      const ghost::ScopeGuard guard(node().scope);
      expand_latent_heads(place_, *kv_b_proj_, shape_);
    });
  // cutlass_mla.py makes its workspace when it is imported, to see which backends there are.
  constexpr Bytes kCutlass = Bytes{128} << 20;
  if (runtime_.settings.device.traits.major == 10) runtime_.workspace.keep("cutlass_mla", kCutlass);
  runtime_.kv_layers.push_back(cache_layer());
}

KvLayer MlaAttention::cache_layer() const {
  const Settings& settings = runtime_.settings;
  KvLayer spec;
  spec.dtype = settings.kv_torch_dtype();
  if (!caches_latents()) {
    spec.block_size = settings.block_size.value_or(16);
    spec.heads = heads_;
    spec.head_size = spec.head_size_v = kPaddedHead;
    return spec;
  }
  spec.kind = KvKind::mla;
  spec.head_size = shape_.kv_lora_rank + shape_.rope;
  spec.block_size = cache_block(settings);
  return spec;
}

bool MlaAttention::caches_latents() const {
  const Release& release = runtime_.settings.release;
  if (release.has(changes::kVllmCachesLatentsOfAllSchemes)) return true;
  const std::string method =
      place_.config().object("quantization_config").text("quant_method", "fp8");
  return release.has(changes::kVllmCachesLatents) &&
         (method == "fp8" || method == "compressed-tensors");
}

/// DeepseekV2Attention.forward of 0.6 and 0.7.0: keys and values of all heads are expanded, and
/// queries, keys and values padded to a width that FlashAttention takes.
Tensor MlaAttention::attend_expanded(const Tensor& kv_c_normed, const Tensor& q) {
  const std::int64_t tokens = q.size(0);
  const Dims padded{tokens, heads_ * kPaddedHead};
  const Tensor kv = (*kv_b_proj_)(kv_c_normed);
  const Tensor k = kernel_output("empty_like", q.sizes(), q.dtype());
  const Tensor wide_q = kernel_output("pad", padded, q.dtype());
  const Tensor wide_k = kernel_output("pad", padded, q.dtype());
  const Tensor wide_v = kernel_output("pad", padded, q.dtype());
  const Tensor output = kernel_output("unified_attention", padded, q.dtype());
  return kernel_output("reshape", {tokens, heads_ * shape_.value}, q.dtype());
}

/// determine_chunked_prefill_workspace_size of mla_attention.py.
std::int64_t MlaAttention::prefill_workspace_rows() const {
  constexpr std::int64_t kMost = 64 * 1024;
  const Settings& s = runtime_.settings;
  const std::int64_t block = cache_block(s);
  const std::int64_t rows =
      std::min(std::max(8 * s.max_model_len, 4 * s.max_num_seqs * block), kMost);
  return std::max(rows, s.max_num_seqs * block);
}

Tensor MlaAttention::forward(const Tensor& hidden_states) {
  const MlaShape& s = shape_;
  const std::int64_t tokens = hidden_states.size(0);
  const Tensor lora = (*a_proj_)(hidden_states);
  Tensor q_c;
  if (q_a_layernorm_) q_c = (*q_a_layernorm_)(lora.slice(-1, 0, s.q_lora_rank));
  const Tensor kv_c_normed =
      (*kv_a_layernorm_)(lora.slice(-1, s.q_lora_rank, s.q_lora_rank + s.kv_lora_rank));
  const Tensor q = (*q_proj_)(q_c.defined() ? q_c : hidden_states);
  Tensor k_pe;
  if (rotary_->is_deepseek()) {
    const Tensor q_pe = q.view({tokens, heads_, s.qk()}).slice(-1, s.nope, s.qk());
    k_pe = rotary_->rotated_apart(q_pe, lora.slice(-1, 0, s.rope).unsqueeze(1));
  }
  if (!caches_latents()) return (*o_proj_)(attend_expanded(kv_c_normed, q));
  const Tensor output = kernel_output("unified_mla_attention_with_output",
                                      {tokens, heads_ * s.value}, hidden_states.dtype());
  if (runtime_.is_profiled())
    scratch("empty", bytes_of(hidden_states.dtype(),
                              prefill_workspace_rows() * heads_ * (s.nope + s.value)));
  return (*o_proj_)(output);
}

}  // namespace memtape::vllm
