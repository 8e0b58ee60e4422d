// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/sparse_mla.h"

#include <algorithm>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

constexpr std::int64_t kQuantBlock = 128;  ///< of the indexer's keys: one float32 scale for each
constexpr std::int64_t kCacheBlock = 64;   ///< tokens of a page of the sparse kernels

std::unique_ptr<Linear> sparse_linear(const Place& place, std::int64_t in,
                                      std::vector<std::int64_t> outs,
                                      const LinearOptions& options) {
  return std::make_unique<Linear>(place, in, std::move(outs), options);
}

std::int64_t top_k(const Config& config) { return config.dimension("index_topk"); }

/// The rope of latent attention; a scaled one is DeepSeek's.
std::shared_ptr<RotaryEmbedding> rope(const Place& place, const MlaShape& shape, bool neox) {
  RopeParameters parameters = mla_rope(place.config());
  if (neox) parameters.key += " neox";
  return get_rope(place,
                  {.head_size = shape.rope,
                   .max_position = place.config().integer("max_position_embeddings", 8192)},
                  parameters);
}

}  // namespace

bool has_sparse_attention(const Config& config) { return !config.is_null("index_topk"); }

bool has_indexer(const Config& config, std::int64_t index) {
  const std::string pattern = config.optional_text("index_topk_pattern").value_or("");
  const auto at = static_cast<std::size_t>(index);
  if (!pattern.empty()) return at >= pattern.size() || pattern[at] != 'S';
  const std::int64_t offset = config.integer("index_skip_topk_offset", 2);
  return std::max<std::int64_t>(index - offset + 1, 0) % config.dimension("index_topk_freq", 1) ==
         0;
}

void make_topk_buffer(const Place& model) {
  Runtime& runtime = model.runtime();
  const Dims sizes{runtime.settings.max_num_batched_tokens, top_k(model.config())};
  runtime.kept.push_back(kernel_output("topk_indices_buffer", sizes, DType::int32));
}

SparseIndexer::SparseIndexer(const Place& place, const MlaShape& shape)
    : Module(place.scope()),
      heads_(place.config().dimension("index_n_heads")),
      size_(place.config().dimension("index_head_dim")),
      wq_b_(sparse_linear(place / "wq_b", shape.q_lora_rank, {heads_ * size_},
                          {.cut = Cut::replicated})),
      wk_weights_proj_(sparse_linear(place / "wk_weights_proj", shape.hidden, {size_, heads_},
                                     {.cut = Cut::replicated, .quantized = false})) {
  const Place norm = place / "k_norm";
  norm_weight_ = norm.parameter("weight", {size_}, DType::float32);
  norm_bias_ = norm.parameter("bias", {size_}, DType::float32);
}

void SparseIndexer::reserve(Runtime& runtime) const {
  constexpr std::int64_t kRadixWorkspace = 1024 * 1024;
  constexpr Bytes kLogits = Bytes{512} << 20;  // VLLM_SPARSE_INDEXER_MAX_LOGITS_MB
  constexpr std::int64_t kLongLength = 256 * 1024, kLatentBytes = 576 * 2, kKeyBytes = 132;
  if (!runtime.is_profiled()) return;
  const std::int64_t length = runtime.settings.max_model_len;
  // get_max_prefill_buffer_size
  const std::int64_t rows = length * (kLatentBytes / kKeyBytes) * (length <= kLongLength ? 5 : 2);
  runtime.workspace.reserve({rows * size_, rows * 4, kRadixWorkspace});
  scratch("sparse_attn_indexer", kLogits);
}

SparseMlaAttention::SparseMlaAttention(const Place& place, std::int64_t index)
    : Module(place.scope()), place_(place), runtime_(place.runtime()), shape_(place.config()) {
  const MlaShape& s = shape_;
  heads_ = Heads(runtime_, s.heads, s.heads, s.qk()).query;
  kv_b_proj_ =
      sparse_linear(place / "kv_b_proj", s.kv_lora_rank, {s.heads * (s.nope + s.value)}, {});
  const bool is_new = has_indexer(place.config(), index);
  if (is_new) indexer_ = std::make_unique<SparseIndexer>(place / "indexer", s);
  const Place attn = place / "attn";
  {
    const ghost::ScopeGuard guard(attn.scope().node().scope);
    make_kv_scales(attn);
    make_index_group(attn, is_new);
  }
  a_proj_ = sparse_linear(place / "fused_qkv_a_proj", s.hidden,
                          {s.q_lora_rank, s.kv_lora_rank + s.rope}, {.cut = Cut::replicated});
  q_a_layernorm_ = std::make_unique<RMSNorm>(place / "q_a_layernorm", s.q_lora_rank);
  q_b_proj_ = sparse_linear(place / "q_b_proj", s.q_lora_rank, {s.heads * s.qk()}, {});
  kv_a_layernorm_ = std::make_unique<RMSNorm>(place / "kv_a_layernorm", s.kv_lora_rank);
  o_proj_ = sparse_linear(place / "o_proj", s.heads * s.value, {s.hidden}, {.cut = Cut::row});
  rotary_ = rope(place / "rotary_emb", s, false);
  const bool interleaved = place.config().boolean("indexer_rope_interleave", false);
  indexer_rotary_ = rope(place / "indexer_rope_emb", s, !interleaved);
  runtime_.after_attention.push_back([this] {
    const ghost::ScopeGuard guard(node().scope);
    expand_latent_heads(place_, *kv_b_proj_, shape_);
  });
  register_caches();
}

/// SparseMLAIndexGroupBuilder.register_layer: places in the cache for a decoding batch, made by the
/// layer that chooses; and the backend's row offsets.
void SparseMlaAttention::make_index_group(const Place&, bool is_new) {
  const Settings& s = runtime_.settings;
  if (is_new) {
    const std::int64_t rows = std::min(s.max_num_batched_tokens, s.max_num_seqs) + 1;
    runtime_.kept.push_back(
        kernel_output("physical_topk_indices", {rows, top_k(runtime_.config)}, DType::int32));
    runtime_.kept.push_back(kernel_output("valid_topk_counts", {rows}, DType::int32));
  }
  // FlashMLA is built for Hopper and data centre Blackwell only.
  constexpr int kConsumerBlackwell = 120;
  if (s.kv_dtype == KvDType::fp8) {
    if (s.device.capability() < kConsumerBlackwell) reserve_flash_mla();
    return;
  }
  // FlashAttention's sparse kernel.
  runtime_.kept.push_back(
      kernel_output("cu_seqlens_q_buffer", {s.max_num_batched_tokens + 1}, DType::int32));
}

/// flashmla_sparse.py, what an fp8 cache needs: queries, the cache in 16 bits for a prefill, its
/// padded queries and outputs.
void SparseMlaAttention::reserve_flash_mla() {
  constexpr std::int64_t kHeadTile = 64, kFactor = 5, kFactorLong = 2, kLong = 256 * 1024;
  const Settings& s = runtime_.settings;
  const std::int64_t width = shape_.kv_lora_rank + shape_.rope, tokens = s.max_num_batched_tokens;
  const std::int64_t heads = round_up(heads_, kHeadTile);
  const std::int64_t rows = s.max_model_len * (s.max_model_len <= kLong ? kFactor : kFactorLong);
  const auto bytes = [](std::int64_t values) { return bytes_of(DType::bfloat16, values); };
  runtime_.workspace.reserve(
      {bytes(tokens * heads_ * width), bytes(rows * width), bytes(tokens * heads * width),
       bytes(tokens * heads * shape_.kv_lora_rank), bytes(tokens * heads_ * shape_.kv_lora_rank)});
}

void SparseMlaAttention::register_caches() {
  const Settings& s = runtime_.settings;
  KvLayer spec;
  spec.kind = KvKind::mla;
  spec.block_size = s.block_size.value_or(kCacheBlock);
  if (s.kv_dtype == KvDType::fp8) {
    // fp8_ds_mla: the latent in fp8, a float32 scale for each 128 of it, the rope part in bf16.
    spec.dtype = DType::uint8;
    spec.head_size = shape_.kv_lora_rank + shape_.kv_lora_rank / kQuantBlock * 4 + 2 * shape_.rope;
  } else {
    spec.dtype = s.kv_torch_dtype();
    spec.head_size = shape_.kv_lora_rank + shape_.rope;
  }
  KvLayer keys = spec;
  runtime_.kv_layers.push_back(spec);
  if (!indexer_) return;
  keys.dtype = DType::uint8;
  keys.head_size = indexer_->head_size() + indexer_->head_size() / kQuantBlock * 4;
  runtime_.kv_layers.push_back(keys);
}

Tensor SparseMlaAttention::forward(const Tensor& hidden_states) {
  const MlaShape& s = shape_;
  const std::int64_t tokens = hidden_states.size(0);
  const DType dtype = hidden_states.dtype();
  const auto make = [&](const char* op, const Dims& sizes) {
    return kernel_output(op, sizes, dtype);
  };
  const Tensor qkv_lora = (*a_proj_)(hidden_states);
  Tensor keys_and_weights;
  if (indexer_) keys_and_weights = indexer_->keys_and_weights(hidden_states);
  const Tensor output = make("empty", {tokens, heads_ * s.value});
  const Tensor kv_c = make("empty_like", {tokens, s.kv_lora_rank});
  const Tensor k_pe = make("empty_like", {tokens, s.rope});
  runtime_.workspace.keep("fused_norm_rope", 4);  // the scale of no cache, made once
  const Tensor q_c = make("fused_norm_rope", {tokens, s.q_lora_rank});
  const Tensor q = (*q_b_proj_)(q_c);
  const Tensor ql_nope = make("bmm", {heads_, tokens, s.kv_lora_rank});
  Tensor index_q, index_q_fp8, index_weights;
  if (indexer_) index_q = indexer_->queries(q_c);
  const Tensor q_pe = make("fused_q", {tokens, heads_, s.rope});
  if (indexer_) {
    index_q_fp8 = kernel_output("fused_q", index_q.sizes(), DType::float8_e4m3fn);
    index_weights = kernel_output("fused_q", {tokens, indexer_->heads()}, DType::float32);
    indexer_->reserve(runtime_);
  }
  runtime_.use_own_stream();
  return (*o_proj_)(output);
}

}  // namespace memtape::vllm
