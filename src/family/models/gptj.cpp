// SPDX-License-Identifier: Apache-2.0
// GPT-J: three projections; before kGptJCallsTheInterface attention in float32 without a fused
// kernel, positions gathered out of a repeated table; mirroring transformers 5.17 and 5.24
// models/gptj/modeling_gptj.py.
#include "family/facts.h"
#include "family/parts/gptj_parts.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"

namespace memtape::family {
namespace {

/// Tensor.repeat: one new tensor of those sizes.
Tensor repeated(const Tensor& tensor, const Dims& sizes) {
  const ghost::Op op("repeat", {});
  return ghost::empty(sizes, tensor.dtype());
}

class GPTJProjections {
 public:
  static constexpr bool kMasksFirst = false;
  static constexpr bool kRotatesInFloat32 = false;
  static constexpr bool kFollowsOutput = false;

  GPTJProjections(const nn::Scope& scope, const GPTJConfig& c)
      : heads_{c.n_head, c.head_dim},
        k_proj_(scope / "k_proj", c.n_embd, c.n_embd, false),
        v_proj_(scope / "v_proj", c.n_embd, c.n_embd, false),
        q_proj_(scope / "q_proj", c.n_embd, c.n_embd, false) {}

  GPTJHeads operator()(const Tensor& hidden_states) {
    const Dims shape = hidden_states.sizes().leading().with(heads_[0]).with(heads_[1]);
    if (ghost::has(changes::kGptJCallsTheInterface)) {
      Tensor query = q_proj_(hidden_states).view(shape);
      Tensor key = k_proj_(hidden_states).view(shape);
      return {.query = query, .key = key, .value = v_proj_(hidden_states).view(shape)};
    }
    Tensor query = q_proj_(hidden_states);
    Tensor key = k_proj_(hidden_states);
    Tensor value = v_proj_(hidden_states);
    query = query.view(shape);
    key = key.view(shape);
    value = value.view(shape);
    return {.query = query, .key = key, .value = value};
  }

  static GPTJSinCos sincos(const Tensor& table, const Tensor& position_ids, DType dtype) {
    const std::int64_t dim = table.size(1), length = position_ids.size(1);
    Tensor embed_positions = repeated(table, {position_ids.size(0), table.size(0), dim});
    Tensor repeated_position_ids = repeated(position_ids, {position_ids.size(0), length, dim});
    Tensor gathered = ghost::gather(embed_positions, repeated_position_ids);
    if (ghost::has(changes::kGptJCastsItsAngles)) gathered = gathered.to(dtype);
    return {.sincos = std::move(gathered),
            .held = {std::move(embed_positions), std::move(repeated_position_ids)}};
  }

 private:
  Dims heads_;
  nn::Linear k_proj_, v_proj_, q_proj_;
};

ModelPointer build_gptj(const Config& c, const ModelOptions& options) {
  using Model = GPTJModel<GPTJProjections>;
  return build_checked<TransformerForCausalLM<Model, true>>(c, GPTJConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGptj{.model_type = "gptj",
                               .ties_head = Known::no,
                               .has_bos = Known::yes,
                               .modeling = eager_only(kDecoder),
                               .module_rates = {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
                               .classifiers = {.sequences = true, .answers = true},
                               .build = build_gptj};

}  // namespace memtape::family
