// SPDX-License-Identifier: Apache-2.0
#include "family/parts/deepseek_v4_attention.h"

#include <algorithm>

#include "family/caches/key_value_cache.h"
#include "family/parts/float32_since.h"
#include "family/parts/sink_attention.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copy_into.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

using Kind = DeepseekV4RotaryEmbedding::Kind;

WindowPool::Shape pool_shape(const DeepseekV4Config& c, CompressedKeys kind) {
  const bool sparse = kind == CompressedKeys::sparse;
  return {
      .rate = sparse ? c.sparse_rate : c.heavy_rate, .head_dim = c.head_dim, .overlaps = sparse};
}

/// (position_ids + 1) // compress_rate: how many entries each query may see [1, S].
Tensor causal_threshold(const Tensor& position_ids, std::int64_t compress_rate) {
  return ghost::floor_divide(position_ids.add(1), compress_rate);
}

}  // namespace

WindowPool::WindowPool(const nn::Scope& scope, const DeepseekV4Config& c, const Shape& shape)
    : shape_(shape),
      kv_proj_(scope / "kv_proj", c.hidden_size, shape.head_dim * (shape.overlaps ? 2 : 1), false),
      gate_proj_(scope / "gate_proj", c.hidden_size, shape.head_dim * (shape.overlaps ? 2 : 1),
                 false),
      position_bias_(
          scope.parameter("position_bias", {shape.rate, shape.head_dim * (shape.overlaps ? 2 : 1)},
                          float32_since(changes::kDeepseekV4KeepsNormsInFloat32, scope))),
      kv_norm_(scope / "kv_norm", shape.head_dim),
      q_b_proj_(shape.index_heads > 0
                    ? std::make_unique<nn::Linear>(scope / "q_b_proj", c.q_lora_rank,
                                                   shape.index_heads * shape.head_dim, false)
                    : nullptr),
      rotary_emb_(scope / "rotary_emb", c) {}

/// The second half of each token's projection counts for its own window, the first for the next.
void WindowPool::overlap(Locals& l) const {
  const std::int64_t batch = l.chunk_kv.size(0), windows = l.chunk_kv.size(1), r = shape_.rate,
                     d = shape_.head_dim;
  l.new_kv = ghost::zeros({batch, windows, 2 * r, d}, l.chunk_kv.dtype());
  l.new_gate = ghost::full({batch, windows, 2 * r, d}, l.chunk_gate.dtype());
  const auto write = [&](const Tensor& to, const Tensor& chunk) {
    ghost::copy_into(to, to.slice(2, r, 2 * r), chunk.slice(-1, d, 2 * d));
  };
  write(l.new_kv, l.chunk_kv);
  write(l.new_gate, l.chunk_gate);
  if (windows == 1) return;
  const auto write_previous = [&](const Tensor& to, const Tensor& chunk) {
    ghost::copy_into(to, to.slice(1, 1, windows).slice(2, 0, r),
                     chunk.slice(1, 0, -1).slice(-1, 0, d));
  };
  write_previous(l.new_kv, l.chunk_kv);
  write_previous(l.new_gate, l.chunk_gate);
}

WindowPool::Locals WindowPool::operator()(const Tensor& hidden_states) {
  Locals l;
  l.kv = kv_proj_(hidden_states);
  l.gate = gate_proj_(hidden_states);
  const std::int64_t batch = l.kv.size(0), windows = l.kv.size(1) / shape_.rate;
  const std::int64_t usable = windows * shape_.rate;
  l.chunk_kv = l.kv.slice(1, 0, usable);
  l.chunk_gate = l.gate.slice(1, 0, usable);
  if (windows == 0) {
    l.compressed = ghost::zeros({batch, 0, shape_.head_dim}, l.kv.dtype());
    return l;
  }
  l.chunk_kv = l.chunk_kv.view({batch, windows, shape_.rate, -1});
  l.chunk_gate = l.chunk_gate.view({batch, windows, shape_.rate, -1}).add(position_bias_);
  if (shape_.overlaps) overlap(l);
  const Tensor& kv = shape_.overlaps ? l.new_kv : l.chunk_kv;
  const Tensor& gate = shape_.overlaps ? l.new_gate : l.chunk_gate;
  l.compressed = kv_norm_(kv.mul(ghost::softmax(gate, DType::float32).to(kv.dtype())).sum(2));
  l.positions = ghost::arange(windows, DType::int64);
  l.positions = l.positions.mul(2.0).add(0).unsqueeze(0).expand({batch, -1});
  l.cos_sin = rotary_emb_(l.compressed, l.positions, Kind::compress);
  l.compressed =
      rotate_tail(l.compressed.unsqueeze(1), l.cos_sin.first, l.cos_sin.second).squeeze(1);
  return l;
}

Tensor WindowPool::queries(const Tensor& hidden_states, const Tensor& q_residual,
                           const Tensor& position_ids, CosSin& cos_sin) {
  cos_sin = rotary_emb_(hidden_states, position_ids, Kind::compress);
  const Dims heads = q_residual.sizes().leading().with(-1).with(shape_.head_dim);
  const Tensor q = (*q_b_proj_)(q_residual).view(heads).transpose(1, 2);
  return rotate_tail(q, cos_sin.first, cos_sin.second).transpose(1, 2);
}

DeepseekV4Indexer::DeepseekV4Indexer(const nn::Scope& scope, const DeepseekV4Config& c)
    : Module(scope),
      topk_(c.index_topk),
      pool_(scope, c,
            {.rate = c.sparse_rate, .head_dim = c.index_head_dim, .index_heads = c.index_n_heads}),
      weights_proj_(scope / "scorer" / "weights_proj", c.hidden_size, c.index_n_heads, false) {}

/// DeepseekV4IndexerScorer.
Tensor DeepseekV4Indexer::score(const Tensor& q, const Tensor& compressed_kv,
                                const Tensor& hidden_states) {
  Tensor scores = q.to_float().matmul(compressed_kv.transpose(-1, -2).to_float().unsqueeze(1));
  scores = ghost::relu(scores).mul(0.5);
  const Tensor weights = weights_proj_(hidden_states).to_float().mul(0.5);
  return scores.mul(weights.unsqueeze(-1)).sum(2);
}

Tensor DeepseekV4Indexer::forward(const Tensor& hidden_states, const Tensor& q_residual,
                                  const Tensor& position_ids) {
  const WindowPool::Locals entries = pool_(hidden_states);
  const Tensor& compressed_kv = entries.compressed;
  CosSin cos_sin_q;
  const Tensor q = pool_.queries(hidden_states, q_residual, position_ids, cos_sin_q);
  Tensor index_scores = score(q, compressed_kv, hidden_states);
  const std::int64_t compressed_len = compressed_kv.size(1);
  const std::int64_t top_k = std::min(topk_, compressed_len);
  if (compressed_len == 0) return ghost::topk(index_scores, top_k).second;
  const Tensor threshold = causal_threshold(position_ids, pool_.rate());
  const Tensor entry_indices = ghost::arange(compressed_len, DType::int64);
  const Tensor future_mask = ghost::ge(entry_indices.view({1, 1, -1}), threshold.unsqueeze(-1));
  index_scores = ghost::masked_fill(index_scores, future_mask, ghost::kLowest);
  const Tensor top_k_indices = ghost::topk(index_scores, top_k).second;
  const Tensor invalid = ghost::ge(top_k_indices, threshold.unsqueeze(-1));
  const Tensor none = ghost::empty_like(top_k_indices, top_k_indices.dtype());
  return ghost::where(invalid, none, top_k_indices);
}

DeepseekV4Compressor::DeepseekV4Compressor(const nn::Scope& scope, const DeepseekV4Config& c,
                                           CompressedKeys kind)
    : Module(scope), pool_(scope, c, pool_shape(c, kind)) {
  if (kind == CompressedKeys::sparse) indexer_.emplace(scope / "indexer", c);
}

void DeepseekV4Compressor::init_weights() const {
  pool_.rotary_emb().init_weights();
  if (indexer_) indexer_->init_weights();
}

/// Queries see the entries of the windows that lie before them.
Tensor DeepseekV4Compressor::causal_bias(const Tensor& compressed_kv,
                                         const Tensor& position_ids) const {
  const std::int64_t length = position_ids.size(1), entries = compressed_kv.size(2);
  const Tensor entry_indices = ghost::arange(entries, DType::int64);
  const Tensor threshold = causal_threshold(position_ids, pool_.rate());
  Tensor block_bias =
      ghost::zeros({compressed_kv.size(0), 1, length, entries}, compressed_kv.dtype());
  block_bias = ghost::masked_fill(
      block_bias,
      ghost::ge(entry_indices.view({1, 1, 1, -1}), threshold.unsqueeze(1).unsqueeze(-1)),
      ghost::kLowest);
  return block_bias;
}

/// Queries see the entries that the indexer chose.
Tensor DeepseekV4Compressor::chosen_bias(const Tensor& compressed_kv, const Tensor& top_k_indices) {
  const std::int64_t entries = compressed_kv.size(2);
  const Tensor valid = ghost::ge(top_k_indices, 0);
  Tensor safe_indices;
  {
    const Tensor past_the_end = ghost::empty_like(top_k_indices, top_k_indices.dtype());
    safe_indices = ghost::where(valid, top_k_indices, past_the_end);
  }
  const Tensor block_bias = ghost::full(
      {compressed_kv.size(0), 1, top_k_indices.size(1), entries + 1}, compressed_kv.dtype());
  return block_bias.slice(-1, 0, entries);
}

std::pair<Tensor, Tensor> DeepseekV4Compressor::forward(const Tensor& hidden_states,
                                                        const Tensor& q_residual,
                                                        const Tensor& position_ids) {
  const WindowPool::Locals entries = pool_(hidden_states);
  Tensor compressed_kv = entries.compressed.unsqueeze(1);
  if (indexer_) {
    const Tensor top_k_indices = (*indexer_)(hidden_states, q_residual, position_ids);
    Tensor block_bias = chosen_bias(compressed_kv, top_k_indices);
    return {std::move(compressed_kv), std::move(block_bias)};
  }
  if (position_ids.size(1) == 1 || compressed_kv.size(2) == 0)
    return {std::move(compressed_kv), Tensor()};
  Tensor block_bias = causal_bias(compressed_kv, position_ids);
  return {std::move(compressed_kv), std::move(block_bias)};
}

DeepseekV4Attention::DeepseekV4Attention(const nn::Scope& scope, const DeepseekV4Config& c,
                                         std::int64_t layer)
    : Module(scope),
      call_(attention_call(c)),
      head_dim_(c.head_dim),
      o_groups_(c.o_groups),
      q_a_proj_(scope / "q_a_proj", c.hidden_size, c.q_lora_rank, false),
      q_a_norm_(scope / "q_a_norm", c.q_lora_rank),
      q_b_proj_(scope / "q_b_proj", c.q_lora_rank, c.num_attention_heads * c.head_dim, false),
      q_b_norm_(scope / "q_b_norm"),
      kv_proj_(scope / "kv_proj", c.hidden_size, c.head_dim, false),
      kv_norm_(scope / "kv_norm", c.head_dim),
      o_a_proj_(scope / "o_a_proj", c.num_attention_heads * c.head_dim / c.o_groups,
                c.o_groups * c.o_lora_rank, false),
      o_b_proj_(scope / "o_b_proj", c.o_groups * c.o_lora_rank, c.hidden_size, false),
      sinks_(scope.parameter("sinks", {c.num_attention_heads},
                             float32_since(changes::kDeepseekV4KeepsNormsInFloat32, scope))) {
  call_.num_key_value_groups = c.num_attention_heads;
  if (c.compressed_keys(layer) != CompressedKeys::none)
    compressor_.emplace(scope / "compressor", c, c.compressed_keys(layer));
}

Tensor DeepseekV4Attention::project_groups(const Tensor& given) {
  const ghost::ScopeGuard guard(o_a_proj_.node().scope);
  const std::int64_t hidden_dim = given.size(-1);
  const Tensor w = o_a_proj_.weight.view({o_groups_, -1, hidden_dim}).transpose(1, 2);
  const Tensor x = given.reshape({-1, o_groups_, hidden_dim}).transpose(0, 1);
  const Tensor y = ghost::bmm(x, w).transpose(0, 1);
  return y.reshape({given.size(0), given.size(1), o_groups_, -1});
}

Tensor DeepseekV4Attention::forward(const Tensor& hidden_states,
                                    const DeepseekV4Positions& positions) {
  if (KeyValueCache::passed()) {
    ghost::session().fail({ErrorKind::unsupported, "the cache of compressed attention", "generate",
                           "training steps are predicted"});
    return hidden_states;
  }
  const Dims input_shape = hidden_states.sizes().leading();
  const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
  const CosSin& cos_sin = compressor_ ? positions.compress : positions.main;
  const Tensor q_residual = q_a_norm_(q_a_proj_(hidden_states));
  Tensor q = q_b_proj_(q_residual).view(hidden_shape).transpose(1, 2);
  q = q_b_norm_(q);
  q = rotate_tail(q, cos_sin.first, cos_sin.second);
  Tensor kv = kv_norm_(kv_proj_(hidden_states)).view(hidden_shape).transpose(1, 2);
  kv = rotate_tail(kv, cos_sin.first, cos_sin.second);

  Tensor compressed_kv, block_bias, attention_mask = positions.attention_mask;
  if (compressor_) {
    std::tie(compressed_kv, block_bias) =
        (*compressor_)(hidden_states, q_residual, positions.position_ids);
    kv = ghost::cat({kv, compressed_kv}, 2);
  }
  if (block_bias.defined())
    attention_mask = ghost::cat({attention_mask, block_bias.to(attention_mask.dtype())}, -1);
  Tensor attn_output = sink_attention(call_, q, kv, kv, attention_mask, sinks_);
  attn_output =
      rotate_tail(attn_output.transpose(1, 2), cos_sin.first, cos_sin.second.neg()).transpose(1, 2);
  Tensor grouped = attn_output.reshape(input_shape.with(o_groups_).with(-1));
  grouped = project_groups(grouped).reshape(input_shape.with(-1));
  return o_b_proj_(grouped);
}

}  // namespace memtape::family
