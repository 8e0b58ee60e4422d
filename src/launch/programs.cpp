// SPDX-License-Identifier: Apache-2.0
#include "launch/programs.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/edit_distance.h"
#include "base/text.h"
#include "launch/unmodelled_scripts.h"

namespace memtape::launch {
namespace {

constexpr auto kPrograms = std::to_array<Program>({
    {"pretrain_gpt.py", "", translate_megatron},
    {"pretrain_bert.py", "", translate_megatron},
    {"pretrain_hybrid.py", "", translate_megatron},
    {"pretrain_mamba.py", "", translate_megatron},
    {"pretrain_t5.py", "", translate_megatron},
    {"vllm", "serve", translate_vllm},
    {"vllm.entrypoints.openai.api_server", "", translate_vllm},
    {"vllm.entrypoints.api_server", "", translate_vllm},
    {"sglang", "serve", translate_sglang},
    {"sglang.launch_server", "", translate_sglang},
    {"llama-server", "", translate_llama_server},
    {"llama-cli", "", translate_llama_cli},
    {"llama-completion", "", translate_llama_cli},
    {"llama-bench", "", translate_llama_bench},
    {"run_clm.py", "", translate_run_clm},
    {"run_glue.py", "", translate_example},
    {"run_classification.py", "", translate_example},
    {"run_xnli.py", "", translate_example},
    {"run_ner.py", "", translate_example},
    {"run_qa.py", "", translate_example},
    {"run_swag.py", "", translate_example},
    {"run_translation.py", "", translate_example},
    {"run_summarization.py", "", translate_example},
    {"run_seq2seq_qa.py", "", translate_example},
    {"run_clm_no_trainer.py", "", translate_no_trainer_example},
    {"run_mlm_no_trainer.py", "", translate_no_trainer_example},
    {"run_glue_no_trainer.py", "", translate_no_trainer_example},
    {"run_ner_no_trainer.py", "", translate_no_trainer_example},
    {"run_qa_no_trainer.py", "", translate_no_trainer_example},
    {"run_swag_no_trainer.py", "", translate_no_trainer_example},
    {"run_summarization_no_trainer.py", "", translate_no_trainer_example},
    {"run_translation_no_trainer.py", "", translate_no_trainer_example},
    {"trl", "sft", translate_trl<transformers::kSft>},
    {"sft.py", "", translate_trl<transformers::kSft>},
    {"trl.scripts.sft", "", translate_trl<transformers::kSft>},
    {"trl", "dpo", translate_trl<transformers::kDpo>},
    {"dpo.py", "", translate_trl<transformers::kDpo>},
    {"trl.scripts.dpo", "", translate_trl<transformers::kDpo>},
    {"trl", "reward", translate_trl<transformers::kReward>},
    {"reward.py", "", translate_trl<transformers::kReward>},
    {"reward_modeling.py", "", translate_trl<transformers::kReward>},
    {"trl.scripts.reward", "", translate_trl<transformers::kReward>},
    {"trl", "grpo", translate_trl<transformers::kGrpo>},
    {"grpo.py", "", translate_trl<transformers::kGrpo>},
    {"trl.scripts.grpo", "", translate_trl<transformers::kGrpo>},
    {"gspo.py", "", translate_trl<transformers::kGrpo>},
    {"trl", "rloo", translate_trl<transformers::kRloo>},
    {"rloo.py", "", translate_trl<transformers::kRloo>},
    {"trl.scripts.rloo", "", translate_trl<transformers::kRloo>},
    {"trl", "kto", translate_trl<transformers::kKto>},
    {"kto.py", "", translate_trl<transformers::kKto>},
    {"trl.scripts.kto", "", translate_trl<transformers::kKto>},
    {"cpo.py", "", translate_trl<transformers::kCpo>},
    {"orpo.py", "", translate_trl<transformers::kOrpo>},
    {"llamafactory-cli", "train", translate_llama_factory},
    {"lmf", "train", translate_llama_factory},
    {"axolotl", "train", translate_axolotl},
    {"axolotl.cli.train", "", translate_axolotl},
    {"tune", "run", translate_tune_run},
    {"litgpt", "finetune", translate_litgpt_lora},
    {"litgpt", "finetune_lora", translate_litgpt_lora},
    {"litgpt", "finetune_full", translate_litgpt_full},
    {"torchtitan.train", "", translate_torchtitan},
    {"run_train.sh", "", translate_torchtitan},
    {"run_llama_train.sh", "", translate_torchtitan},
    {"plain_loop.py", "", translate_plain_loop},
    {"trainer_loop.py", "", translate_trainer_script},
});

std::string spelled(const Program& program) {
  return program.verb.empty() ? std::string(program.name)
                              : fmt::format("{} {}", program.name, program.verb);
}

bool matches(const Program& program, const LaunchCommand& command) {
  return program.name == command.program &&
         (program.verb.empty() ||
          (!command.arguments.empty() && command.arguments.front() == program.verb));
}

/// What else a known command may be told to do.
std::vector<std::string_view> verbs_of(std::string_view name) {
  std::vector<std::string_view> verbs;
  for (const Program& program : kPrograms)
    if (program.name == name && !program.verb.empty()) verbs.push_back(program.verb);
  return verbs;
}

/// A letter or two beside the name of a script that is known; short names are near to everything.
bool is_misspelt_script(std::string_view script) {
  constexpr std::size_t kShort = 8, kNear = 2;
  return script.size() > kShort && std::ranges::any_of(kPrograms, [&](const Program& program) {
           return edit_distance(program.name, script) <= kNear;
         });
}

tl::unexpected<Error> unknown_program(const LaunchCommand& command,
                                      std::span<const std::string> words) {
  if (const auto verbs = verbs_of(command.program); !verbs.empty()) {
    const std::string verb = command.arguments.empty() ? "" : command.arguments.front();
    if (verb.empty() || verb.starts_with('-'))
      return bad_input("not said what to do", command.program, suggestion(verb, verbs));
    return unsupported(fmt::format("\"{} {}\" is not modelled", command.program, verb),
                       "the command after --", suggestion(verb, verbs));
  }
  if (command.program.ends_with(".py") && !is_misspelt_script(command.program))
    return unsupported(
        fmt::format("the script {} is not one that is known", command.path), "the command after --",
        fmt::format("its real memory, without a GPU: memtape run -- {}", fmt::join(words, " ")));
  std::vector<std::string> names;
  for (const Program& program : kPrograms) names.push_back(spelled(program));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view best = nearest(command.program, views);
  return unsupported(fmt::format("unknown program {}", command.path), "the command after --",
                     best.empty() ? "docs/launch-commands.md lists those that are known"
                                  : fmt::format("did you mean {}?", best));
}

/// LLaMA-Factory's src/train.py, which llamafactory-cli starts, with a configuration.
bool is_llama_factory_script(const LaunchCommand& command) {
  const auto is_file = [](std::string_view word) {
    return word.ends_with(".yaml") || word.ends_with(".yml");
  };
  return command.path.ends_with("src/train.py") && !command.arguments.empty() &&
         is_file(command.arguments.front());
}

}  // namespace

std::span<const Program> programs() { return kPrograms; }

bool is_known(const LaunchCommand& command) {
  return std::ranges::any_of(kPrograms, [&](const Program& p) { return matches(p, command); });
}

void Translation::add(std::string_view option, std::int64_t number) {
  add(option, fmt::format("{}", number));
}

void Translation::add(std::string_view option, double number) {
  add(option, fmt::format("{}", number));
}

Translation begin_translation(const LaunchCommand& command, Translation::Command kind) {
  Translation translation;
  translation.command = kind;
  translation.remarks = command.remarks;
  if (const auto gpus = command.gpus()) translation.add("gpus", *gpus);
  return translation;
}

Result<Translation> translate(std::span<const std::string> words, const Files& files) {
  Result<LaunchCommand> command = unwrap(words, files);
  if (!command) return tl::unexpected(command.error());
  const auto found = std::ranges::find_if(
      kPrograms, [&](const Program& program) { return matches(program, *command); });
  if (found == kPrograms.end() && is_llama_factory_script(*command))
    return translate_llama_factory(*command);
  if (found == kPrograms.end() && looks_like_nanogpt(*command)) return translate_nanogpt(*command);
  if (found == kPrograms.end()) {
    if (const Result<void> fine = check_script(*command); !fine)
      return tl::unexpected(fine.error());
    return looks_like_trainer_script(*command) ? translate_trainer_script(*command)
                                               : unknown_program(*command, words);
  }
  const std::vector<std::string> arguments = command->arguments;
  if (!found->verb.empty()) command->arguments.erase(command->arguments.begin());
  Result<Translation> translation = found->translate(*command);
  if (!translation) return translation;
  translation->environment = command->environment;
  if (command->is_module) translation->program = {"python3", "-m"};
  translation->program.push_back(command->path);
  translation->arguments = arguments;
  return translation;
}

}  // namespace memtape::launch
