// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/plan.h"

#include <algorithm>
#include <cctype>

#include "family/registry.h"
#include "model/type_of.h"

namespace memtape::torch_tp {
namespace {

constexpr Placement kSequence = shard_of(1);

Style rowwise(Placement input, Placement output) {
  return {.kind = Style::Kind::rowwise, .input = input, .output = output};
}

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

Result<Plan> hf_plan(const Config& config) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  if (!facts || facts->tp_plan == family::TpPlan::not_modelled)
    return unsupported("the tp_plan of \"" + type_of(config) + "\" is not modelled",
                       "--strategy: plan", "a dense decoder such as llama, mistral or qwen3");
  const Style column = waiting({.output = shard_of(-1)}), gathered = waiting({});
  const Style row = waiting(rowwise(shard_of(-1), kReplicate)),
              split = waiting(rowwise(kReplicate, kReplicate));
  const bool gathers = facts->tp_plan == family::TpPlan::gathers_attention;
  const std::string layer = "model.layers.*.";
  Plan plan;
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"})
    plan.push_back({layer + name, gathers ? gathered : column});
  plan.push_back({layer + "self_attn.o_proj", gathers ? split : row});
  if (facts->tp_plan == family::TpPlan::norms_heads)
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
