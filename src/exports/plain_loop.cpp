// SPDX-License-Identifier: Apache-2.0
// data/export/plain_loop.py with memtape's own options, by the table that src/launch reads them by;
// DeepSpeed's as the ds_config.json that it takes.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "exports/parts.h"
#include "exports/programs_text.h"
#include "framework/dialects.h"
#include "launch/flag_tables.h"

namespace memtape::exports {
namespace {

const Flag* flag_of(std::string_view option) {
  for (const Flag& flag : data::plain_loop_flags().flags)
    if (flag.meaning == option) return &flag;
  return nullptr;
}

tl::unexpected<Error> cannot_say(const std::string& option) {
  return unsupported("plain_loop.py, which the export is for, cannot be told that", "--" + option,
                     "leave it out, or take the options that memtape prints");
}

/// What --zero, --offload and --precision mean, by DeepSpeed's names; "" where the asker brought a
/// ds_config.
std::string ds_config(const Training& plan) {
  if (const auto strategy = said(plan.options, "strategy")) return *strategy;
  const std::string offload = said(plan.options, "offload").value_or("none");
  const std::string precision = said(plan.options, "precision").value_or("bf16");
  std::string zero = fmt::format("\"stage\": {}", said(plan.options, "zero").value_or("0"));
  if (offload != "none") zero += ", \"offload_optimizer\": {\"device\": \"cpu\"}";
  if (offload == "all") zero += ", \"offload_param\": {\"device\": \"cpu\"}";
  std::string numbers;
  if (precision == "bf16" || precision == "fp16")
    numbers = fmt::format(",\n  \"{}\": {{\"enabled\": true}}", precision);
  const std::string norm = said(plan.options, "max-grad-norm").value_or("1");
  return fmt::format(
      "{{\n  \"train_micro_batch_size_per_gpu\": {},\n"
      "  \"gradient_accumulation_steps\": {},\n  \"gradient_clipping\": {},\n"
      "  \"zero_optimization\": {{{}}}{}\n}}\n",
      plan.recipe.micro_batch_size, plan.micro_batches, norm == "none" ? "0.0" : norm, zero,
      numbers);
}

/// Options that ds_config.json holds.
bool is_of_deepspeed(std::string_view option) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"zero", "offload", "strategy", "max-grad-norm", "global-batch-size"});
  return std::ranges::find(kNames, option) != kNames.end();
}

Result<void> add_loop_options(Script& script, const Training& plan, bool has_ds_config) {
  std::vector<std::string> done;
  for (const auto& [name, value] : plan.options) {
    if (is_of_question(name) || name == "gpus" || name == "dp") continue;
    if (has_ds_config && is_of_deepspeed(name)) continue;
    if (name != "freeze" && std::ranges::find(done, name) != done.end()) continue;
    done.push_back(name);
    const Flag* flag = flag_of(name);
    if (!flag) return cannot_say(name);
    const std::string last = name == "freeze" ? value : *said(plan.options, name);
    if (name == "strategy")
      script.flag_filled(flag->name, "$HERE/strategy.json");
    else if (flag->arity == Arity::none)
      script.flag(flag->name);
    else
      script.flag(flag->name, last);
  }
  return {};
}

}  // namespace

Result<Export> export_plain_loop(const Training& plan, const Facts& facts) {
  const Dialect& dialect = dialect_of(plan.recipe);
  const bool has_ds_config = dialect.sharing.has_zero_stages;
  Export out;
  Script script = begin_script(facts);
  if (plan.gpus > 1 || dialect.framework.takes.several_gpus)
    start_torchrun(script, plan, out);
  else
    script.start("python3");
  script.word_filled("$HERE/plain_loop.py");
  script.flag("--model", plan.model);
  if (const auto added = add_loop_options(script, plan, has_ds_config); !added)
    return tl::unexpected(added.error());
  if (has_ds_config) script.flag_filled("--strategy", "$HERE/ds_config.json");
  out.launch = script.command();
  out.files.push_back({"run.sh", std::move(script).text(), true});
  out.files.push_back({"plain_loop.py", std::string(data::kPlainLoop)});
  if (has_ds_config)
    out.files.push_back({"ds_config.json", ds_config(plan)});
  else if (const auto strategy = said(plan.options, "strategy"))
    out.files.push_back({"strategy.json", *strategy + "\n"});
  out.assumed.emplace_back(
      "plain_loop.py makes the model with random weights and trains on zeros: --data FILE brings "
      "tokens, and a checkpoint is loaded where initialize() draws numbers.");
  return out;
}

}  // namespace memtape::exports
