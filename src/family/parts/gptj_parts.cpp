// SPDX-License-Identifier: Apache-2.0
#include "family/parts/gptj_parts.h"

#include "family/parts/activations.h"
#include "family/parts/attention_interface.h"
#include "family/parts/config_checks.h"
#include "family/parts/rope.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"
#include "nn/layer_frame.h"

namespace memtape::family {
namespace {

/// x[:, :, :, ::2] and x[:, :, :, 1::2], one negated, side by side.
Tensor rotate_every_two_of_heads(const Tensor& x) {
  const Tensor x1 = ghost::strided_slice(ghost::indexed_by_colons(x, 3), -1, 0, 2);
  const Tensor x2 = ghost::strided_slice(ghost::indexed_by_colons(x, 3), -1, 1, 2);
  return ghost::stack_last({x2.neg(), x1}).view(x.sizes());
}

Tensor apply_gptj_rotary_pos_emb(const Tensor& tensor, const Tensor& sin_half,
                                 const Tensor& cos_half) {
  const Tensor sin = ghost::repeat_interleave(sin_half.unsqueeze(2), 2, 3);
  const Tensor cos = ghost::repeat_interleave(cos_half.unsqueeze(2), 2, 3);
  return tensor.mul(cos).add(rotate_every_two_of_heads(tensor).mul(sin));
}

}  // namespace

GPTJConfig::GPTJConfig(const Config& c, const ModelOptions& options)
    : vocab_size(c.dimension("vocab_size", 50400)),
      n_positions(c.dimension({"max_position_embeddings", "n_positions"}, 2048)),
      n_embd(c.dimension({"hidden_size", "n_embd"}, 4096)),
      n_layer(c.layers({"num_hidden_layers", "n_layer"}, 28)),
      n_head(c.dimension({"num_attention_heads", "n_head"}, 16)),
      n_inner(c.optional_dimension("n_inner").value_or(4 * n_embd)),
      head_dim(n_embd / n_head),
      rotary_dim(c.dimension("rotary_dim", 64)),
      activation_function(activation(c, "activation_function", "gelu_new")),
      resid_pdrop(c.number("resid_pdrop", 0.0)),
      embd_pdrop(c.number("embd_pdrop", 0.0)),
      attn_pdrop(c.number("attn_pdrop", 0.0)),
      tie_word_embeddings(c.boolean("tie_word_embeddings", false)),
      attention(ghost::has(changes::kGptJCallsTheInterface) ? options.attention
                                                            : AttentionImplementation::eager) {
  check_divides(c, "n_head", n_head, n_embd);
  if (rotary_dim % 2 != 0 || rotary_dim > head_dim)
    c.fail("rotary_dim", "must be even and at most " + std::to_string(head_dim));
}

Tensor create_sinusoidal_positions(std::int64_t num_pos, std::int64_t dim, DType model_dtype) {
  Tensor exponents;
  {
    const Tensor range = ghost::arange(dim / 2, DType::int64);
    const ghost::Op op("div", {});
    exponents = ghost::empty({dim / 2}, model_dtype);
  }
  const Tensor inv_freq = ghost::rdiv(1.0, ghost::pow(ghost::kBase, std::move(exponents)));
  Tensor positions = ghost::arange(num_pos, DType::int64).to_float();
  const Tensor sinusoid_inp = std::move(positions).unsqueeze(1).mul(inv_freq.unsqueeze(0));
  const Tensor sin = ghost::sin(sinusoid_inp), cos = ghost::cos(sinusoid_inp);
  return ghost::cat({sin, cos}, 1);
}

Tensor made_scale_attn(DType model_dtype) {
  Tensor head_dim;
  {
    const ghost::Op op("tensor", {});
    head_dim = ghost::empty({}, DType::float32);
  }
  const Tensor root = ghost::sqrt(head_dim);
  head_dim.reset();
  return root.to(model_dtype);
}

GPTJRotaryEmbedding::GPTJRotaryEmbedding(const nn::Scope& scope, const GPTJConfig& c)
    : Module(scope),
      n_positions_(c.n_positions),
      rotary_dim_(c.rotary_dim),
      model_dtype_(scope.dtype()) {
  const ghost::ScopeGuard guard(node().scope);
  embed_positions_ = create_sinusoidal_positions(n_positions_, rotary_dim_, model_dtype_);
  scope.buffer("embed_positions", embed_positions_);
}

void GPTJRotaryEmbedding::init_weights() const {
  const ghost::ScopeGuard guard(node().scope);
  create_sinusoidal_positions(n_positions_, rotary_dim_, model_dtype_);
}

std::vector<Tensor> GPTJRotaryEmbedding::forward(const Tensor& position_ids,
                                                 std::optional<DType> dtype) {
  Tensor sincos = ghost::index(embed_positions_, position_ids);
  if (dtype) sincos = sincos.to(*dtype);
  return sincos.chunk(2, -1);
}

namespace {

/// eager_attention_forward of modeling_gptj.py: scores in float32.
Tensor gptj_eager_attention(const GPTJConfig& config, const Tensor& query, const Tensor& key,
                            const Tensor& value, const Tensor& attention_mask) {
  Tensor attn_weights = query.to_float().matmul(key.to_float().transpose(2, 3)).mul(ghost::kScale);
  if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
  attn_weights =
      ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights)).to(value.dtype());
  attn_weights = ghost::dropout(attn_weights, config.attn_pdrop);
  Tensor attn_output = attn_weights.matmul(value).transpose(1, 2).contiguous();
  nn::LayerFrame::keep_attention_weights(attn_weights);
  return attn_output;
}

}  // namespace

Tensor gptj_attention(const GPTJConfig& config, const Tensor& query, const Tensor& key,
                      const Tensor& value, const Tensor& attention_mask) {
  if (config.attention == AttentionImplementation::eager)
    return gptj_eager_attention(config, query, key, value, attention_mask);
  return attention_interface({.implementation = config.attention, .dropout = config.attn_pdrop},
                             query, key, value, attention_mask);
}

GPTJParts rotate_gptj_heads(Tensor& query, Tensor& key, const std::vector<Tensor>& sin_and_cos,
                            std::int64_t dim) {
  const Tensor &sin = sin_and_cos[0], &cos = sin_and_cos[1];
  const auto part = [](const Tensor& x, std::int64_t from, std::int64_t to) {
    return ghost::indexed_by_colons(x, 3).slice(3, from, to);
  };
  GPTJParts p{.k_rot = part(key, 0, dim),
              .k_pass = part(key, dim, key.size(3)),
              .q_rot = part(query, 0, dim),
              .q_pass = part(query, dim, query.size(3))};
  p.k_rot = apply_gptj_rotary_pos_emb(p.k_rot, sin, cos);
  p.q_rot = apply_gptj_rotary_pos_emb(p.q_rot, sin, cos);
  key = ghost::cat({p.k_rot, p.k_pass}, -1);
  query = ghost::cat({p.q_rot, p.q_pass}, -1);
  return p;
}

GPTJMLP::GPTJMLP(const nn::Scope& scope, const GPTJConfig& c)
    : Module(scope),
      fc_in_(scope / "fc_in", c.n_embd, c.n_inner),
      fc_out_(scope / "fc_out", c.n_inner, c.n_embd),
      act_(c.activation_function),
      dropout_(scope / "dropout", c.resid_pdrop) {}

Tensor GPTJMLP::forward(const Tensor& x) {
  Tensor hidden_states = fc_in_(x);
  hidden_states = act_(hidden_states);
  hidden_states = fc_out_(hidden_states);
  return dropout_(hidden_states);
}

}  // namespace memtape::family
