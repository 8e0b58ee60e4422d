// SPDX-License-Identifier: Apache-2.0
#include "exports/megatron_bridge.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "launch/words.h"

namespace memtape::exports {
namespace {

/// An attribute of Megatron-LM's arguments, and the field that is it.
struct MegatronName {
  std::string_view attribute, field;
};

/// Fields of Megatron-Bridge's ConfigContainer; those of TransformerConfig keep their names.
constexpr auto kBridge = std::to_array<MegatronName>(
    {{"tensor_model_parallel_size", "model.tensor_model_parallel_size"},
     {"pipeline_model_parallel_size", "model.pipeline_model_parallel_size"},
     {"num_virtual_stages_per_pipeline_rank", "model.virtual_pipeline_model_parallel_size"},
     {"context_parallel_size", "model.context_parallel_size"},
     {"expert_model_parallel_size", "model.expert_model_parallel_size"},
     {"expert_tensor_parallel_size", "model.expert_tensor_parallel_size"},
     {"sequence_parallel", "model.sequence_parallel"},
     {"decoder_last_pipeline_num_layers", "model.num_layers_in_last_pipeline_stage"},
     {"account_for_embedding_in_pipeline_split", "model.account_for_embedding_in_pipeline_split"},
     {"account_for_loss_in_pipeline_split", "model.account_for_loss_in_pipeline_split"},
     {"recompute_granularity", "model.recompute_granularity"},
     {"recompute_method", "model.recompute_method"},
     {"recompute_num_layers", "model.recompute_num_layers"},
     {"recompute_modules", "model.recompute_modules"},
     {"seq_length", "model.seq_length"},
     {"micro_batch_size", "train.micro_batch_size"},
     {"use_distributed_optimizer", "ddp.use_distributed_optimizer"},
     {"overlap_grad_reduce", "ddp.overlap_grad_reduce"},
     {"overlap_param_gather", "ddp.overlap_param_gather"}});

/// "llama31_8b"; "" where there is no recipe for the model.
std::string_view recipe_of(std::string_view model) {
  for (const std::string_view ending : {"", "-Instruct", "-Base"}) {
    if (!model.ends_with(ending)) continue;
    const std::string_view base = model.substr(0, model.size() - ending.size());
    for (const launch::Word& known : data::bridge_recipes())
      if (known.ours == base) return known.theirs;
  }
  return {};
}

/// What recipes of adapters say otherwise.
std::string adapter_overrides(const BridgeAdapters& a) {
  return fmt::format(
      "peft.dim={}\npeft.alpha={}\npeft.dropout={}\npeft.target_modules=[{}]\n"
      "model.cross_entropy_loss_fusion={}\noptimizer.use_distributed_optimizer={}\n"
      "ddp.grad_reduce_in_fp32={}\n",
      a.rank, 2 * a.rank, a.dropout, fmt::join(a.modules, ","), a.fuses_loss,
      a.distributes_optimizer, a.float32_gradients);
}

}  // namespace

File bridge_overrides(const Config& c, const Training& plan) {
  std::string text;
  for (const auto& [attribute, field] : kBridge) {
    if (!c.has(attribute)) continue;
    const bool is_one_chunk =
        attribute == "num_virtual_stages_per_pipeline_rank" && c.json(attribute) == "1";
    text +=
        fmt::format("{}={}\n", field, is_one_chunk ? "null" : word_of(c, std::string(attribute)));
  }
  text += fmt::format("dataset.sequence_length={}\n", plan.recipe.sequence_length);
  if (const auto batch = said(plan.options, "global-batch-size"))
    text += fmt::format("train.global_batch_size={}\n", *batch);
  return {.name = "bridge_overrides.txt", .text = std::move(text)};
}

Result<Export> export_bridge(const Training& plan, const Facts& facts, const Config& c,
                             const BridgeAdapters& adapters) {
  const std::string_view recipe = recipe_of(plan.model);
  if (recipe.empty())
    return unsupported(
        fmt::format("Megatron-Bridge has no recipe with adapters for {}", plan.model), "--export",
        "--framework transformers or fsdp2");
  Export out;
  Script script = begin_script(facts);
  start_torchrun(script, plan, out);
  script.word_filled("${BRIDGE:-.}/scripts/training/run_recipe.py");
  script.flag("--recipe", fmt::format("{}_peft_config", recipe));
  script.flag("--peft_scheme", "lora");
  script.flag("--dataset", "llm-finetune");
  if (adapters.packs) script.flag("--packed_sequence");  // which asks for one
  script.flag("--seq_length", fmt::format("{}", plan.recipe.sequence_length));
  const std::string overrides = bridge_overrides(c, plan).text + adapter_overrides(adapters);
  for (const std::string_view line : parts_between(overrides, '\n'))
    if (!line.empty() && !line.starts_with("dataset.sequence_length"))
      script.word(std::string(line));
  out.launch = script.command();
  out.files.push_back({"run.sh", std::move(script).text(), true});
  out.assumed.emplace_back(
      "Megatron-Bridge 0.6: run.sh is started in its checkout, or BRIDGE says where that is. Rows "
      "are packed to the length of a sequence, where micro-batches have one; "
      "checkpoint.pretrained_checkpoint=FOLDER behind "
      "run.sh names the weights.");
  return out;
}

}  // namespace memtape::exports
