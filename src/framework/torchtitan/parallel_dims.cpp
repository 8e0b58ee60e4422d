// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/parallel_dims.h"

#include <algorithm>
#include <array>
#include <string>

#include "framework/torch/strategy.h"
#include "model/type_of.h"

namespace memtape::torchtitan {
namespace {

std::string text_of(std::int64_t number) { return std::to_string(number); }

/// ParallelDims' _validate of the ranks that share experts: those of cp, with an expert tensor
/// parallel degree of one those of tp, too, and as many shards as it takes. How many shards.
Result<std::int64_t> experts_in_shards(const LayoutRecipe& layout, std::int64_t shards,
                                       JobConfig& job) {
  const std::int64_t ep = layout.ep.value_or(1), cp = layout.cp.value_or(1),
                     tp = layout.tp.value_or(1), etp = layout.etp.value_or(1);
  if (ep == 1) return 1;
  if (etp != 1 && etp != tp)
    return bad_input("an expert tensor parallel degree of " + text_of(etp), "--etp",
                     tp == 1 ? "1" : "1, or the tensor parallel degree " + text_of(tp));
  const std::int64_t taken = cp * (etp == tp ? 1 : tp);
  if (ep % taken != 0 || shards * taken % ep != 0)
    return bad_input(text_of(shards) + " data parallel shards" +
                         (taken > 1 ? " times " + text_of(taken) + " (cp, tp)" : "") +
                         " do not divide by " + text_of(ep),
                     "--ep",
                     "a divisor of the data parallel shards, times cp, times tp unless --etp");
  job.expert_parallel = ep;
  job.cuts_experts = etp > 1;
  return ep / taken;
}

}  // namespace

Result<void> lay_out(const Config& model, const TrainRecipe& recipe, std::int64_t replicas,
                     JobConfig& job) {
  const LayoutRecipe& layout = recipe.layout;
  if (const auto fine = torch::check_axes(layout, {"dp", "tp", "cp", "pp", "ep", "etp"}); !fine)
    return fine;
  const std::int64_t cp = layout.cp.value_or(1), tp = layout.tp.value_or(1),
                     pp = layout.pp.value_or(1);
  const auto given =
      layout.dp ? std::optional(*layout.dp / std::max<std::int64_t>(1, replicas)) : std::nullopt;
  const auto shards = torch::remaining_axis(layout, "dp", given, replicas * cp * tp * pp);
  if (!shards) return tl::unexpected(shards.error());
  const auto in_ep = experts_in_shards(layout, *shards, job);
  if (!in_ep) return tl::unexpected(in_ep.error());
  job.layout = Layout({{"pp", pp},
                       {"replicate", replicas},
                       {"dp_shard", *shards / *in_ep},
                       {"ep", *in_ep},
                       {"cp", cp},
                       {"tp", tp}});
  job.fsdp2.mesh =
      Layout({{"pp", pp}, {"replicate", replicas}, {"shard", *shards * cp}, {"tp", tp}});
  // deepseek_v3's models are sharded among one rank, too, where ranks share experts.
  const bool is_qwen3 = type_of(model).starts_with("qwen3");
  job.shards = *shards * cp > 1 || (job.expert_parallel > 1 && !is_qwen3);
  if (job.replicates() && tp * pp > 1)
    return bad_input("torchtitan's DDP goes with no other parallelism",
                     "--strategy: data_parallel_replicate_degree",
                     "a shard degree of more than 1 beside --tp and --pp");
  if (cp > 1 && is_qwen3)
    return bad_input("torchtitan's qwen3 has no freqs_cis to cut", "--cp", "1");
  if (cp > 1 && job.has(changes::kTitanGroupsHeads))
    return unsupported("context parallelism by looked up positions is not modelled", "--cp",
                       "a version before 2026-02-20");
  return {};
}

Result<void> check_divides(const Config& model, const TrainRecipe& recipe, const JobConfig& job) {
  const std::int64_t tp = job.size("tp"), cp = job.size("cp");
  const std::int64_t heads = model.dimension("num_attention_heads", 32);
  struct Divided {
    const char* what;
    std::int64_t number;
  };
  const std::array<Divided, 3> by_tp{
      {{"num_attention_heads", heads},
       {"num_key_value_heads", model.optional_dimension("num_key_value_heads").value_or(heads)},
       {"intermediate_size", model.dimension("intermediate_size", 11008)}}};
  for (const Divided& one : by_tp)
    if (one.number % tp != 0)
      return bad_input(text_of(one.number) + " do not divide by " + text_of(tp) + " GPUs", one.what,
                       "a multiple of the tensor parallel degree");
  const std::int64_t pieces = tp * (cp > 1 ? 2 * cp : 1);
  if (recipe.sequence_length % pieces != 0)
    return bad_input(text_of(recipe.sequence_length) + " tokens do not divide by " +
                         text_of(pieces) + " (tp" + (cp > 1 ? " x 2 cp)" : ")"),
                     "--sequence-length", "seq_len % (tp * 2 * cp) must be 0");
  return {};
}

}  // namespace memtape::torchtitan
