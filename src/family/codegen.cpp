// SPDX-License-Identifier: Apache-2.0
// CodeGen: GPT-J with one projection for queries, values and keys, laid out for four cores of a
// TPU, and rotated in float32; mirroring transformers 5.17 models/codegen/modeling_codegen.py.
#include "family/families.h"
#include "family/gptj_parts.h"
#include "family/transformer_for_causal_lm.h"
#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

constexpr std::int64_t kMpNum = 4;

class CodeGenAttention : public nn::Module<CodeGenAttention> {
 public:
  CodeGenAttention(const nn::Scope& scope, const GPTJConfig& c)
      : Module(scope),
        config_(c),
        model_dtype_(scope.dtype()),
        attn_dropout_(scope / "attn_dropout", c.attn_pdrop),
        resid_dropout_(scope / "resid_dropout", c.resid_pdrop),
        qkv_proj_(scope / "qkv_proj", c.n_embd, 3 * c.n_embd, false),
        out_proj_(scope / "out_proj", c.n_embd, c.n_embd, false) {
    const ghost::ScopeGuard guard(node().scope);
    embed_positions_ = create_sinusoidal_positions(c.n_positions, c.rotary_dim, model_dtype_);
    scope.buffer("embed_positions", embed_positions_);
  }

  /// _init_weights computes the table once more and copies it.
  void init_weights() const {
    const ghost::ScopeGuard guard(node().scope);
    create_sinusoidal_positions(config_.n_positions, config_.rotary_dim, model_dtype_);
  }

  GPTJOutput forward(const Tensor& hidden_states, const Tensor& attention_mask,
                     const Tensor& position_ids) {
    const Tensor qkv = qkv_proj_(hidden_states);
    const Tensor qkv_split = qkv.reshape(qkv.sizes().leading().with(kMpNum).with(-1));
    const std::vector<Tensor> parts = qkv_split.chunk(3, -1);
    Tensor query = split_heads(parts[0]);
    Tensor key = split_heads(parts[2]);
    Tensor value = split_heads(parts[1]);
    value = value.permute({0, 2, 1, 3});
    const Tensor sincos = ghost::index(embed_positions_, position_ids);
    const GPTJParts rotated =
        rotate_gptj_heads(query, key, sincos.chunk(2, -1), config_.rotary_dim);
    key = key.permute({0, 2, 1, 3});
    query = query.permute({0, 2, 1, 3});
    GPTJOutput attn = attend(query, key, value, attention_mask);
    attn.hidden_states =
        attn.hidden_states.permute({0, 2, 1, 3}).contiguous().view(hidden_states.sizes());
    attn.hidden_states = out_proj_(attn.hidden_states);
    attn.hidden_states = resid_dropout_(attn.hidden_states);
    return attn;
  }

 private:
  /// [B, S, cores, H / cores * D] as [B, S, H, D].
  Tensor split_heads(const Tensor& x) const {
    const std::int64_t heads = config_.n_head / kMpNum;
    Tensor reshaped = x.reshape(x.sizes().leading().with(heads).with(config_.head_dim));
    reshaped = reshaped.reshape({x.size(0), x.size(1), config_.n_head, config_.head_dim});
    return reshaped;
  }

  /// _attn: the scores in float32.
  GPTJOutput attend(const Tensor& query_states, const Tensor& key_states, const Tensor& value,
                    const Tensor& attention_mask) {
    const Tensor query = query_states.to_float();
    const Tensor key = key_states.to_float();
    Tensor attn_weights = query.matmul(key.transpose(-1, -2));
    if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
    attn_weights = attn_weights.div(2.0);
    attn_weights = ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
    attn_weights = attn_weights.to(value.dtype());
    attn_weights = attn_dropout_(attn_weights);
    Tensor attn_output = attn_weights.matmul(value);
    return {std::move(attn_output), std::move(attn_weights)};
  }

  GPTJConfig config_;
  DType model_dtype_;
  nn::Dropout attn_dropout_, resid_dropout_;
  nn::Linear qkv_proj_, out_proj_;
  Tensor embed_positions_;
};

}  // namespace

ModelPointer build_codegen(const Config& c, const ModelOptions& options) {
  const GPTJConfig config(c);
  if (config.n_head % kMpNum != 0) c.fail("n_head", "must be a multiple of 4");
  using Model = GPTJModel<CodeGenAttention>;
  return build_checked<TransformerForCausalLM<Model, true>>(c, config, options);
}

}  // namespace memtape::family
