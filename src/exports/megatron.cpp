// SPDX-License-Identifier: Apache-2.0
// pretrain_gpt.py's arguments, from the table that src/launch reads them by
// (data/megatron_arguments.txt), and the same as overrides of a recipe of Megatron-Bridge.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "exports/megatron_bridge.h"
#include "exports/parts.h"
#include "framework/megatron/arguments.h"
#include "framework/megatron/transformers_model.h"
#include "launch/flag_tables.h"

namespace memtape::exports {
namespace {

const Flag* argument(std::string_view attribute, auto&& fits) {
  for (const Flag& row : data::megatron_arguments())
    if (row.meaning == attribute && fits(row)) return &row;
  return nullptr;
}

/// An attribute as the flag that sets it; false where none does.
bool add_flag(Script& script, const Config& c, const std::string& key) {
  const std::string json = c.json(key);
  if (json == "true" || json == "false") {
    const auto switch_to = [&](std::string_view value) {
      return argument(key,
                      [&](const Flag& a) { return a.arity == Arity::none && a.value == value; });
    };
    const Flag* row = switch_to(json);
    if (row) script.flag(row->name);
    // What can only be switched to the other value has this one by itself.
    return row || switch_to(json == "true" ? "false" : "true");
  }
  const auto* row = argument(key, [](const Flag& a) { return a.arity != Arity::none; });
  if (!row) return false;
  if (!json.starts_with('[')) {
    script.flag(row->name, word_of(c, key));
    return true;
  }
  script.flag(row->name);
  for (const std::string& word : c.texts(key)) script.word(word);
  return true;
}

/// What is said otherwise, or by saying nothing: a group of queries a head is no grouping (which
/// latent attention refuses), one virtual stage is none.
bool is_left_out(std::string_view key, const megatron::Arguments& a) {
  if (key == "model_type" || key == "vocab_size") return true;
  if (key == "num_virtual_stages_per_pipeline_rank") return a.vpp == 1;
  const bool groups = key == "group_query_attention" || key == "num_query_groups";
  return groups && a.num_query_groups == a.num_attention_heads;
}

/// Numbers of the model that memory does not hang on.
void add_shape(Script& script, const Training& plan) {
  const Config& c = *plan.config;
  const double eps = c.number({"rms_norm_eps", "layer_norm_epsilon"}, 1e-5);
  script.flag("--norm-epsilon", fmt::format("{}", eps));
  if (c.has("rope_theta"))
    script.flag("--rotary-base", fmt::format("{:.0f}", c.number("rope_theta", 1e4)));
  const Config scaling = c.object("rope_scaling");
  if (scaling.text("rope_type", "") == "llama3") {
    script.flag("--use-rope-scaling");
    script.flag("--rope-scaling-factor", fmt::format("{}", scaling.number("factor", 8.0)));
  }
}

void add_run(Script& script, const Training& plan, Export& out) {
  script.flag("--tokenizer-type", "HuggingFaceTokenizer");
  script.flag("--tokenizer-model", plan.model);
  script.flag("--mock-data");
  script.flag("--train-iters", "100");
  script.flag("--lr", "1e-4");
  out.assumed.emplace_back(
      "--mock-data stands for a data set: --data-path NAME behind run.sh (and --split) in its "
      "place; --lr and --train-iters are placeholders.");
  out.assumed.emplace_back(
      "pretrain_gpt.py is Megatron-LM's: run.sh is started in its folder, or MEGATRON says where "
      "that is.");
}

Result<Export> with_adapters(const Training& plan, const Facts& facts, const Config& c,
                             const megatron::Arguments& a) {
  if (a.low_bits)
    return unsupported("recipes with adapters have products in 16 bits", "--precision", "bf16");
  return export_bridge(plan, facts, c,
                       {.rank = a.lora->rank,
                        .dropout = a.lora->dropout,
                        .modules = a.lora->modules,
                        .fuses_loss = a.cross_entropy_loss_fusion,
                        .distributes_optimizer = a.use_distributed_optimizer,
                        .float32_gradients = a.grad_reduce_in_fp32,
                        .packs = a.micro_batch_size == 1});
}

}  // namespace

Result<Export> export_megatron(const Training& plan, const Facts& facts) {
  const Result<Config> c = megatron::megatron_configuration(*plan.config, plan.recipe);
  if (!c) return tl::unexpected(c.error());
  const auto arguments = megatron::read_arguments(*plan.config, plan.recipe);
  if (!arguments) return tl::unexpected(arguments.error());
  if (!arguments->pretrain_loop)
    return unsupported("is a loop of one's own, which no program of Megatron-LM is",
                       "--attention unfused", "leave it out: pretrain_gpt.py");
  if (arguments->lora) return with_adapters(plan, facts, *c, *arguments);
  Export out;
  Script script = begin_script(facts);
  script.comment("Before Blackwell: messages and products in the order in which they are queued.");
  script.set_variable("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  start_torchrun(script, plan, out);
  script.word_filled("${MEGATRON:-.}/pretrain_gpt.py");
  for (const std::string& key : c->keys()) {
    if (is_left_out(key, *arguments)) continue;
    if (!add_flag(script, *c, key))
      return unsupported(
          fmt::format("Megatron-LM has no argument that makes {} {}", key, c->json(key)),
          "--export", "the option that asks for it, left out");
  }
  // A tokenizer may know fewer words than the model has rows for.
  script.flag("--padded-vocab-size", fmt::format("{}", arguments->padded_vocab_size));
  if (const auto batch = said(plan.options, "global-batch-size"))
    script.flag("--global-batch-size", *batch);
  add_shape(script, plan);
  add_run(script, plan, out);
  out.launch = script.command();
  out.files.push_back({"run.sh", std::move(script).text(), true});
  out.files.push_back(bridge_overrides(*c, plan));
  out.assumed.emplace_back(
      "Transformer Engine is there. bridge_overrides.txt are the same sizes as words behind a "
      "recipe of Megatron-Bridge.");
  return out;
}

}  // namespace memtape::exports
