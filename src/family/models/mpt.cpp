// SPDX-License-Identifier: Apache-2.0
// MPT: no biases, ALiBi over the longest sequence it was made for, eager attention only; mirroring
// transformers 5.17 models/mpt/modeling_mpt.py.
#include <bit>

#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/masks/update_causal_mask.h"
#include "family/parts/config_checks.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "nn/checkpointing.h"
#include "nn/layer_frame.h"
#include "nn/layers.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct MptConfig {
  explicit MptConfig(const Config& c)
      : d_model(c.dimension({"hidden_size", "d_model"}, 2048)),
        n_heads(c.dimension({"num_attention_heads", "n_heads"}, 16)),
        n_layers(c.layers({"num_hidden_layers", "n_layers"}, 24)),
        max_seq_len(c.dimension("max_seq_len", 2048)),
        vocab_size(c.dimension("vocab_size", 50368)),
        attn_pdrop(c.object("attn_config").number("attn_pdrop", 0.0)),
        clip_qkv(c.object("attn_config").optional_number("clip_qkv").value_or(0.0) != 0.0),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)) {
    check_divides(c, "n_heads", n_heads, d_model);
  }

  std::int64_t d_model, n_heads, n_layers, max_seq_len, vocab_size;
  double attn_pdrop;
  bool clip_qkv, tie_word_embeddings;
};

/// A layer's output, and the attention weights that the model's loop holds until the next layer is
/// done.
struct MptOutput {
  Tensor hidden_states, attn_weights;
};

/// A LayerNorm whose bias is made and dropped again ("backward compatibility with weights on the
/// Hub").
class MptLayerNorm : public nn::Module<MptLayerNorm> {
 public:
  MptLayerNorm(const nn::Scope& scope, std::int64_t hidden_size)
      : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {
    const ghost::ScopeGuard guard(node().scope);
    const ghost::Op op("empty", {});
    const Tensor bias = ghost::empty({hidden_size}, scope.dtype(), Category::parameter);
  }
  Tensor forward(const Tensor& x) { return ghost::layer_norm(x, weight_, {}); }

 private:
  Tensor weight_;
};

/// [H, 1, sequence_length] float32.
Tensor build_mpt_alibi_tensor(std::int64_t num_heads, std::int64_t sequence_length) {
  Tensor alibi = ghost::arange(sequence_length, DType::int32).view({1, 1, 1, sequence_length});
  const auto num_heads_power_of_2 =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(num_heads)));
  Tensor base = ghost::arange(num_heads_power_of_2, DType::int64).to_float();
  base = base.mul(0.5);
  Tensor slopes = ghost::rdiv(1.0, ghost::pow(2.0, base));
  slopes = slopes.view({1, num_heads_power_of_2, 1, 1});
  if (num_heads_power_of_2 != num_heads) {
    const Tensor odd = ghost::strided_slice(slopes, 1, 1, 2),
                 even = ghost::strided_slice(slopes, 1, 0, 2);
    slopes = ghost::cat({odd, even}, 1).slice(1, 0, num_heads);
  }
  alibi = alibi.mul(slopes);
  return alibi.squeeze(0);
}

class MptAttention : public nn::Module<MptAttention> {
 public:
  MptAttention(const nn::Scope& scope, const MptConfig& c)
      : Module(scope),
        config_(c),
        wqkv_(scope / "Wqkv", c.d_model, 3 * c.d_model, false),
        out_proj_(scope / "out_proj", c.d_model, c.d_model, false) {}

  MptOutput forward(const Tensor& hidden_states, const Tensor& position_bias,
                    const Tensor& attention_mask) {
    const std::int64_t batch_size = hidden_states.size(0), seq_length = hidden_states.size(1);
    Tensor mixed_qkv = wqkv_(hidden_states);
    if (config_.clip_qkv)
      mixed_qkv = ghost::clamp(mixed_qkv, {.min = -ghost::kLimit, .max = ghost::kLimit});
    std::vector<Tensor> states = mixed_qkv.chunk(3, 2);
    for (Tensor& x : states)
      x = x.reshape({batch_size, seq_length, config_.n_heads, config_.d_model / config_.n_heads})
              .transpose(1, 2);
    const Tensor &query_states = states[0], &key_states = states[1], &value_states = states[2];
    if (!ghost::has(changes::kMptCachesByClass))
      nn::LayerFrame::keep_key_values(key_states, value_states);
    Tensor attention_scores = query_states.matmul(key_states.transpose(-1, -2)).mul(0.5);
    attention_scores = attention_scores.add(last_columns(position_bias, seq_length));
    attention_scores = ghost::masked_fill(attention_scores, attention_mask, ghost::kLowest);
    Tensor attn_weights =
        ghost::softmax(attention_scores.to_float(), DType::float32).to(value_states.dtype());
    attn_weights = ghost::dropout(attn_weights, config_.attn_pdrop);
    Tensor context_states = attn_weights.matmul(value_states);
    context_states =
        context_states.permute({0, 2, 1, 3}).contiguous().view({batch_size, seq_length, -1});
    Tensor attn_output = out_proj_(context_states);
    return {std::move(attn_output), std::move(attn_weights)};
  }

 private:
  /// position_bias[:, max(0, 1 - queries):, max(0, longest - keys):]
  static Tensor last_columns(const Tensor& position_bias, std::int64_t key_length) {
    const std::int64_t longest = position_bias.size(2);
    return position_bias.slice(2, std::max<std::int64_t>(longest - key_length, 0), longest);
  }

  MptConfig config_;
  nn::Linear wqkv_, out_proj_;
};

class MptMLP : public nn::Module<MptMLP> {
 public:
  MptMLP(const nn::Scope& scope, const MptConfig& c)
      : Module(scope),
        up_proj_(scope / "up_proj", c.d_model, 4 * c.d_model, false),
        down_proj_(scope / "down_proj", 4 * c.d_model, c.d_model, false),
        hidden_dropout_(c.attn_pdrop) {}

  Tensor forward(const Tensor& x, const Tensor& residual) {
    const Tensor hidden_states = ghost::gelu(up_proj_(x));
    const Tensor intermediate_output = down_proj_(hidden_states);
    const Tensor output = ghost::dropout(intermediate_output, hidden_dropout_);
    return output.add(residual);
  }

 private:
  nn::Linear up_proj_, down_proj_;
  double hidden_dropout_;
};

class MptBlock : public nn::GradientCheckpointingLayer<MptBlock> {
 public:
  MptBlock(const nn::Scope& scope, const MptConfig& c)
      : GradientCheckpointingLayer(scope),
        norm_1_(scope / "norm_1", c.d_model),
        attn_(scope / "attn", c),
        norm_2_(scope / "norm_2", c.d_model),
        ffn_(scope / "ffn", c),
        resid_attn_dropout_(scope / "resid_attn_dropout", c.attn_pdrop) {}

  MptOutput forward(const Tensor& x, const Tensor& position_bias, const Tensor& attention_mask) {
    Tensor layernorm_output = norm_1_(x);
    const MptOutput attn = attn_(layernorm_output, position_bias, attention_mask);
    const Tensor hidden_states = resid_attn_dropout_(attn.hidden_states).add(x);
    layernorm_output = norm_2_(hidden_states);
    const Tensor& weights = attn.attn_weights;
    return {ffn_(layernorm_output, hidden_states),
            ghost::has(changes::kBlocksReturnWeights) ? weights : Tensor()};
  }

 private:
  MptLayerNorm norm_1_;
  MptAttention attn_;
  MptLayerNorm norm_2_;
  MptMLP ffn_;
  nn::Dropout resid_attn_dropout_;
};

class MptModel : public nn::Module<MptModel> {
 public:
  MptModel(const nn::Scope& scope, const MptConfig& c)
      : Module(scope),
        wte(scope / "wte", c.vocab_size, c.d_model),
        config_(c),
        blocks_(scope / "blocks", c.n_layers, c),
        norm_f_(scope / "norm_f", c.d_model) {}

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = wte(input_ids);
    Tensor hidden_states = inputs_embeds;
    Tensor ones;
    if (!ghost::has(changes::kAllMasksAreShared))
      ones = attention_mask.defined() ? attention_mask
                                      : ghost::ones(input_ids.sizes(), DType::float32);
    const Tensor alibi = build_mpt_alibi_tensor(config_.n_heads, config_.max_seq_len);
    Tensor causal_mask = ones.defined()
                             ? prepare_4d_causal_attention_mask(ones, inputs_embeds)
                             : create_causal_mask({.attention = AttentionImplementation::eager,
                                                   .attention_mask = attention_mask},
                                                  inputs_embeds, {});
    causal_mask = causal_mask.to(DType::boolean);
    MptOutput outputs;
    for (MptBlock& block : blocks_) {
      outputs = block(hidden_states, alibi, causal_mask);
      hidden_states = outputs.hidden_states;
    }
    return norm_f_(hidden_states);
  }

  const nn::Embedding& get_input_embeddings() const { return wte; }

  nn::Embedding wte;

 private:
  MptConfig config_;
  nn::ModuleList<MptBlock> blocks_;
  MptLayerNorm norm_f_;
};

ModelPointer build_mpt(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<MptModel>>(c, MptConfig(c), options);
}

}  // namespace

extern const FamilyFacts kMpt{.model_type = "mpt",
                              .ties_head = Known::yes,
                              .has_bos = Known::no,
                              .modeling = eager_only(without_position_ids(kDecoder)),
                              .classifiers = {.sequences = true, .tokens = true, .answers = true},
                              .build = build_mpt};

}  // namespace memtape::family
