// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/parallelize.h"

#include <string>

#include "framework/torch_tp/plan.h"

namespace memtape::torchtitan {
namespace {

using torch_tp::kPartial;
using torch_tp::kReplicate;
using torch_tp::Plan;
using torch_tp::shard_of;
using torch_tp::Style;

/// apply_moe_ep_tp. Experts are cut unless ranks share them whole.
void add_mixture(Plan& plan) {
  const std::string moe = "layers.*.moe";
  const auto sequence = shard_of(1);
  plan.push_back({moe,
                  {.kind = Style::Kind::prepare_input_output,
                   .input = sequence,
                   .output = sequence,
                   .async = false}});
  plan.push_back({moe + ".router.gate", {.kind = Style::Kind::whole}});
  const Style column{.output = shard_of(-1)};
  plan.push_back({moe + ".shared_experts.w1", column});
  plan.push_back({moe + ".shared_experts.w2",
                  {.kind = Style::Kind::rowwise, .input = shard_of(-1), .output = kPartial}});
  plan.push_back({moe + ".shared_experts.w3", column});
}

/// Latent attention's low ranks are whole on every GPU (apply_non_moe_tp of deepseek_v3).
void add_latent_attention(Plan& plan) {
  const std::string attention = "layers.*.attention.";
  const Style whole{
      .kind = Style::Kind::whole, .input_is_distributed = true, .use_local_output = false};
  for (const char* name : {"wq_a", "q_norm", "kv_norm"}) plan.push_back({attention + name, whole});
  Style summed = whole;
  summed.sums_gradient = true;
  plan.push_back({attention + "wkv_a", summed});
  Style column{.output = shard_of(-1)};
  column.input_is_distributed = true;
  column.use_local_output = false;
  for (const char* name : {"wq", "wq_b", "wkv_b"}) plan.push_back({attention + name, column});
}

Plan tensor_parallel_plan(bool loss_parallel) {
  const auto sequence = shard_of(1);
  const Style row{.kind = Style::Kind::rowwise, .input = shard_of(-1), .output = sequence};
  const Style embedding{.kind = Style::Kind::rowwise, .input = kReplicate, .output = sequence};
  Style column{.output = shard_of(-1)};
  column.input_is_distributed = true;
  const Style norm{.kind = Style::Kind::sequence, .use_local_output = false};
  Style last_norm = norm;
  last_norm.use_local_output = true;
  const Style prepare{.kind = Style::Kind::prepare_input, .input = sequence, .async = false};
  Style output{.input = sequence, .output = loss_parallel ? shard_of(-1) : kReplicate};
  output.use_local_output = !loss_parallel;
  Plan plan{{"tok_embeddings", embedding}, {"norm", last_norm}, {"output", output}};
  const std::string layer = "layers.*.";
  plan.push_back({layer + "attention_norm", norm});
  plan.push_back({layer + "attention", prepare});
  for (const char* name : {"attention.wq", "attention.wk", "attention.wv"})
    plan.push_back({layer + name, column});
  plan.push_back({layer + "attention.wo", row});
  plan.push_back({layer + "ffn_norm", norm});
  plan.push_back({layer + "feed_forward", prepare});
  plan.push_back({layer + "feed_forward.w1", column});
  plan.push_back({layer + "feed_forward.w2", row});
  plan.push_back({layer + "feed_forward.w3", column});
  return plan;
}

}  // namespace

void apply_tensor_parallel(Transformer& model, const JobConfig& job,
                           torch_tp::DistributedModules& modules) {
  Plan plan = tensor_parallel_plan(job.loss_parallel);
  add_latent_attention(plan);
  add_mixture(plan);
  if (job.expert_parallel == 1 || job.cuts_experts)
    plan.push_back({"layers.*.moe.experts", {.kind = Style::Kind::summed_gradient}});
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (const auto* planned = torch_tp::planned_for(plan, module.name))
      modules.apply(*module.node, planned->style);
  for (TransformerBlock& block : model.layers())
    if (LatentAttention* const attention = block.latent_attention()) attention->share_heads();
}

void share_experts(Transformer& model, const JobConfig& job, std::int64_t rank) {
  const bool cuts = job.expert_parallel == 1 || job.cuts_experts;
  for (TransformerBlock& block : model.layers()) {
    MoE* const moe = block.moe();
    if (!moe) continue;
    if (job.expert_parallel > 1) moe->experts().share();
    if (cuts)
      moe->experts().cut(job.size("tp"), job.layout.coordinate(rank, "tp"));
    else
      moe->reorder_slices(job.size("tp"));
  }
}

/// Shards of more ranks than there are experts cut the second dimension.
fsdp2::InnerUnits experts_units(Transformer& model, const JobConfig& job) {
  const std::int64_t mod_ep = job.size("dp_shard"),
                     shared = job.size("ep") * job.size("cp") * job.size("tp");
  fsdp2::InnerUnits units{.module = "experts",
                          .mesh = Layout({{"pp", job.size("pp")},
                                          {"replicate", job.size("replicate")},
                                          {"shard", mod_ep},
                                          {"ep", shared}})};
  std::int64_t experts = 0;
  for (TransformerBlock& block : model.layers())
    if (MoE* const moe = block.moe()) experts = moe->num_experts();
  if (job.size("replicate") * mod_ep * job.expert_parallel > experts) units.shard_dim = 1;
  return units;
}

void compile_blocks(Transformer& model, const JobConfig& job) {
  for (TransformerBlock& block : model.layers()) block.compile(job.size("tp"));
}

}  // namespace memtape::torchtitan
