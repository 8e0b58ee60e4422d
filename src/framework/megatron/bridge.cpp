// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/bridge.h"

#include "model/type_of.h"

#include <algorithm>
#include <string>

#include "workload/train_recipe.h"

namespace memtape::megatron {
namespace {

/// The providers' own kernels, where tokens are exchanged and experts are one grouped product.
void add_bridge_experts(Attributes& a) {
  a.truth("moe_grouped_gemm", true);
  a.truth("moe_permute_fusion", true);
  a.text("moe_token_dispatcher_type", "alltoall");
}

void add_balance(std::string_view type, double coefficient, Attributes& a) {
  a.text("moe_router_load_balancing_type", type);
  a.set("moe_aux_loss_coeff", std::to_string(coefficient));
}

void add_mixtral(Attributes& a) {
  add_bridge_experts(a);
  add_balance("none", 0.0, a);
  a.truth("moe_router_pre_softmax", true);
}

void add_qwen3_moe(Attributes& a) {
  add_bridge_experts(a);
  add_balance("aux_loss", 1e-3, a);
}

/// deepseek_v3_bridge.py runs shared experts beside the exchange of tokens, which TransformerConfig
/// refuses where they are made again or tokens are not exchanged.
bool overlaps_shared_experts(const Strategy& s) {
  const bool exchanges = s.moe_token_dispatcher_type.value_or("alltoall") == "alltoall";
  const bool again =
      s.recompute_modules &&
      std::ranges::find(*s.recompute_modules, "shared_experts") != s.recompute_modules->end();
  return exchanges && !again;
}

void add_deepseek_v3(const Config& c, const Strategy& s, Attributes& a) {
  add_bridge_experts(a);
  a.truth("moe_shared_expert_overlap", overlaps_shared_experts(s));
  add_balance("seq_aux_loss", 1e-4, a);
  a.truth("moe_router_pre_softmax", true);
  a.text("moe_router_dtype", "fp32");
  if (const std::int64_t groups = c.count("n_group", 1); groups > 1) {
    a.number("moe_router_num_groups", groups);
    a.number("moe_router_group_topk", c.dimension("topk_group", 1));
  }
  a.set("moe_router_topk_scaling_factor", std::to_string(c.number("routed_scaling_factor", 1.0)));
  a.text("cross_entropy_fusion_impl", "te");
  a.number("mtp_num_layers", c.count("num_nextn_predict_layers", 0));
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
  a.truth("qk_layernorm", family == "qwen3" || family == "qwen3_moe" || family == "deepseek_v3");
  if (family == "mixtral") add_mixtral(a);
  if (family == "qwen3_moe") add_qwen3_moe(a);
  if (family == "deepseek_v3") add_deepseek_v3(c, s, a);
}

}  // namespace memtape::megatron
