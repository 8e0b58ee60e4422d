// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V2: latent attention, rotated by complex numbers, and a router of softmax scores;
// mirroring transformers 5.17 models/deepseek_v2/modeling_deepseek_v2.py.
#include <array>
#include <optional>

#include "base/text.h"
#include "family/facts.h"
#include "family/parts/deepseek.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/complex.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct DeepseekV2Config : DeepseekConfig {
  DeepseekV2Config(const Config& c, const ModelOptions& options)
      : DeepseekConfig(
            c, options, {.vocab_size = 102400},
            {.experts_key = "n_routed_experts", .num_experts = 64, .intermediate_size = 1407}) {
    constexpr std::array<std::string_view, 2> kMethods{"greedy", "group_limited_greedy"};
    mlp_bias = c.boolean("mlp_bias", false);
    n_shared_experts = c.dimension("n_shared_experts", 2);
    rope.is_complex = true;
    loop = LoopBefore5::in_slices;
    const std::string topk_method = c.text("topk_method", kMethods[0]);
    if (topk_method == kMethods[1])
      read_groups(c, 1, 1);
    else if (topk_method != kMethods[0])
      c.fail("topk_method",
             "unknown method \"" + topk_method + "\", " + suggestion(topk_method, kMethods));
  }
};

class DeepseekV2TopkRouter : public nn::Module<DeepseekV2TopkRouter> {
 public:
  DeepseekV2TopkRouter(const nn::Scope& scope, const DeepseekMoeConfig& c)
      : Module(scope),
        config_(c),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size}, router_dtype(scope))) {}

  Routing forward(const Tensor& x) {
    const nn::Parametrized weight(node(), weight_);
    const Tensor hidden_states = x.view({-1, config_.hidden_size});
    Tensor router_logits = float32_router_logits(hidden_states, weight_);
    Tensor scores = ghost::softmax(router_logits, DType::float32);
    std::optional<GroupChoice> chosen;
    if (config_.limits_groups) {
      chosen.emplace(ghost::max_along_last(
                         scores.view({-1, config_.n_group, config_.num_experts / config_.n_group}))
                         .first.squeeze(-1),
                     config_);
      scores =
          ghost::masked_fill(scores, ghost::bitwise_not(chosen->score_mask.to(DType::boolean)), 0);
    }
    auto [topk_weights, topk_indices] = ghost::topk(scores, config_.num_experts_per_tok);
    topk_weights = topk_weights.mul(2.0);
    if (!ghost::has(changes::kExpertsAreStacked)) router_logits.reset();  // the gate keeps them
    return {std::move(router_logits), std::move(topk_weights), std::move(topk_indices)};
  }

 private:
  DeepseekMoeConfig config_;
  Tensor weight_;
};

/// Pairs of neighbours as complex numbers.
Tensor as_complex_pairs(const Tensor& x) {
  Dims pairs = x.sizes().leading().with(x.size(-1) / 2).with(2);
  return ghost::view_as_complex(x.to_float().reshape(pairs));
}

Tensor as_real(Tensor numbers, const Dims& sizes, DType dtype) {
  return ghost::view_as_real(std::move(numbers)).reshape(sizes).to(dtype);
}

std::pair<Tensor, Tensor> apply_rotary_emb(const Tensor& xq, const Tensor& xk,
                                           const CosSin& position_embeddings) {
  const Tensor xq_complex = as_complex_pairs(xq);
  const Tensor xk_complex = as_complex_pairs(xk);
  const Tensor freqs_cis = position_embeddings.first.unsqueeze(1);
  Tensor xq_out = as_real(ghost::complex_mul(xq_complex, freqs_cis), xq.sizes(), xq.dtype());
  Tensor xk_out = as_real(ghost::complex_mul(xk_complex, freqs_cis), xk.sizes(), xk.dtype());
  return {std::move(xq_out), std::move(xk_out)};
}

struct DeepseekV2Parts : MoeParts {
  using Settings = DeepseekV2Config;
  using DecoderLayer = PreNormDecoderLayer<RotatedLatentAttention<apply_rotary_emb>,
                                           MaybeSparseMlp<DeepseekMoe<DeepseekV2TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_deepseek_v2(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<DeepseekV2Parts>>(c, DeepseekV2Config(c, options),
                                                            options);
}

}  // namespace

extern const FamilyFacts kDeepseekV2{.model_type = "deepseek_v2",
                                     .first = {4, 54, 0},
                                     .ties_head = Known::no,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .classifiers = {.sequences = true},
                                     .build = build_deepseek_v2};

}  // namespace memtape::family
