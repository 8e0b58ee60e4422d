// SPDX-License-Identifier: Apache-2.0
// HF Trainer's: an accelerate configuration for the processes and FSDP, TrainingArguments by their
// names, adapters and 4-bit weights as peft's and bitsandbytes' own configurations.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "exports/parts.h"
#include "exports/programs_text.h"
#include "launch/trainer_program.h"

namespace memtape::exports {
namespace {

/// memtape's options that have another name among TrainingArguments or trainer_loop.py's own.
struct TrainerName {
  std::string_view option, argument;
};
constexpr auto kRenamed = std::to_array<TrainerName>({
    {"sequence-length", "max_seq_length"},
    {"micro-batch-size", "per_device_train_batch_size"},
    {"attention", "attn_implementation"},
    {"weights", "dtype"},
    {"max-grad-norm", "max_grad_norm"},
    {"peft", "peft_config"},
    {"quantization", "quantization_config"},
});

std::string value_for(std::string_view option, const std::string& value) {
  if (option == "attention" && value == "flash") return "flash_attention_2";
  if (option != "weights") return value;
  return value == "bf16" ? "bfloat16" : value == "fp16" ? "float16" : "float32";
}

std::string_view argument_of(std::string_view option) {
  const auto renamed = std::ranges::find(kRenamed, option, &TrainerName::option);
  if (renamed != kRenamed.end()) return renamed->argument;
  const std::vector<std::string_view> fields = launch::training_fields({});
  const auto field = std::ranges::find(fields, option);
  return field != fields.end() ? *field : std::string_view();
}

bool shards_by_launcher(const Training& plan) {
  return said(plan.options, "fsdp") == "full_shard auto_wrap" && !said(plan.options, "fsdp_config");
}

std::string accelerate_yaml(const Training& plan, bool shards) {
  std::string text = fmt::format(
      "compute_environment: LOCAL_MACHINE\ndistributed_type: {}\nnum_machines: {}\n"
      "num_processes: {}\nmixed_precision: '{}'\n",
      shards          ? "FSDP"
      : plan.gpus > 1 ? "MULTI_GPU"
                      : "'NO'",
      nodes_of(plan), plan.gpus,
      said(plan.options, "bf16") == "true"   ? "bf16"
      : said(plan.options, "fp16") == "true" ? "fp16"
                                             : "no");
  if (shards)
    text +=
        "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
        "  fsdp_reshard_after_forward: true\n  fsdp_cpu_ram_efficient_loading: true\n";
  return text;
}

void start_accelerate(Script& script, const Training& plan, Export& out) {
  script.start("accelerate launch");
  script.flag_filled("--config_file", "$HERE/accelerate.yaml");
  if (nodes_of(plan) < 2) return;
  script.flag_filled("--machine_rank", "${NODE_RANK:-0}");
  script.flag_filled("--main_process_ip", "${MASTER_ADDR:-localhost}");
  script.flag_filled("--main_process_port", "${MASTER_PORT:-29500}");
  out.assumed.push_back(
      fmt::format("run.sh is started once on each of {} nodes, with NODE_RANK and MASTER_ADDR in "
                  "the environment.",
                  nodes_of(plan)));
}

/// A JSON value goes to a file of its own, which the flag names.
void add(Script& script, std::string_view option, const std::string& value, Export& out) {
  const std::string_view argument = argument_of(option);
  const std::string flag = fmt::format("--{}", argument);
  if (!value.starts_with('{')) return script.flag(flag, value_for(option, value));
  const std::string name = fmt::format("{}.json", argument);
  out.files.push_back({name, value + "\n"});
  script.flag_filled(flag, "$HERE/" + name);
}

Result<void> add_trainer_options(Script& script, const Training& plan, bool shards, Export& out) {
  constexpr auto kElsewhere =
      std::to_array<std::string_view>({"framework", "gpus", "dp", "global-batch-size", "trainer"});
  std::vector<std::string_view> done(kElsewhere.begin(), kElsewhere.end());
  for (const auto& [name, unused] : plan.options) {
    if (is_of_question(name) || std::ranges::find(done, name) != done.end()) continue;
    if (name == "fsdp" && shards) continue;
    done.push_back(name);
    if (argument_of(name).empty())
      return unsupported("trainer_loop.py, which the export is for, cannot be told that",
                         "--" + name, "leave it out, or take the options that memtape prints");
    add(script, name, *said(plan.options, name), out);
  }
  return {};
}

}  // namespace

Result<Export> export_trainer(const Training& plan, const Facts& facts) {
  if (const auto trainer = said(plan.options, "trainer"); trainer && *trainer != "trainer")
    return unsupported(fmt::format("plans of the trainer {} are not exported", *trainer),
                       "--export", "--trainer trainer");
  Export out;
  const bool shards = shards_by_launcher(plan);
  Script script = begin_script(facts);
  start_accelerate(script, plan, out);
  script.word_filled("$HERE/trainer_loop.py");
  script.flag("--model_name_or_path", plan.model);
  if (const auto added = add_trainer_options(script, plan, shards, out); !added)
    return tl::unexpected(added.error());
  script.flag("--gradient_accumulation_steps", fmt::format("{}", plan.micro_batches));
  script.flag("--output_dir", "output");
  script.flag("--max_steps", "100");
  out.launch = script.command();
  out.files.insert(out.files.begin(), {{"run.sh", std::move(script).text(), true},
                                       {"accelerate.yaml", accelerate_yaml(plan, shards)},
                                       {"trainer_loop.py", std::string(data::kTrainerLoop)}});
  out.assumed.emplace_back(
      "trainer_loop.py trains on zeros, each row full: --data FILE brings tokens. --max_steps is a "
      "placeholder.");
  return out;
}

}  // namespace memtape::exports
