// SPDX-License-Identifier: Apache-2.0
// GPT-J: attention in float32 without a fused kernel over three projections, positions gathered out
// of a repeated table; mirroring transformers 5.17 models/gptj/modeling_gptj.py.
#include "family/families.h"
#include "family/gptj_parts.h"
#include "family/transformer_for_causal_lm.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

class GPTJAttention : public nn::Module<GPTJAttention> {
 public:
  GPTJAttention(const nn::Scope& scope, const GPTJConfig& c)
      : Module(scope),
        config_(c),
        model_dtype_(scope.dtype()),
        attn_dropout_(scope / "attn_dropout", c.attn_pdrop),
        resid_dropout_(scope / "resid_dropout", c.resid_pdrop),
        k_proj_(scope / "k_proj", c.n_embd, c.n_embd, false),
        v_proj_(scope / "v_proj", c.n_embd, c.n_embd, false),
        q_proj_(scope / "q_proj", c.n_embd, c.n_embd, false),
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
    const Dims shape = hidden_states.sizes().leading().with(config_.n_head).with(config_.head_dim);
    Tensor query = q_proj_(hidden_states);
    Tensor key = k_proj_(hidden_states);
    Tensor value = v_proj_(hidden_states);
    query = query.view(shape);
    key = key.view(shape);
    value = value.view(shape).permute({0, 2, 1, 3});
    const std::int64_t dim = embed_positions_.size(1), length = position_ids.size(1);
    const Tensor embed_positions =
        repeated(embed_positions_, {position_ids.size(0), embed_positions_.size(0), dim});
    const Tensor repeated_position_ids =
        repeated(position_ids, {position_ids.size(0), length, dim});
    const Tensor sincos = ghost::gather(embed_positions, repeated_position_ids).to(key.dtype());
    const GPTJParts parts = rotate_gptj_heads(query, key, sincos.chunk(2, -1), config_.rotary_dim);
    key = key.permute({0, 2, 1, 3});
    query = query.permute({0, 2, 1, 3});
    GPTJOutput attn = attention(query, key, value, attention_mask);
    attn.hidden_states =
        attn.hidden_states.permute({0, 2, 1, 3}).contiguous().view(hidden_states.sizes());
    attn.hidden_states = out_proj_(attn.hidden_states);
    attn.hidden_states = resid_dropout_(attn.hidden_states);
    return attn;
  }

 private:
  /// Tensor.repeat: one new tensor of those sizes.
  static Tensor repeated(const Tensor& tensor, const Dims& sizes) {
    const ghost::Op op("repeat", {});
    return ghost::empty(sizes, tensor.dtype());
  }

  /// _attn: the scores in float32.
  GPTJOutput attention(const Tensor& query_states, const Tensor& key_states, const Tensor& value,
                       const Tensor& attention_mask) {
    const Tensor query = query_states.to_float();
    const Tensor key = key_states.to_float();
    Tensor attn_weights = query.matmul(key.transpose(-1, -2));
    attn_weights = attn_weights.div(2.0);
    if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
    attn_weights = ghost::softmax(attn_weights, DType::float32);
    attn_weights = attn_weights.to(value.dtype());
    attn_weights = attn_dropout_(attn_weights);
    Tensor attn_output = attn_weights.matmul(value);
    return {std::move(attn_output), std::move(attn_weights)};
  }

  GPTJConfig config_;
  DType model_dtype_;
  nn::Dropout attn_dropout_, resid_dropout_;
  nn::Linear k_proj_, v_proj_, q_proj_, out_proj_;
  Tensor embed_positions_;
};

}  // namespace

ModelPointer build_gptj(const Config& c, const ModelOptions& options) {
  using Model = GPTJModel<GPTJAttention>;
  return build_checked<TransformerForCausalLM<Model, true>>(c, GPTJConfig(c), options);
}

}  // namespace memtape::family
