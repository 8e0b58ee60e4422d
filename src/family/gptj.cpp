// SPDX-License-Identifier: Apache-2.0
// GPT-J: a table of sines and cosines in every layer, neighbours of a part of each head rotated,
// attention in float32 without a fused kernel, attention and MLP side by side; mirroring
// transformers 5.17 models/gptj/modeling_gptj.py.
#include "family/activations.h"
#include "family/config_checks.h"
#include "family/families.h"
#include "family/forward_arguments.h"
#include "family/masking.h"
#include "family/rope.h"
#include "family/transformer_for_causal_lm.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {
namespace {

struct GPTJConfig {
  explicit GPTJConfig(const Config& c)
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
        tie_word_embeddings(c.boolean("tie_word_embeddings", false)) {
    check_divides(c, "n_head", n_head, n_embd);
    if (rotary_dim % 2 != 0 || rotary_dim > head_dim)
      c.fail("rotary_dim", "must be even and at most " + std::to_string(head_dim));
  }

  std::int64_t vocab_size, n_positions, n_embd, n_layer, n_head, n_inner, head_dim, rotary_dim;
  nn::Activation activation_function;
  double resid_pdrop, embd_pdrop, attn_pdrop;
  bool tie_word_embeddings;
};

/// A layer's output, and the attention weights that the model's loop holds until the next layer is
/// done.
struct GPTJOutput {
  Tensor hidden_states, attn_weights;
};

/// [num_pos, dim] float32. What is divided without a dtype of its own is made in the model's.
Tensor create_sinusoidal_positions(std::int64_t num_pos, std::int64_t dim, DType model_dtype) {
  Tensor exponents;
  {
    const Tensor range = ghost::arange(dim / 2, DType::int64);
    const ghost::Op op("div", {});
    exponents = ghost::empty({dim / 2}, model_dtype);
  }
  const Tensor inv_freq = ghost::rdiv(1.0, ghost::power_of_number(std::move(exponents)));
  Tensor positions = ghost::arange(num_pos, DType::int64).to_float();
  const Tensor sinusoid_inp = std::move(positions).unsqueeze(1).mul(inv_freq.unsqueeze(0));
  const Tensor sin = ghost::sin(sinusoid_inp), cos = ghost::cos(sinusoid_inp);
  return ghost::cat({sin, cos}, 1);
}

Tensor apply_gptj_rotary_pos_emb(const Tensor& tensor, const Tensor& sin_half,
                                 const Tensor& cos_half) {
  const Tensor sin = ghost::repeat_interleave(sin_half.unsqueeze(2), 2, 3);
  const Tensor cos = ghost::repeat_interleave(cos_half.unsqueeze(2), 2, 3);
  return tensor.mul(cos).add(rotate_every_two(tensor).mul(sin));
}

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
    const std::vector<Tensor> halves = sincos.chunk(2, -1);
    const Parts parts = rotate(query, key, halves[0], halves[1]);
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
  /// k_rot, k_pass, q_rot and q_pass, which the frame holds on to.
  struct Parts {
    Tensor k_rot, k_pass, q_rot, q_pass;
  };

  /// Tensor.repeat: one new tensor of those sizes.
  static Tensor repeated(const Tensor& tensor, const Dims& sizes) {
    const ghost::Op op("repeat", {});
    return ghost::empty(sizes, tensor.dtype());
  }

  Parts rotate(Tensor& query, Tensor& key, const Tensor& sin, const Tensor& cos) const {
    const std::int64_t dim = config_.rotary_dim;
    Parts p{.k_rot = key.slice(3, 0, dim),
            .k_pass = key.slice(3, dim, key.size(3)),
            .q_rot = query.slice(3, 0, dim),
            .q_pass = query.slice(3, dim, query.size(3))};
    p.k_rot = apply_gptj_rotary_pos_emb(p.k_rot, sin, cos);
    p.q_rot = apply_gptj_rotary_pos_emb(p.q_rot, sin, cos);
    key = ghost::cat({p.k_rot, p.k_pass}, -1);
    query = ghost::cat({p.q_rot, p.q_pass}, -1);
    return p;
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

class GPTJMLP : public nn::Module<GPTJMLP> {
 public:
  GPTJMLP(const nn::Scope& scope, const GPTJConfig& c)
      : Module(scope),
        fc_in_(scope / "fc_in", c.n_embd, c.n_inner),
        fc_out_(scope / "fc_out", c.n_inner, c.n_embd),
        act_(c.activation_function),
        dropout_(scope / "dropout", c.resid_pdrop) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = fc_in_(x);
    hidden_states = act_(hidden_states);
    hidden_states = fc_out_(hidden_states);
    return dropout_(hidden_states);
  }

 private:
  nn::Linear fc_in_, fc_out_;
  nn::Activation act_;
  nn::Dropout dropout_;
};

class GPTJBlock : public nn::GradientCheckpointingLayer<GPTJBlock> {
 public:
  GPTJBlock(const nn::Scope& scope, const GPTJConfig& c)
      : GradientCheckpointingLayer(scope),
        ln_1_(scope / "ln_1", c.n_embd),
        attn_(scope / "attn", c),
        mlp_(scope / "mlp", c) {}

  GPTJOutput forward(const Tensor& residual, const Tensor& attention_mask,
                     const Tensor& position_ids) {
    const Tensor hidden_states = ln_1_(residual);
    const GPTJOutput attn = attn_(hidden_states, attention_mask, position_ids);
    const Tensor feed_forward_hidden_states = mlp_(hidden_states);
    return {attn.hidden_states.add(feed_forward_hidden_states).add(residual), attn.attn_weights};
  }

  void init_weights() const { attn_.init_weights(); }

 private:
  nn::LayerNorm ln_1_;
  GPTJAttention attn_;
  GPTJMLP mlp_;
};

class GPTJModel : public nn::Module<GPTJModel> {
 public:
  GPTJModel(const nn::Scope& scope, const GPTJConfig& c)
      : Module(scope),
        wte(scope / "wte", c.vocab_size, c.n_embd),
        drop_(scope / "drop", c.embd_pdrop),
        h_(scope / "h", c.n_layer, c),
        ln_f_(scope / "ln_f", c.n_embd) {
    for (const GPTJBlock& block : h_) block.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = wte(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const Tensor causal_mask = create_causal_mask(
        {.attention = AttentionImplementation::eager, .attention_mask = attention_mask},
        inputs_embeds, position_ids);
    Tensor hidden_states = drop_(inputs_embeds);
    GPTJOutput outputs;
    for (GPTJBlock& block : h_) {
      outputs = block(hidden_states, causal_mask, position_ids);
      hidden_states = outputs.hidden_states;
    }
    hidden_states = ln_f_(hidden_states);
    return hidden_states.view(hidden_states.sizes());
  }

  const nn::Embedding& get_input_embeddings() const { return wte; }

  nn::Embedding wte;

 private:
  nn::Dropout drop_;
  nn::ModuleList<GPTJBlock> h_;
  nn::LayerNorm ln_f_;
};

}  // namespace

ModelPointer build_gptj(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<GPTJModel, true>>(c, GPTJConfig(c), options);
}

}  // namespace memtape::family
