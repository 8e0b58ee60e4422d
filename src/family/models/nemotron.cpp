// SPDX-License-Identifier: Apache-2.0
// Nemotron 3 and 4: layer norms whose weight is added to 1, rotation of a part of each head, an MLP
// without a gate; mirroring transformers 5.17 models/nemotron/modeling_nemotron.py.
#include <optional>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/late_shared_mask.h"
#include "family/parts/llama_layer.h"
#include "family/parts/rope.h"
#include "family/parts/ungated_mlp.h"
#include "ghost/autocast.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/normalization.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// NemotronLayerNorm1P: under autocast everything is cast to its dtype, and the norm runs in it.
class NemotronLayerNorm1P : public nn::Module<NemotronLayerNorm1P> {
 public:
  NemotronLayerNorm1P(const nn::Scope& scope, std::int64_t width)
      : Module(scope),
        weight_(scope.parameter("weight", {width})),
        bias_(scope.parameter("bias", {width})) {}
  Tensor forward(const Tensor& x) {
    const ghost::Autocast& autocast = ghost::session().autocast;
    Tensor weight = weight_.add(1.0);
    if (!autocast.enabled) return ghost::layer_norm(x, weight, bias_);
    const Tensor input = x.to(autocast.dtype);
    const Tensor cast_weight = weight.to(autocast.dtype);
    const Tensor cast_bias = bias_.to(autocast.dtype);
    weight.reset();
    const ghost::AutocastContext no_autocast(false, DType::float32);
    return ghost::layer_norm(input, cast_weight, cast_bias);
  }

 private:
  Tensor weight_, bias_;
};

/// apply_rotary_pos_emb: the parts of q and of k live until both are joined.
std::pair<Tensor, Tensor> rotate_part_of_each(const Tensor& q, const Tensor& k,
                                              const CosSin& cos_sin) {
  const Tensor cos = cos_sin.first.unsqueeze(1);
  const Tensor sin = cos_sin.second.unsqueeze(1);
  const std::int64_t rot_dim = cos.size(-1);
  const Tensor q_rot = q.slice(-1, 0, rot_dim), q_pass = q.slice(-1, rot_dim, q.size(-1));
  const Tensor k_rot = k.slice(-1, 0, rot_dim), k_pass = k.slice(-1, rot_dim, k.size(-1));
  const Tensor q_embed = q_rot.mul(cos).add(rotate_half(q_rot).mul(sin));
  const Tensor k_embed = k_rot.mul(cos).add(rotate_half(k_rot).mul(sin));
  Tensor q_joined = ghost::cat({q_embed, q_pass}, -1);
  return {std::move(q_joined), ghost::cat({k_embed, k_pass}, -1)};
}

/// An attention of 5.0 to 5.12 has a rotary embedding of its own, which nobody calls.
struct NemotronSteps : Rotated<rotate_part_of_each> {
  NemotronSteps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : Rotated(scope, c, layer) {
    if (ghost::has(changes::kOriginalFrequenciesAreABuffer) &&
        !ghost::has(changes::kNemotronSharesItsRope))
      rotary_emb.emplace(scope / "rotary_emb", c.rope);
  }

  static Tensor attend(const AttentionCall& call, Tensor& query, Tensor& key, Tensor& value,
                       const Tensor& attention_mask) {
    if (ghost::has(changes::kNemotronCallsTheInterface))
      return attention_interface(call, query, key, value, attention_mask);
    return written_out_attention(call, query, key, value, attention_mask);
  }

  std::optional<RotaryEmbedding> rotary_emb;
};

struct NemotronParts : LateSharedMask {
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<NemotronSteps>, UngatedMlp, NemotronLayerNorm1P>;
  using Norm = NemotronLayerNorm1P;
};

ModelPointer build_nemotron(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 256000,
                        .hidden_size = 6144,
                        .intermediate_size = 24576,
                        .num_attention_heads = 48,
                        .hidden_act = "relu2"});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.mlp_bias = c.boolean("mlp_bias", false);
  config.rope = rope_parameters(c, config.head_dim, "partial_rotary_factor", 0.5);
  return build_checked<DecoderForCausalLM<NemotronParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kNemotron{
    .model_type = "nemotron",
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_nemotron};

}  // namespace memtape::family
