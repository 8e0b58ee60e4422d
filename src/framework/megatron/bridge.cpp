// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/bridge.h"

#include "model/type_of.h"

#include <algorithm>
#include <string>

#include "framework/megatron/bridge_mixtures.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {
namespace {

/// The providers run shared experts beside the exchange of tokens, which TransformerConfig
/// refuses where they are made again or tokens are not exchanged.
bool overlaps_shared_experts(const Strategy& s) {
  const bool exchanges = s.moe_token_dispatcher_type.value_or("alltoall") == "alltoall";
  const bool again =
      s.recompute_modules &&
      std::ranges::find(*s.recompute_modules, "shared_experts") != s.recompute_modules->end();
  return exchanges && !again;
}

/// The providers' own kernels, where tokens are exchanged and experts are one grouped product, and
/// the router.
void add_mixture(const Config& c, const Strategy& s, const BridgeMixture& mixture, Attributes& a) {
  a.truth("moe_grouped_gemm", true);
  a.truth("moe_permute_fusion", true);
  a.text("moe_token_dispatcher_type", "alltoall");
  if (!mixture.shared.key.empty()) a.truth("moe_shared_expert_overlap", overlaps_shared_experts(s));
  a.text("moe_router_load_balancing_type", mixture.balance);
  a.set("moe_aux_loss_coeff", std::to_string(mixture.balance_coefficient));
  if (mixture.pre_softmax) a.truth("moe_router_pre_softmax", true);
  if (mixture.sigmoid) a.text("moe_router_score_function", "sigmoid");
  if (mixture.corrects) a.truth("moe_router_enable_expert_bias", true);
  if (mixture.float32_router) a.text("moe_router_dtype", "fp32");
  if (const std::int64_t groups = c.count("n_group", 1); groups > 1) {
    a.number("moe_router_num_groups", groups);
    a.number("moe_router_group_topk", c.dimension("topk_group", 1));
  }
  if (c.has("routed_scaling_factor"))
    a.set("moe_router_topk_scaling_factor", std::to_string(c.number("routed_scaling_factor", 1.0)));
  if (mixture.te_loss) a.text("cross_entropy_fusion_impl", "te");
  if (mixture.predicts_further) a.number("mtp_num_layers", c.count("num_nextn_predict_layers", 0));
}

/// gpt_oss_bridge.py: biases everywhere, sinks, and a clamped activation of its own.
void add_gpt_oss(Attributes& a) {
  a.truth("add_bias_linear", true);
  a.truth("add_qkv_bias", false);
  a.truth("swiglu", false);
  a.truth("quick_geglu", true);
  a.set("activation_func_clamp_value", "7.0");
  a.set("glu_linear_offset", "1.0");
  a.text("softmax_type", "learnable");
}

bool norms_heads(const Config& c, std::string_view family, const BridgeMixture* mixture) {
  return family == "qwen3" || family == "qwen3_moe" || (mixture && mixture->latent) ||
         (family == "glm4_moe" && c.boolean("use_qk_norm", false));
}

}  // namespace

void add_bridge(const Config& c, const Strategy& s, const TrainRecipe& recipe, Attributes& a) {
  const std::string family = type_of(c);
  a.text("transformer_impl", "transformer_engine");
  a.text("attention_backend", recipe.attention == AttentionChoice::eager   ? "unfused"
                              : recipe.attention == AttentionChoice::flash ? "flash"
                                                                           : "auto");
  a.truth("cross_entropy_loss_fusion", s.ce_fusion.value_or(true));
  a.truth("bias_swiglu_fusion", s.swiglu_fusion);
  a.truth("create_attention_mask_in_dataloader", false);
  const bool ties = c.boolean("tie_word_embeddings", family == "gpt2");
  a.truth("untie_embeddings_and_output_weights", !s.tie.value_or(ties));
  const BridgeMixture* const mixture = bridge_mixture(family);
  a.truth("qk_layernorm", norms_heads(c, family, mixture));
  if (mixture) add_mixture(c, s, *mixture, a);
  if (family == "gpt_oss") add_gpt_oss(a);
  if (c.has("partial_rotary_factor"))
    a.set("rotary_percent", std::to_string(c.number("partial_rotary_factor", 1.0)));
}

}  // namespace memtape::megatron
