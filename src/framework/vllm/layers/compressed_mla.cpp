// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/compressed_mla.h"

#include <algorithm>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

constexpr std::int64_t kFine = 4;  ///< tokens of a vector among which an indexer chooses
constexpr std::int64_t kCompressedBlock = 256;  ///< tokens of a page (sparse_mla.py)
constexpr std::int64_t kPageUnit = 576;         ///< pages are aligned for FlashMLA
constexpr std::int64_t kScaleBytes = 4;         ///< of an indexer's key in fp8
constexpr std::int64_t kKeyBytes = 584;         ///< fp8_ds_mla: 448 in fp8, 64 in bf16, 8 of scales

std::unique_ptr<Linear> compressed_linear(const Place& place, std::int64_t in,
                                          std::vector<std::int64_t> outs,
                                          const LinearOptions& options) {
  return std::make_unique<Linear>(place, in, std::move(outs), options);
}

std::int64_t ratio_of(const Config& config, std::int64_t index) {
  const std::vector<std::int64_t> ratios = config.integers("compress_ratios");
  const auto at = static_cast<std::size_t>(index);
  return at < ratios.size() ? std::max<std::int64_t>(1, ratios[at]) : 1;
}

/// build_deepseek_v4_rope: layers that compress have yarn and a theta of their own.
std::shared_ptr<RotaryEmbedding> compressed_rope(const Place& place, const CompressedShape& shape,
                                                 std::int64_t ratio) {
  const Config& c = place.config();
  const std::int64_t positions = c.integer("max_position_embeddings", 8192);
  RopeParameters p = RopeParameters::read(c);
  p.partial_rotary_factor = 1;
  p.keeps_float32 = true;
  if (ratio == 1 || p.type == "default") {
    p.factor = 1;
    p.original_max_position = positions;
  }
  p.type = "deepseek_yarn";
  p.key = ratio == 1 ? "main" : "compress";
  return get_rope(place, {.head_size = shape.rope, .max_position = positions}, p);
}

/// A page with states of `bytes`, which may stand for several tokens each.
KvLayer cache(KvKind kind, std::int64_t block, Bytes page, std::int64_t window = 0) {
  KvLayer layer;
  layer.kind = kind;
  layer.block_size = block;
  layer.dtype = DType::uint8;
  layer.window = window;
  layer.padded_page = round_up(page, kPageUnit);
  layer.head_size = layer.padded_page / block;
  return layer;
}

/// CompressorStateCache: float32 keys and scores of the tokens that are not compressed yet.
KvLayer state_cache(std::int64_t ratio, std::int64_t head) {
  constexpr std::int64_t kFineBlock = 4, kCoarseBlock = 8;
  const std::int64_t overlap = ratio == kFine ? 2 : 1;
  const std::int64_t block = ratio == kFine ? kFineBlock : kCoarseBlock;
  return cache(KvKind::sliding_window, block, block * bytes_of(DType::float32, 2 * overlap * head),
               overlap * ratio);
}

}  // namespace

CompressedShape::CompressedShape(const Config& c)
    : hidden(c.dimension("hidden_size")),
      heads(c.dimension("num_attention_heads")),
      head(c.dimension("head_dim")),
      rope(c.dimension("qk_rope_head_dim")),
      q_lora_rank(c.dimension("q_lora_rank")),
      o_lora_rank(c.dimension("o_lora_rank")),
      groups(c.dimension("o_groups")),
      window(c.dimension("sliding_window")),
      index_heads(c.dimension("index_n_heads")),
      index_head(c.dimension("index_head_dim")) {}

Compressor::Compressor(const Place& place, std::int64_t hidden, std::int64_t head,
                       std::int64_t ratio)
    : Module(place.scope()),
      width_((ratio == kFine ? 2 : 1) * head),
      wkv_wgate_(place / "fused_wkv_wgate", hidden, {width_, width_},
                 {.cut = Cut::replicated, .quantized = false}),
      norm_(place / "norm", head) {
  place.parameter("ape", {ratio, width_}, DType::float32);
}

Tensor Compressor::forward(const Tensor& hidden_states) {
  return kernel_output("mm", {hidden_states.size(0), 2 * width_}, DType::float32);
}

CompressedMlaAttention::CompressedMlaAttention(const Place& place, std::int64_t index)
    : Module(place.scope()),
      runtime_(place.runtime()),
      shape_(place.config()),
      ratio_(ratio_of(place.config(), index)) {
  constexpr std::int64_t kHeadTile = 64;
  const CompressedShape& s = shape_;
  heads_ = Heads(runtime_, s.heads, s.heads, s.head).query;
  padded_heads_ =
      runtime_.settings.device.traits.major == 12 ? heads_ : round_up(heads_, kHeadTile);
  place.parameter("attn_sink", {padded_heads_}, DType::float32);
  wqa_wkv_ = compressed_linear(place / "fused_wqa_wkv", s.hidden, {s.q_lora_rank, s.head},
                               {.cut = Cut::replicated});
  q_norm_ = std::make_unique<RMSNorm>(place / "q_norm", s.q_lora_rank);
  wq_b_ = compressed_linear(place / "wq_b", s.q_lora_rank, {s.heads * s.head}, {});
  kv_norm_ = std::make_unique<RMSNorm>(place / "kv_norm", s.head);
  wo_a_ = compressed_linear(place / "wo_a", s.heads * s.head / s.groups, {s.groups * s.o_lora_rank},
                            {});
  wo_b_ =
      compressed_linear(place / "wo_b", s.groups * s.o_lora_rank, {s.hidden}, {.cut = Cut::row});
  rotary_ = compressed_rope(place / "rotary_emb", s, ratio_);
  if (ratio_ == kFine) make_indexer(place / "indexer");
  if (ratio_ > 1)
    compressor_ = std::make_unique<Compressor>(place / "compressor", s.hidden, s.head, ratio_);
  if (runtime_.settings.sglang_layers)
    register_sglang_pools();
  else
    register_caches();
}

void CompressedMlaAttention::register_caches() {
  constexpr std::int64_t kWindowBlock = 64;
  const CompressedShape& s = shape_;
  std::vector<KvLayer>& caches = runtime_.kv_layers;
  if (index_compressor_) {
    const Bytes key = s.index_head + kScaleBytes;
    caches.push_back(cache(KvKind::mla, kCompressedBlock, kCompressedBlock / ratio_ * key));
    caches.push_back(state_cache(ratio_, s.index_head));
  }
  caches.push_back(cache(KvKind::sliding_window, kWindowBlock, kWindowBlock * kKeyBytes, s.window));
  if (ratio_ == 1) return;
  caches.push_back(cache(KvKind::mla, kCompressedBlock, kCompressedBlock / ratio_ * kKeyBytes));
  caches.push_back(state_cache(ratio_, s.head));
}

void CompressedMlaAttention::make_indexer(const Place& place) {
  const CompressedShape& s = shape_;
  index_wq_b_ = compressed_linear(place / "wq_b", s.q_lora_rank, {s.index_heads * s.index_head},
                                  {.cut = Cut::replicated});
  index_weights_ = compressed_linear(place / "weights_proj", s.hidden, {s.index_heads},
                                     {.cut = Cut::replicated, .quantized = false});
  index_compressor_ =
      std::make_unique<Compressor>(place / "compressor", s.hidden, s.index_head, ratio_);
}

/// DSV4PoolConfigurator of SGLang's model_executor/pool_configurator.py, by token: the window's keys
/// with a ring of states in each page, what is compressed, and a ring of states for each request
/// where 128 tokens become one.
void CompressedMlaAttention::register_sglang_pools() {
  constexpr std::int64_t kFineRing = 8, kCoarseRing = 128;
  const CompressedShape& s = shape_;
  std::vector<KvLayer>& caches = runtime_.kv_layers;
  const Bytes page = round_up(kCompressedBlock * kKeyBytes, kPageUnit);
  const Bytes states = kFineRing * bytes_of(DType::float32, 4 * (s.head + s.index_head));
  KvLayer window;
  window.kind = KvKind::sliding_window;
  window.dtype = DType::uint8;
  window.window = s.window;
  window.head_size = (page + (ratio_ == kFine ? states : 0)) / kCompressedBlock;
  caches.push_back(window);
  if (ratio_ == 1) return;
  KvLayer compressed;
  compressed.kind = KvKind::mla;
  compressed.dtype = DType::uint8;
  const Bytes key = ratio_ == kFine ? s.index_head + kScaleBytes : 0;
  compressed.head_size = ceil_div(page / kCompressedBlock + key, ratio_);
  caches.push_back(compressed);
  if (ratio_ == kFine) return;
  KvLayer state;
  state.kind = KvKind::mamba;
  state.state_bytes = kCoarseRing * bytes_of(DType::float32, 2 * s.head);
  caches.push_back(state);
}

/// SparseAttnIndexer in the profile run: gathered keys, and the most logits.
void CompressedMlaAttention::reserve_indexer() {
  constexpr std::int64_t kRadixWorkspace = 1024 * 1024, kLongLength = 256 * 1024;
  constexpr std::int64_t kLatentBytes = 576 * 2, kBytes = 132;
  constexpr Bytes kLogits = Bytes{512} << 20;  // VLLM_SPARSE_INDEXER_MAX_LOGITS_MB
  if (!runtime_.is_profiled()) return;
  const std::int64_t length = runtime_.settings.max_model_len;
  const std::int64_t rows =
      length * (kLatentBytes / kBytes) * (length <= kLongLength ? 5 : 2) / ratio_;
  runtime_.workspace.reserve({rows * shape_.index_head, rows * 4, kRadixWorkspace});
  scratch("sparse_attn_indexer", kLogits);
}

/// forward_mqa of nvidia/flashmla.py without metadata: a chunk of prefill's keys in 16 bits.
void CompressedMlaAttention::reserve_gathered_keys() {
  constexpr std::int64_t kChunk = 4, kUnit = 128;
  const Settings& s = runtime_.settings;
  if (s.device.traits.major == 12) return;  // FlashInfer reads the cache itself
  const std::int64_t compressed = ratio_ == 1 ? 0 : ceil_div(s.max_model_len, ratio_);
  const std::int64_t rows = compressed + shape_.window + s.max_num_batched_tokens;
  const std::int64_t chosen = ratio_ == 1 ? 0 : runtime_.config.dimension("index_topk");
  runtime_.workspace.reserve(
      {bytes_of(DType::bfloat16, kChunk * rows * shape_.head),
       bytes_of(DType::int32, s.max_num_batched_tokens * round_up(chosen + shape_.window, kUnit)),
       bytes_of(DType::int32, s.max_num_batched_tokens)});
}

Tensor CompressedMlaAttention::forward(const Tensor& hidden_states) {
  const CompressedShape& s = shape_;
  const std::int64_t tokens = hidden_states.size(0);
  const DType dtype = hidden_states.dtype();
  const Dims padded{tokens, padded_heads_ * s.head};
  Tensor out = kernel_output("empty", padded, dtype);
  {
    const Tensor qr_kv = (*wqa_wkv_)(hidden_states);
    Tensor kv_score, index_weights, index_score, index_q;
    if (compressor_) kv_score = (*compressor_)(hidden_states);
    if (index_weights_) index_weights = (*index_weights_)(hidden_states);
    if (index_compressor_) index_score = (*index_compressor_)(hidden_states);
    const Tensor qr = kernel_output("fused_q_kv_rmsnorm", {tokens, s.q_lora_rank}, dtype);
    const Tensor kv = kernel_output("fused_q_kv_rmsnorm", {tokens, s.head}, dtype);
    Tensor q = (*wq_b_)(qr);
    if (padded_heads_ > heads_) q = kernel_output("pad", padded, dtype);
    if (index_wq_b_) {
      const Tensor wide = (*index_wq_b_)(qr);
      index_q = kernel_output("fused_indexer_q", wide.sizes(), DType::float8_e4m3fn);
      reserve_indexer();
    }
    reserve_gathered_keys();
  }
  // deep_gemm_fp8_o_proj: rotated back and cast, the groups' product, and the last.
  const std::int64_t width = heads_ * s.head, groups = wo_a_->out() / s.o_lora_rank;
  const Tensor rotated = kernel_output("fused_inv_rope", {tokens, width}, DType::float8_e4m3fn);
  const Tensor scales = kernel_output("fused_inv_rope", {tokens, width / 128}, DType::float32);
  const Tensor z = kernel_output("empty", {tokens, groups * s.o_lora_rank}, dtype);
  return (*wo_b_)(z);
}

}  // namespace memtape::vllm
