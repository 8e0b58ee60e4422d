// SPDX-License-Identifier: Apache-2.0
#include "launch/programs.h"

#include <fmt/format.h>

#include "launch/words.h"

namespace memtape::launch {
namespace {

/// "kto" of kto.py, trl.scripts.kto and `trl kto`.
std::string_view script_name(const LaunchCommand& command) {
  constexpr std::string_view kModules = "trl.scripts.";
  std::string_view name = command.program;
  if (name == "trl" && command.arguments.empty()) return "";
  if (name == "trl") return command.arguments.front();
  if (name.starts_with(kModules)) return name.substr(kModules.size());
  return name.ends_with(".py") ? name.substr(0, name.size() - 3) : "";
}

/// Unsloth's own programs, and scripts that can be read and import it.
bool uses_unsloth(const LaunchCommand& command) {
  if (command.program.starts_with("unsloth")) return true;
  if (!command.program.ends_with(".py") || !command.files) return false;
  const Result<std::string> text = command.files->read(command.path);
  return text && (text->find("import unsloth") != std::string::npos ||
                  text->find("from unsloth") != std::string::npos);
}

bool is_nanochat(std::string_view module) {
  return module == "scripts.base_train" || module == "scripts.mid_train" ||
         module == "scripts.chat_sft" || module == "scripts.chat_rl";
}

}  // namespace

Result<void> check_script(const LaunchCommand& command) {
  constexpr const char* kTrlHas =
      "sft, dpo, reward, grpo, rloo and kto are modelled, and cpo.py and orpo.py";
  if (uses_unsloth(command))
    return unsupported("Unsloth's own forwards, backwards and offloading are not modelled",
                       command.program, "trl's sft and axolotl are, with the same settings");
  if (is_nanochat(command.program))
    return unsupported("nanochat trains a model of its own with Muon, which is not modelled",
                       command.program, "nanoGPT's train.py is known");
  std::string_view name = script_name(command);
  if (const auto trains = meaning_of(name, data::unmodelled_trl_trainers()); !trains.empty())
    return unsupported(fmt::format("trl's {} is not modelled", trains), command.program, kTrlHas);
  if (command.program == "trl" &&
      meaning_of(fmt::format("trl_{}", name), data::unmodelled_programs()).empty())
    return bad_input(fmt::format("\"{}\" is no trainer of trl's", name), command.program, kTrlHas);
  constexpr std::string_view kLoop = "_no_trainer";
  const bool is_loop = name.ends_with(kLoop);
  if (is_loop) name.remove_suffix(kLoop.size());
  if (const auto trains = meaning_of(name, data::unmodelled_transformers_trainings());
      !trains.empty())
    return unsupported(fmt::format("it trains {}, which is not modelled", trains), command.program,
                       "run_clm.py, run_glue.py, run_qa.py and others are modelled");
  if (is_loop)
    return unsupported("this loop around accelerate is not modelled", command.program,
                       "run_clm_no_trainer.py, run_glue_no_trainer.py and others are");
  return {};
}

}  // namespace memtape::launch
