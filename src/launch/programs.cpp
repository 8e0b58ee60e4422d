// SPDX-License-Identifier: Apache-2.0
#include "launch/programs.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/edit_distance.h"
#include "base/text.h"
#include "formats/flags.h"
#include "launch/words.h"
#include "model/model_name.h"

namespace memtape::launch {
namespace {

constexpr auto kPrograms = std::to_array<Program>({
    {"pretrain_gpt.py; pretrain_bert.py; pretrain_hybrid.py; pretrain_mamba.py; pretrain_t5.py",
     translate_megatron},
    {"vllm serve; vllm.entrypoints.openai.api_server; vllm.entrypoints.api_server",
     translate_by<kVllm>},
    {"sglang serve; sglang.launch_server", translate_by<kSglang>},
    {"llama-server; llama-cli; llama-completion", translate_by<kLlamacpp>},
    {"llama-bench", translate_by<kLlamaBench>},
    {"run_clm.py", translate_by<kRunClm>},
    {"run_glue.py; run_classification.py; run_xnli.py; run_ner.py; run_qa.py; run_swag.py; "
     "run_translation.py; run_summarization.py; run_seq2seq_qa.py",
     translate_by<kExample>},
    {"run_clm_no_trainer.py; run_mlm_no_trainer.py; run_glue_no_trainer.py; run_ner_no_trainer.py; "
     "run_qa_no_trainer.py; run_swag_no_trainer.py; run_summarization_no_trainer.py; "
     "run_translation_no_trainer.py",
     translate_by<kNoTrainerExample>},
    {"swift sft; swift pt; swift.cli.main sft; swift.cli.main pt; swift.cli.sft; swift.cli.pt; "
     "swift/cli/sft.py; swift/cli/pt.py",
     translate_swift},
    {"trl sft; sft.py; trl.scripts.sft", translate_trl<transformers::kSft>},
    {"trl dpo; dpo.py; trl.scripts.dpo", translate_trl<transformers::kDpo>},
    {"trl reward; reward.py; reward_modeling.py; trl.scripts.reward",
     translate_trl<transformers::kReward>},
    {"trl grpo; grpo.py; trl.scripts.grpo; gspo.py", translate_trl<transformers::kGrpo>},
    {"trl rloo; rloo.py; trl.scripts.rloo", translate_trl<transformers::kRloo>},
    {"trl kto; kto.py; trl.scripts.kto", translate_trl<transformers::kKto>},
    {"cpo.py", translate_trl<transformers::kCpo>},
    {"orpo.py", translate_trl<transformers::kOrpo>},
    {"llamafactory-cli train; lmf train; llamafactory.cli train; train_bash.py",
     translate_by<kLlamaFactory>},
    {"qlora.py", translate_by<kQlora>},
    {"train_qwen.py; qwenvl.train.train_qwen", translate_by<kQwenVl>},
    {"fastchat.train.train_lora; fastchat/train/train_lora.py", translate_by<kFastChatLora>},
    {"axolotl train; axolotl.cli.train", translate_by<kAxolotl>},
    {"tune run", translate_by<kTorchtune>},
    {"litgpt finetune; litgpt finetune_lora", translate_by<kLitgptLora>},
    {"litgpt finetune_full", translate_by<kLitgptFull>},
    {"litgpt finetune_adapter", translate_by<kLitgptAdapter>},
    {"litgpt finetune_adapter_v2", translate_by<kLitgptAdapterV2>},
    {"torchtitan.train; run_train.sh; run_llama_train.sh", translate_by<kTorchtitan>},
    {"plain_loop.py", translate_plain_loop},
    {"trainer_loop.py", translate_by<kOwnScript>},
});

/// A name of a program, and what it is told to do: "sft" of trl.
struct ProgramName {
  std::string_view whole, name, verb;
  const Program* program = nullptr;

  bool matches(const LaunchCommand& command) const {
    const bool is_path = name.find('/') != std::string_view::npos;
    return (is_path ? command.path.ends_with(name) : name == command.program) &&
           (verb.empty() || (!command.arguments.empty() && command.arguments.front() == verb));
  }
};

const std::vector<ProgramName>& program_names() {
  static const std::vector<ProgramName> names = [] {
    std::vector<ProgramName> all;
    for (const Program& program : kPrograms)
      for (const std::string_view whole : names_in(program.names)) {
        const std::size_t space = std::min(whole.find(' '), whole.size());
        all.push_back({whole, whole.substr(0, space), trimmed(whole.substr(space)), &program});
      }
    return all;
  }();
  return names;
}

const ProgramName* find_program(const LaunchCommand& command) {
  const auto found = std::ranges::find_if(
      program_names(), [&](const ProgramName& name) { return name.matches(command); });
  return found == program_names().end() ? nullptr : &*found;
}

/// What else a known command may be told to do.
std::vector<std::string_view> verbs_of(std::string_view name) {
  std::vector<std::string_view> verbs;
  for (const ProgramName& known : program_names())
    if (known.name == name && !known.verb.empty()) verbs.push_back(known.verb);
  return verbs;
}

/// A letter or two beside the name of a script that is known; short names are near to everything.
bool is_misspelt_script(std::string_view script) {
  constexpr std::size_t kShort = 8, kNear = 2;
  return script.size() > kShort &&
         std::ranges::any_of(program_names(), [&](const ProgramName& known) {
           return edit_distance(known.name, script) <= kNear;
         });
}

/// What answers in the place of a command that is not modelled, for the model that it names.
std::string answered_instead(const LaunchCommand& command, std::string name) {
  std::ranges::replace(name, ' ', '_');
  std::string instead(meaning_of(name, data::unmodelled_programs()));
  const CatalogEntry* model = nullptr;
  for (const std::string& word : command.arguments)
    if (!model && !(model = tagged_model(word))) model = find_model(word);
  constexpr std::string_view kModel = "MODEL";
  for (std::size_t at = 0; model && (at = instead.find(kModel, at)) != std::string::npos;
       at += model->id.size())
    instead.replace(at, kModel.size(), model->id);
  return instead;
}

tl::unexpected<Error> unknown_program(const LaunchCommand& command,
                                      std::span<const std::string> words) {
  const std::string verb = command.arguments.empty() ? "" : command.arguments.front();
  for (const auto& name : {command.program + " " + verb, command.program})
    if (const std::string instead = answered_instead(command, name); !instead.empty())
      return unsupported(name + " is not modelled", "the command after --", instead);
  if (const auto verbs = verbs_of(command.program); !verbs.empty()) {
    if (verb.empty() || verb.starts_with('-'))
      return bad_input("not said what to do", command.program, suggestion(verb, verbs));
    return unsupported(fmt::format("\"{} {}\" is not modelled", command.program, verb),
                       "the command after --",
                       find_model(verb) ? fmt::format("{} {} {}", command.program, verbs[0], verb)
                                        : suggestion(verb, verbs));
  }
  if (command.program.ends_with(".py") && !is_misspelt_script(command.program))
    return unsupported(
        fmt::format("the script {} is not one that is known", command.path), "the command after --",
        fmt::format("its real memory, without a GPU: memtape run -- {}", fmt::join(words, " ")));
  std::vector<std::string_view> names;
  for (const ProgramName& known : program_names()) names.push_back(known.whole);
  const std::string_view best = nearest(command.program, names);
  return unsupported(fmt::format("unknown program {}", command.path), "the command after --",
                     best.empty() ? "docs/launch-commands.md lists those that are known"
                                  : fmt::format("did you mean {}?", best));
}

/// LLaMA-Factory's src/train.py, which llamafactory-cli starts: with a configuration, or in words.
bool is_llama_factory_script(const LaunchCommand& command) {
  if (command.program != "train.py" || command.arguments.empty()) return false;
  const bool at_home = command.path.ends_with("src/train.py");
  const std::string_view first = command.arguments.front();
  if (at_home && (first.ends_with(".yaml") || first.ends_with(".yml"))) return true;
  return std::ranges::any_of(command.arguments, [&](std::string_view word) {
    return word.starts_with("--finetuning_type") || (at_home && word.starts_with("--stage"));
  });
}

}  // namespace

bool is_known(const LaunchCommand& command) { return find_program(command) != nullptr; }

Translation begin_translation(const LaunchCommand& command, Translation::Command kind) {
  Translation translation;
  translation.command = kind;
  translation.remarks = command.remarks;
  translation.environment = command.environment;
  if (const GivenSetting* gpu = command.launcher_settings.find("gpu"))
    translation.add("gpu", gpu->value.text);
  const auto gpus = command.gpus();
  if (gpus) translation.add("gpus", *gpus);
  translation.takes_all_gpus = command.processes.one_for_each_gpu && !gpus;
  return translation;
}

Result<Translation> translate(std::span<const std::string> words, const Files& files) {
  Result<LaunchCommand> command = unwrap(words, files);
  if (!command) return tl::unexpected(command.error());
  const ProgramName* const found = find_program(*command);
  if (!found && is_llama_factory_script(*command)) return translate(kLlamaFactory, *command);
  if (!found && looks_like_nanogpt(*command)) return translate(kNanogpt, *command);
  if (!found) {
    if (const Result<void> fine = check_script(*command); !fine)
      return tl::unexpected(fine.error());
    return looks_like_trainer_script(*command) ? translate(kOwnScript, *command)
                                               : unknown_program(*command, words);
  }
  const std::vector<std::string> arguments = command->arguments;
  if (!found->verb.empty()) command->arguments.erase(command->arguments.begin());
  Result<Translation> translation = found->program->translate(*command);
  // A script around Trainer that is called as one of trl's, with a word that is near none of theirs.
  if (!translation && is_foreign_flag(translation.error()) && looks_like_trainer_script(*command))
    translation = translate(kOwnScript, *command);
  if (!translation) return translation;
  translation->model = path_on_host(translation->model, command->mounts);
  if (command->is_module) translation->program = {"python3", "-m"};
  translation->program.push_back(command->path);
  translation->arguments = arguments;
  return translation;
}

}  // namespace memtape::launch
