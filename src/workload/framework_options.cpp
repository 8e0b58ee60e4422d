// SPDX-License-Identifier: Apache-2.0
#include "workload/framework_options.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/letter_case.h"
#include "workload/train_options.h"

namespace memtape {
namespace {

tl::unexpected<Error> has_none(Framework framework, std::string_view what, std::string_view option,
                               std::string hint) {
  return bad_input("--framework " + std::string(name(framework)) + " has no " + std::string(what),
                   "--" + std::string(option), std::move(hint));
}

/// Megatron-LM's follows from the layout (get_forward_backward_func, core/pipeline_parallel).
Result<void> check_megatron_schedule(const LayoutRecipe& layout) {
  const bool interleaves = layout.vpp.value_or(1) > 1;
  const std::string said = lower_case(layout.schedule);
  if (interleaves ? said == "interleaved1f1b" || said == "interleaved" : said == "1f1b") return {};
  return bad_input("unknown schedule \"" + layout.schedule + "\"", "--schedule",
                   interleaves ? "Interleaved1F1B with --vpp" : "1F1B; Interleaved1F1B with --vpp");
}

Result<void> check_schedule(Framework framework, const LayoutRecipe& layout) {
  if (layout.schedule.empty() || framework == Framework::torch_pp) return {};
  if (framework == Framework::megatron_core) return check_megatron_schedule(layout);
  if (framework == Framework::torch) return {};  // refused with all else that needs several GPUs
  return has_none(framework, "pipeline schedule", "schedule",
                  "--framework torch-pp or megatron-core");
}

Result<void> check_offload(Framework framework, const std::string& offload) {
  if (offload.empty() || offload == "none" || framework == Framework::deepspeed) return {};
  const bool shards = framework == Framework::fsdp1 || framework == Framework::fsdp2;
  if (shards && offload == "all") return {};
  if (shards)
    return bad_input("FSDP's CPUOffload takes parameters, gradients and optimizer together",
                     "--offload", "all");
  if (framework == Framework::transformers)
    return has_none(framework, "offloading of that name", "offload",
                    "--fsdp \"full_shard offload\", or --deepspeed with offload_optimizer");
  return has_none(framework, "offloading that is modelled", "offload",
                  "--framework deepspeed, fsdp1 or fsdp2");
}

Result<void> check_strategy(Framework framework, const std::string& strategy) {
  const bool none = strategy.find_first_not_of(" \t\r\n{}") == std::string::npos;
  if (none) return {};
  if (framework == Framework::transformers)
    return has_none(framework, "options of its own beside TrainingArguments", "strategy",
                    "--fsdp, --fsdp_config, --deepspeed or --ddp_bucket_cap_mb");
  if (framework == Framework::litgpt)
    return has_none(framework, "strategy that is modelled", "strategy", "leave it out");
  return {};
}

/// Wrappers that take a model from wherever it was made; Trainer's FSDP is given what
/// from_pretrained made, DeepSpeed moves data.
Result<void> check_init_device(const TrainRecipe& recipe) {
  if (!recipe.init_device) return {};
  switch (recipe.framework) {
    case Framework::torch:
    case Framework::ddp:
    case Framework::fsdp1:
    case Framework::fsdp2: return {};
    case Framework::torch_tp:
      if (*recipe.init_device != InitDevice::cpu) return {};
      return has_none(recipe.framework, "such way to make its model that is modelled",
                      "init-device", "cuda or meta");
    case Framework::deepspeed:
    case Framework::transformers: {
      const bool takes_it = recipe.framework == Framework::deepspeed ||
                            (recipe.trainer.fsdp && recipe.layout.gpus > 1);
      if (takes_it && *recipe.init_device != InitDevice::meta) return {};
      return has_none(recipe.framework, "such way to make its model", "init-device",
                      takes_it ? "cuda or cpu" : "leave it out, or --fsdp full_shard");
    }
    default:
      return has_none(recipe.framework, "choice of where its model is made", "init-device",
                      "leave it out");
  }
}

/// Whose training scripts are not the user's own.
bool freezes_by_name(Framework framework) {
  return framework != Framework::megatron_core && framework != Framework::torchtitan &&
         framework != Framework::litgpt;
}

/// An option that would change nothing in a framework's program.
struct Absent {
  Framework framework;
  std::string_view option, what;
};
constexpr auto kAbsent = std::to_array<Absent>({
    {Framework::megatron_core, "lora-rank", "adapters that are modelled"},
    {Framework::megatron_core, "lora-targets", "adapters that are modelled"},
    {Framework::megatron_core, "lora-dropout", "adapters that are modelled"},
    {Framework::megatron_core, "train-last-layers", "layers that are not trained"},
    {Framework::megatron_core, "upcast-trained", "layers that are not trained"},
    {Framework::torchtitan, "train-last-layers", "layers that are not trained"},
    {Framework::torchtitan, "upcast-trained", "layers that are not trained"},
    {Framework::torchtitan, "precision", "precision of that name (training.dtype, --weights here)"},
    {Framework::litgpt, "train-last-layers", "layers that are not trained"},
    {Framework::litgpt, "upcast-trained", "layers that are not trained"},
    {Framework::torch_pp, "train-last-layers", "layers that are not trained"},
    {Framework::torch_pp, "upcast-trained", "layers that are not trained"},
});

Result<void> check_absent(std::span<const NamedValue> options, Framework framework) {
  for (const Absent& absent : kAbsent)
    if (absent.framework == framework &&
        std::ranges::find(options, absent.option, &NamedValue::first) != options.end())
      return has_none(framework, absent.what, absent.option, "leave it out");
  return {};
}

/// Megatron-LM without Transformer Engine runs its local layers, whose attention is unfused, and
/// torch.optim.AdamW; with it, FusedAdam (core/optimizer/__init__.py).
Result<void> check_megatron(std::span<const NamedValue> options, const TrainRecipe& recipe) {
  if (std::ranges::find(options, NamedValue{"attention", "sdpa"}) != options.end())
    return bad_input("Megatron-LM's attention is another", "--attention", "flash or unfused");
  if (recipe.optimizer != OptimizerName::adam && recipe.optimizer != OptimizerName::adamw)
    return has_none(recipe.framework, "such optimizer in a model of transformers", "optimizer",
                    "adam; a launch command's --optimizer is read");
  const OptimizerImpl only =
      recipe.attention == AttentionChoice::eager ? OptimizerImpl::foreach : OptimizerImpl::fused;
  if (recipe.names_optimizer_impl && recipe.optimizer_impl != only)
    return bad_input("Transformer Engine is there with flash attention, and brings FusedAdam",
                     "--optimizer-impl", "fused with --attention flash, torch with unfused");
  return {};
}

/// litgpt calls scaled_dot_product_attention, whose kernel torch chooses.
Result<void> check_litgpt(const TrainRecipe& recipe) {
  if (recipe.attention == AttentionChoice::sdpa) return {};
  return has_none(recipe.framework, "attention but torch's", "attention", "sdpa");
}

}  // namespace

Result<void> check_framework_options(std::span<const NamedValue> options,
                                     const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  if (const auto fine = check_absent(options, recipe.framework); !fine) return fine;
  if (recipe.framework == Framework::megatron_core)
    if (const auto fine = check_megatron(options, recipe); !fine) return fine;
  if (recipe.framework == Framework::litgpt)
    if (const auto fine = check_litgpt(recipe); !fine) return fine;
  if (const auto fine = check_schedule(recipe.framework, layout); !fine) return fine;
  if (const auto fine = check_offload(recipe.framework, layout.offload); !fine) return fine;
  if (const auto fine = check_init_device(recipe); !fine) return fine;
  if (!recipe.freeze.empty() && !freezes_by_name(recipe.framework))
    return has_none(recipe.framework, "parameters frozen by name", "freeze", "leave it out");
  return check_strategy(recipe.framework, layout.strategy);
}

}  // namespace memtape
