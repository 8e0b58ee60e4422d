// SPDX-License-Identifier: Apache-2.0
#include "time/train_setup.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/comma_list.h"
#include "workload/framework.h"
#include "workload/train_recipe.h"

namespace memtape::time {
namespace {

/// What Python and torch take to launch one kernel of an eager program, and of Megatron's, whose
/// modules do more around each.
constexpr double kEagerLaunch = 5e-6;

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

void read_sizes(const TrainRecipe& r, const FrameworkHabits& habits, TrainSetup& s) {
  const LayoutRecipe& l = r.layout;
  s.tp = l.tp.value_or(1);
  s.pp = l.pp.value_or(1);
  s.vpp = l.vpp.value_or(1);
  s.cp = l.cp.value_or(1);
  s.ep = l.ep.value_or(1);
  const bool follows = r.framework && r.framework->experts_follow_tensor_ranks;
  s.etp = l.etp.value_or(follows ? s.tp : 1);
  s.gpus = std::max({l.gpus, l.fewest_gpus(s.etp), std::int64_t{1}});
  s.micro_batch = r.micro_batch_size;
  s.sequence = r.sequence_length;
  s.global_batch =
      r.global_batch_size.value_or(r.micro_batch_size * r.gradient_accumulation * s.dp());
  s.schedule = schedule_named(l.schedule);
  s.sequence_parallel = l.sp.value_or(0) > 0 || habits.sequence_parallel;
}

void read_sharding(const TrainRecipe& r, const FrameworkHabits& habits, TrainSetup& s) {
  s.zero = r.layout.zero.value_or(habits.shards ? 3 : 0);
  s.parameter_bytes = r.precision == Precision::fp32 ? 4 : 2;
  const double parameter = r.parameter_dtype() == DType::float32 ? 4 : 2;
  s.gradient_bytes = habits.float32_gradients ? 4 : parameter;
  s.optimizer_bytes = optimizer_bytes(r, habits.float32_masters);
  if (r.layout.offload == "optimizer") s.offload = OptimizerOffload::optimizer;
  if (r.layout.offload == "all") s.offload = OptimizerOffload::all;
}

void read_numbers(const TrainRecipe& r, const FrameworkHabits& habits, TrainSetup& s) {
  const bool is_half = r.precision == Precision::fp16 || r.precision == Precision::amp_fp16;
  s.compute = r.precision == Precision::fp32 ? Compute::fp32
              : is_half                      ? Compute::fp16
                                             : Compute::bf16;
  s.flash_attention = r.attention != AttentionChoice::eager;
  s.flash_version = habits.flash_attention_2 ? FlashAttention::second : FlashAttention::newest;
  s.lora_rank = r.lora ? r.lora->rank : 0;
  // Seven linear modules a layer, where their names are a list.
  if (r.lora && !r.lora->targets.empty() && r.lora->targets.front() != "all-linear")
    s.adapted = std::min(1.0, static_cast<double>(r.lora->targets.size()) / 7);
  s.quantized_base = r.quantization.has_value();
  s.fused = r.compile || r.use_liger_kernel || habits.fused;
  s.host_seconds_per_op = kEagerLaunch;
  using Checkpoint = Checkpointing;
  if (r.checkpointing == Checkpoint::full || r.checkpointing == Checkpoint::full_reentrant ||
      r.checkpointing == Checkpoint::layer)
    s.recompute.kind = Recompute::Kind::full;
  if (r.checkpointing == Checkpoint::selective) s.recompute = habits.selective;
}

}  // namespace

bool Recompute::add_module(std::string_view name) {
  struct Part {
    std::string_view name;
    bool Recompute::* is_made_again;
  };
  constexpr auto kParts = std::to_array<Part>({{"core_attn", &Recompute::core_attention},
                                               {"mlp", &Recompute::mlp},
                                               {"layernorm", &Recompute::norms},
                                               {"mla_up_proj", &Recompute::mla_up},
                                               {"moe", &Recompute::moe},
                                               {"moe_act", &Recompute::moe_act},
                                               {"shared_experts", &Recompute::shared_experts}});
  const auto found = std::ranges::find(kParts, name, &Part::name);
  if (found == kParts.end()) return false;
  this->*(found->is_made_again) = true;
  return true;
}

bool Recompute::keep_product(std::string_view name) {
  if (name == "qkv") return keeps_qkv = true;
  if (name == "out") return keeps_out = true;
  return name == "mlp" && (keeps_mlp = true);
}

void Recompute::add_modules(std::string_view names) {
  for (const std::string& name : split_at_commas(names)) add_module(name);
}

double optimizer_bytes(const TrainRecipe& recipe, bool has_float32_masters) {
  const bool holds_float32 = has_float32_masters || recipe.parameter_dtype() == DType::float32;
  const double held = holds_float32 ? 4 : 2;
  const auto states = static_cast<double>(optimizer_states(recipe.optimizer));
  // Parameter, gradient and states are read, parameter and states written.
  const double bytes = held * (2 + 1 + 2 * states) + (has_float32_masters ? 2 : 0);
  // torch's foreach reads and writes lists once for each of its steps, some ten for Adam.
  const bool is_fused = recipe.optimizer_impl == OptimizerImpl::fused || has_float32_masters;
  return is_fused ? bytes : 2.5 * bytes;
}

TrainSetup train_setup(const TrainRecipe& recipe, const FrameworkHabits& habits) {
  TrainSetup setup;
  read_sizes(recipe, habits, setup);
  read_sharding(recipe, habits, setup);
  read_numbers(recipe, habits, setup);
  if (habits.read) habits.read(recipe, setup);
  return setup;
}

}  // namespace memtape::time
