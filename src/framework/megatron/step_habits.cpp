// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/step_habits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "workload/train_recipe.h"

namespace memtape::megatron {
namespace {

void read_recomputation(const Config& c, time::TrainSetup& s) {
  const std::string granularity =
      c.boolean("recompute_activations", false) ? "selective" : c.text("recompute_granularity", "");
  if (granularity == "full") s.recompute.kind = time::Recompute::Kind::full;
  if (granularity == "full" && c.text("recompute_method", "uniform") == "block")
    s.recompute.layers = c.count("recompute_num_layers", 1);
  if (granularity != "selective") return;
  s.recompute = {.kind = time::Recompute::Kind::selective};
  const std::vector<std::string> modules = c.texts("recompute_modules");
  const auto has = [&](std::string_view module) {
    return std::find(modules.begin(), modules.end(), module) != modules.end();
  };
  s.recompute.core_attention = modules.empty() || has("core_attn");
  s.recompute.mlp = has("mlp");
  s.recompute.norms = has("layernorm");
  s.recompute.mla_up = has("mla_up_proj");
  s.recompute.moe = has("moe");
  s.recompute.moe_act = has("moe_act");
  s.recompute.shared_experts = has("shared_experts");
}

}  // namespace

void read_time(const TrainRecipe& recipe, const Config& c, time::TrainSetup& s) {
  using time::Compute;
  if (recipe.eight_bits && !c.has("fp8"))
    s.compute = recipe.eight_bits == EightBits::mxfp8 ? Compute::mxfp8 : Compute::fp8;
  if (c.has("sequence_parallel")) s.sequence_parallel = c.boolean("sequence_parallel", false);
  s.zero = c.boolean("use_distributed_optimizer", s.zero > 0) ? std::max<std::int64_t>(s.zero, 1)
                                                              : s.zero;
  const Config ddp = c.object("ddp");
  const auto overlaps = [&](const char* name) { return c.boolean(name, ddp.boolean(name, false)); };
  s.overlaps_gradients = overlaps("overlap_grad_reduce");
  s.overlaps_parameters = overlaps("overlap_param_gather");
  s.overlaps_tensor = c.boolean("tp_comm_overlap", false);
  s.overlaps_experts = c.boolean("overlap_moe_expert_parallel_comm", false);
  s.fast_dispatch =
      c.boolean("moe_enable_deepep", false) || c.text("moe_token_dispatcher_type", "") == "flex";
  if (c.boolean("grad_reduce_in_bf16", false)) s.gradient_bytes = 2;
  if (!c.text("fp8", "").empty())
    s.compute = c.text("fp8_recipe", "delayed") == "mxfp8" ? Compute::mxfp8 : Compute::fp8;
  if (!c.text("fp4", "").empty()) s.compute = Compute::nvfp4;
  s.cuda_graphs = c.boolean("enable_cuda_graph", false) || c.has("cuda_graph_impl");
  read_recomputation(c, s);
}

}  // namespace memtape::megatron
