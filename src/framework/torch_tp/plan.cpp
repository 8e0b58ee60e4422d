// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/plan.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace memtape::torch_tp {
namespace {

constexpr Placement kSequence = shard_of(1);

Style rowwise(Placement input, Placement output) {
  return {.kind = Style::Kind::rowwise, .input = input, .output = output};
}

/// The layers of transformers' dense decoders, by how their plans name them.
struct HfPlan {
  std::string_view model_type;
  bool gathers_attention = false;  ///< q, k and v are gathered again: norms span all heads
  bool norms_heads = false;        ///< q_norm and k_norm see this GPU's heads alone
};

constexpr auto kHfPlans = std::to_array<HfPlan>({{"llama"},
                                                 {"mistral"},
                                                 {"qwen2"},
                                                 {"qwen3", false, true},
                                                 {"gemma"},
                                                 {"gemma2"},
                                                 {"olmo"},
                                                 {"olmo2", true},
                                                 {"cohere"},
                                                 {"granite"},
                                                 {"smollm3"},
                                                 {"starcoder2"}});

/// Whether a module's name is what the plan calls `pattern`.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  std::size_t end = star;
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
  return end > star && name.substr(end) == pattern.substr(star + 1);
}

/// transformers' styles wait at once and cut parameters where they are.
Style waiting(Style style) {
  style.async = false;
  style.scatters = false;
  return style;
}

}  // namespace

Plan colrow_plan(bool sequence_parallel, bool loss_parallel) {
  const Placement between = sequence_parallel ? kSequence : kReplicate;
  Style column{.output = shard_of(-1)};
  column.input_is_distributed = sequence_parallel;
  const Style row = rowwise(shard_of(-1), between);
  Style head{.input = between, .output = loss_parallel ? shard_of(-1) : kReplicate};
  head.use_local_output = !loss_parallel;
  Plan plan{{"lm_head", head}, {"model.embed_tokens", rowwise(kReplicate, between)}};
  const Style sequence{.kind = Style::Kind::sequence, .use_local_output = false};
  const Style prepare{.kind = Style::Kind::prepare_input, .input = kSequence, .async = false};
  if (sequence_parallel) {
    Style norm = sequence;
    norm.use_local_output = true;
    plan.push_back({"model.norm", norm});
  }
  const std::string layer = "model.layers.*.";
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"})
    plan.push_back({layer + name, column});
  plan.push_back({layer + "self_attn.o_proj", row});
  plan.push_back({layer + "mlp.gate_proj", column});
  plan.push_back({layer + "mlp.up_proj", column});
  plan.push_back({layer + "mlp.down_proj", row});
  if (!sequence_parallel) return plan;
  for (const char* name : {"input_layernorm", "post_attention_layernorm"})
    plan.push_back({layer + name, sequence});
  for (const char* name : {"self_attn", "mlp"}) plan.push_back({layer + name, prepare});
  return plan;
}

PlannedStyle hf_tied_embedding() {
  return {"model.embed_tokens", waiting(rowwise(kReplicate, kReplicate))};
}

Result<Plan> hf_plan(std::string_view model_type) {
  const auto* const found =
      std::find_if(kHfPlans.begin(), kHfPlans.end(),
                   [&](const HfPlan& family) { return family.model_type == model_type; });
  if (found == kHfPlans.end())
    return unsupported("the tp_plan of \"" + std::string(model_type) + "\" is not modelled",
                       "--strategy: plan", "a dense decoder such as llama, mistral or qwen3");
  const Style column = waiting({.output = shard_of(-1)}), gathered = waiting({});
  const Style row = waiting(rowwise(shard_of(-1), kReplicate)),
              split = waiting(rowwise(kReplicate, kReplicate));
  const bool gathers = found->gathers_attention;
  const std::string layer = "model.layers.*.";
  Plan plan;
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"})
    plan.push_back({layer + name, gathers ? gathered : column});
  plan.push_back({layer + "self_attn.o_proj", gathers ? split : row});
  if (found->norms_heads)
    for (const char* name : {"self_attn.q_norm", "self_attn.k_norm"})
      plan.push_back({layer + name, {.kind = Style::Kind::backward_hook}});
  for (const char* name : {"mlp.gate_proj", "mlp.up_proj", "mlp.c_fc"})
    plan.push_back({layer + name, column});
  for (const char* name : {"mlp.down_proj", "mlp.c_proj"}) plan.push_back({layer + name, row});
  plan.push_back({"lm_head", gathered});
  return plan;
}

const PlannedStyle* planned_for(const Plan& plan, std::string_view module) {
  const auto found = std::find_if(plan.begin(), plan.end(), [&](const PlannedStyle& planned) {
    return matches(planned.module, module);
  });
  return found == plan.end() ? nullptr : &*found;
}

}  // namespace memtape::torch_tp
