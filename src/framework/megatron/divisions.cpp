// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/divisions.h"

#include <algorithm>

#include <fmt/format.h>

namespace memtape::megatron {

tl::unexpected<Error> indivisible(std::string_view what, std::int64_t n, std::string_view by,
                                  std::int64_t size) {
  std::string would;
  for (std::int64_t d = 1; d <= n && d <= 1024; ++d)
    if (n % d == 0) would += fmt::format("{}{}", would.empty() ? "" : ", ", d);
  return bad_input(fmt::format("{} {} do not divide by {} {}", n, what, by, size), std::string(by),
                   fmt::format("{} would", would));
}

Result<void> divide_gpus(Arguments& a) {
  const std::int64_t model = a.tp * a.pp * a.cp;
  if (a.gpus % model != 0) {
    const std::int64_t enough = (a.gpus / model + 1) * model;
    return bad_input(fmt::format("{} GPUs do not divide by tensor x pipeline x context parallel "
                                 "size ({} x {} x {})",
                                 a.gpus, a.tp, a.pp, a.cp),
                     "--gpus", fmt::format("a multiple of {}: {} would", model, enough));
  }
  a.dp = a.gpus / model;
  if (a.num_attention_heads % a.tp != 0)
    return indivisible("attention heads", a.num_attention_heads, "--tensor-model-parallel-size",
                       a.tp);
  if (a.num_query_groups % a.tp != 0 && a.tp % a.num_query_groups != 0)
    return indivisible("query groups", a.num_query_groups, "--tensor-model-parallel-size", a.tp);
  if (a.ffn_hidden_size % a.tp != 0)
    return indivisible("rows of the MLP", a.ffn_hidden_size, "--tensor-model-parallel-size", a.tp);
  if (a.moe.num_experts > 0 && a.tp > 1 && !a.sequence_parallel)
    return bad_input("MoELayer.forward refuses tensor parallel ranks that do not share sequences",
                     "--sequence-parallel", "set it, --sp 2 or more here");
  if (a.ep > 1 && a.moe.num_experts == 0)
    return bad_input("the model has no experts", "--expert-model-parallel-size", "1");
  if (a.vpp > 1 && a.pp == 1)
    return bad_input(fmt::format("{} virtual stages on one pipeline stage", a.vpp),
                     "--num-virtual-stages-per-pipeline-rank",
                     "--pipeline-model-parallel-size 2 or more");
  if (a.moe.num_experts % a.ep != 0)
    return indivisible("experts", a.moe.num_experts, "--expert-model-parallel-size", a.ep);
  if (a.gpus % (a.etp * a.ep * a.pp) != 0)
    return indivisible("GPUs", a.gpus, "expert tensor x expert x pipeline parallel size",
                       a.etp * a.ep * a.pp);
  if (a.cp > 1 && !a.transformer_engine)
    return bad_input("Megatron's local attention knows no context parallel ranks",
                     "--context-parallel-size", "1, or Transformer Engine (--attention flash)");
  if (a.cp > 1 && a.seq_length % (2 * a.cp) != 0)
    return indivisible("tokens of a sequence", a.seq_length, "2 x --context-parallel-size",
                       2 * a.cp);
  if (a.exchanges_heads && (a.num_attention_heads / a.tp % a.cp != 0 ||
                            std::max<std::int64_t>(1, a.num_query_groups / a.tp) % a.cp != 0))
    return indivisible("query groups of a rank",
                       std::max<std::int64_t>(1, a.num_query_groups / a.tp),
                       "--context-parallel-size", a.cp);
  if (a.sequence_parallel && a.seq_length / a.cp % a.tp != 0)
    return indivisible("tokens of a sequence", a.seq_length / a.cp, "--tensor-model-parallel-size",
                       a.tp);
  return {};
}

Result<void> check_interleaving(const Arguments& a) {
  if (a.vpp <= 1 || a.pp <= 1) return {};
  const std::int64_t group = a.microbatch_group_size, rest = a.num_microbatches % group;
  if (group < a.pp || group > a.num_microbatches)
    return bad_input(fmt::format("groups of {} micro-batches, of {}, on {} pipeline stages", group,
                                 a.num_microbatches, a.pp),
                     "--microbatch-group-size-per-virtual-pipeline-stage",
                     fmt::format("{} to the number of micro-batches would do", a.pp));
  if (rest > 0 && rest < a.pp)
    return bad_input(fmt::format("the last group has {} of {} micro-batches, fewer than the {} "
                                 "pipeline stages",
                                 rest, a.num_microbatches, a.pp),
                     "--microbatch-group-size-per-virtual-pipeline-stage",
                     "a size that divides the micro-batches would do");
  return {};
}

Result<void> check_data_parallel(const LayoutRecipe& layout, const Arguments& a) {
  if (layout.dp && *layout.dp != a.dp)
    return bad_input(fmt::format("{} data ranks times {} are not the {} GPUs", *layout.dp,
                                 a.gpus / a.dp, a.gpus),
                     "--dp", fmt::format("{}", a.dp));
  const bool distributes = a.use_distributed_optimizer || a.layer_wise;
  if (layout.zero.value_or(distributes) != (distributes ? 1 : 0))
    return bad_input("Megatron-LM's optimizer is whole on each rank or distributed over them",
                     "--zero", "0, or 1 for --use-distributed-optimizer");
  return {};
}

}  // namespace memtape::megatron
