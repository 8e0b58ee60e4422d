// SPDX-License-Identifier: Apache-2.0
// The programs that are known by name, with one translator each. To add one, add a row in
// programs.cpp and a file beside it, which reads `command.arguments` by a table of its flags
// (data/launch) or settings (data/settings) and expresses them as memtape's options.
#pragma once

#include "launch/reading.h"
#include "launch/serving.h"

namespace memtape::launch {

struct Program {
  std::string_view names;  ///< a script, a module, or a command with its verb: "trl sft; sft.py"
  Result<Translation> (*translate)(const LaunchCommand& command);
};

/// Whether a translator knows the program that the command starts.
bool is_known(const LaunchCommand& command);

/// The options that say how many GPUs there are, and the warnings of the launcher.
Translation begin_translation(const LaunchCommand& command, Translation::Command kind);

/// ms-swift, by the names that 2 had, too.
Result<Translation> translate_swift(const LaunchCommand& command);
Result<Translation> translate_megatron(const LaunchCommand& command);
/// Translates the loop that `memtape plan --export` writes for torch, DDP, FSDP and DeepSpeed.
Result<Translation> translate_plain_loop(const LaunchCommand& command);

/// The servers, and the programs that are told by settings what to do.
extern const ServerProgram kLlamaBench, kLlamacpp, kSglang, kVllm;
extern const SettingsProgram kAxolotl, kExample, kFastChatLora, kLitgptAdapter, kLitgptAdapterV2,
    kLitgptFull, kLitgptLora, kLlamaFactory, kNanogpt, kNoTrainerExample, kOwnScript, kQlora,
    kQwenVl, kRunClm, kSwift, kTorchtitan, kTorchtune;
template <const auto& program>
Result<Translation> translate_by(const LaunchCommand& command) {
  return translate(program, command);
}

/// Translates the program of one of trl's trainers.
Result<Translation> translate_trl(const LaunchCommand& command,
                                  const transformers::TrlConfig& trainer);
template <const transformers::TrlConfig& trainer>
Result<Translation> translate_trl(const LaunchCommand& command) {
  return translate_trl(command, trainer);
}

/// An Error if transformers or trl ship the script and its training is not modelled; it says what
/// the script trains. Such a script takes TrainingArguments, so it could be mistaken for a script
/// around Trainer.
Result<void> check_script(const LaunchCommand& command);
/// nanoGPT's train.py, with the keys of its configurator.
bool looks_like_nanogpt(const LaunchCommand& command);
/// A script that has no row, but whose arguments are TrainingArguments.
bool looks_like_trainer_script(const LaunchCommand& command);

}  // namespace memtape::launch
