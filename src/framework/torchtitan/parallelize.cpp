// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/parallelize.h"

#include <string>

#include "framework/torch_tp/plan.h"

namespace memtape::torchtitan {
namespace {

using torch_tp::kReplicate;
using torch_tp::Plan;
using torch_tp::shard_of;
using torch_tp::Style;

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
  const Plan plan = tensor_parallel_plan(job.loss_parallel);
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (const auto* planned = torch_tp::planned_for(plan, module.name))
      modules.apply(*module.node, planned->style);
}

void share_experts(Transformer& model) {
  for (TransformerBlock& block : model.layers())
    if (MoE* const moe = block.moe()) moe->experts().share();
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
