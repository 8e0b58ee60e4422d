// SPDX-License-Identifier: Apache-2.0
#include "time/train_setup.h"

#include <algorithm>
#include <string>

namespace memtape::time {
namespace {

/// What Python and torch take to launch one kernel of an eager program, and of Megatron's, whose
/// modules do more around each.
constexpr double kEagerLaunch = 5e-6;

bool is_sharded(Framework framework) {
  return framework == Framework::fsdp1 || framework == Framework::fsdp2 ||
         framework == Framework::torchtitan;
}

std::int64_t optimizer_states(OptimizerName optimizer) {
  switch (optimizer) {
    case OptimizerName::sgd:
    case OptimizerName::adafactor:
    case OptimizerName::adafactor_hf: return 0;
    case OptimizerName::sgd_momentum:
    case OptimizerName::adagrad:
    case OptimizerName::rmsprop: return 1;
    default: return 2;
  }
}

PipelineSchedule schedule_named(const std::string& name) {
  if (name == "GPipe" || name == "gpipe") return PipelineSchedule::gpipe;
  if (name == "LoopedBFS") return PipelineSchedule::looped_bfs;
  if (name == "InterleavedZeroBubble") return PipelineSchedule::zero_bubble;
  if (name == "ZBVZeroBubble") return PipelineSchedule::zbv;
  if (name == "DualPipeV") return PipelineSchedule::dual_pipe_v;
  return PipelineSchedule::one_f_one_b;
}

void read_sizes(const TrainRecipe& r, TrainSetup& s) {
  const LayoutRecipe& l = r.layout;
  s.tp = l.tp.value_or(1);
  s.pp = l.pp.value_or(1);
  s.vpp = l.vpp.value_or(1);
  s.cp = l.cp.value_or(1);
  s.ep = l.ep.value_or(1);
  s.etp = l.etp.value_or(r.framework == Framework::megatron_core ? s.tp : 1);
  s.gpus = std::max({l.gpus, l.fewest_gpus(s.etp), std::int64_t{1}});
  s.micro_batch = r.micro_batch_size;
  s.sequence = r.sequence_length;
  s.global_batch =
      r.global_batch_size.value_or(r.micro_batch_size * r.gradient_accumulation * s.dp());
  s.schedule = schedule_named(l.schedule);
  s.sequence_parallel = l.sp.value_or(0) > 0 || r.framework == Framework::torchtitan;
}

void read_sharding(const TrainRecipe& r, TrainSetup& s) {
  s.zero = r.layout.zero.value_or(is_sharded(r.framework) ? 3 : 0);
  if (r.trainer.fsdp) s.zero = 3;
  s.parameter_bytes = is_sharded(r.framework) || r.autocasts() ? 2 : 2;
  if (r.precision == Precision::fp32) s.parameter_bytes = 4;
  const double parameter = r.parameter_dtype() == DType::float32 ? 4 : 2;
  s.gradient_bytes = r.framework == Framework::megatron_core ? 4 : parameter;
  if (s.zero >= 3 && r.framework != Framework::deepspeed)
    s.gradient_bytes =
        r.framework == Framework::fsdp2 || r.framework == Framework::torchtitan ? 4 : parameter;
  const auto states = static_cast<double>(optimizer_states(r.optimizer));
  // Parameter, gradient and states are read, parameter and states written.
  const bool has_masters =
      r.framework == Framework::megatron_core || r.framework == Framework::deepspeed;
  const double held = has_masters ? 4 : parameter;
  s.optimizer_bytes = held * (2 + 1 + 2 * states) + (has_masters ? 2 : 0);
  // torch's foreach reads and writes lists once for each of its steps, some ten for Adam.
  if (r.optimizer_impl != OptimizerImpl::fused && !has_masters) s.optimizer_bytes *= 2.5;
  if (r.layout.offload == "optimizer") s.offload = OptimizerOffload::optimizer;
  if (r.layout.offload == "all") s.offload = OptimizerOffload::all;
}

void read_numbers(const TrainRecipe& r, TrainSetup& s) {
  const bool is_half = r.precision == Precision::fp16 || r.precision == Precision::amp_fp16;
  s.compute = r.precision == Precision::fp32 ? Compute::fp32
              : is_half                      ? Compute::fp16
                                             : Compute::bf16;
  s.flash_attention = r.attention != AttentionChoice::eager;
  s.flash_attention_2 = r.framework != Framework::megatron_core;
  s.lora_rank = r.lora ? r.lora->rank : 0;
  // Seven linear modules a layer, where their names are a list.
  if (r.lora && !r.lora->targets.empty() && r.lora->targets.front() != "all-linear")
    s.adapted = std::min(1.0, static_cast<double>(r.lora->targets.size()) / 7);
  s.quantized_base = r.quantization.has_value();
  s.fused = r.compile || r.trainer.use_liger_kernel || r.framework == Framework::megatron_core ||
            r.framework == Framework::torchtitan;
  s.host_seconds_per_op = kEagerLaunch;
  using Checkpoint = Checkpointing;
  if (r.checkpointing == Checkpoint::full || r.checkpointing == Checkpoint::full_reentrant ||
      r.checkpointing == Checkpoint::layer)
    s.recompute.kind = Recompute::Kind::full;
  if (r.checkpointing == Checkpoint::selective) {
    s.recompute.kind = Recompute::Kind::selective;
    // torchtitan's: every second product is kept.
    s.recompute.mlp = r.framework == Framework::torchtitan;
    s.recompute.core_attention = r.framework == Framework::megatron_core;
  }
}

void read_recomputation(const Config& c, TrainSetup& s) {
  const std::string granularity =
      c.boolean("recompute_activations", false) ? "selective" : c.text("recompute_granularity", "");
  if (granularity == "full") s.recompute.kind = Recompute::Kind::full;
  if (granularity == "full" && c.text("recompute_method", "uniform") == "block")
    s.recompute.layers = c.count("recompute_num_layers", 1);
  if (granularity != "selective") return;
  s.recompute = {.kind = Recompute::Kind::selective};
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

/// Megatron's own arguments, where the strategy has them.
void read_megatron(const Config& c, TrainSetup& s) {
  if (c.has("sequence_parallel")) s.sequence_parallel = c.boolean("sequence_parallel", false);
  s.zero = c.boolean("use_distributed_optimizer", s.zero > 0) ? std::max<std::int64_t>(s.zero, 1)
                                                              : s.zero;
  s.overlaps_gradients = c.boolean("overlap_grad_reduce", false);
  s.overlaps_parameters = c.boolean("overlap_param_gather", false);
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

}  // namespace

Result<TrainSetup> train_setup(const TrainRecipe& recipe, const Config& config) {
  (void)config;
  TrainSetup s;
  read_sizes(recipe, s);
  read_sharding(recipe, s);
  read_numbers(recipe, s);
  if (recipe.layout.strategy.empty()) return s;
  const Result<Config> strategy = Config::parse(recipe.layout.strategy, "--strategy");
  if (!strategy) return tl::unexpected(strategy.error());
  if (recipe.framework == Framework::megatron_core) read_megatron(*strategy, s);
  if (strategy->has("reshard_after_forward"))
    s.reshard_after_forward = strategy->json("reshard_after_forward") != "false";
  return s;
}

}  // namespace memtape::time
