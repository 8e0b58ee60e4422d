// SPDX-License-Identifier: Apache-2.0
// The programs that are known by name, one translator each. A new one is a row in programs.cpp and
// a file beside it: it reads `command.arguments` with a table of its flags (data/launch) or settings
// (data/settings) and says them in memtape's options.
#pragma once

#include "framework/transformers/arguments/trl_config.h"
#include "launch/translation.h"

namespace memtape::launch {

struct Program {
  std::string_view name;  ///< a script's file name, a module, or a command
  std::string_view verb;  ///< its second word ("serve" of vllm), or ""
  Result<Translation> (*translate)(const LaunchCommand& command);
};

std::span<const Program> programs();
/// Whether a translator knows what the command starts.
bool is_known(const LaunchCommand& command);

/// The options that say how many GPUs there are and what the launcher warned about.
Translation begin_translation(const LaunchCommand& command, Translation::Command kind);

Result<Translation> translate_megatron(const LaunchCommand& command);
Result<Translation> translate_vllm(const LaunchCommand& command);
Result<Translation> translate_sglang(const LaunchCommand& command);
Result<Translation> translate_llama_server(const LaunchCommand& command);
Result<Translation> translate_llama_cli(const LaunchCommand& command);
Result<Translation> translate_llama_bench(const LaunchCommand& command);
Result<Translation> translate_run_clm(const LaunchCommand& command);
Result<Translation> translate_example(const LaunchCommand& command);
Result<Translation> translate_no_trainer_example(const LaunchCommand& command);
/// The program of one of trl's trainers.
Result<Translation> translate_trl(const LaunchCommand& command,
                                  const transformers::TrlConfig& trainer);
template <const transformers::TrlConfig& trainer>
Result<Translation> translate_trl(const LaunchCommand& command) {
  return translate_trl(command, trainer);
}
Result<Translation> translate_llama_factory(const LaunchCommand& command);
Result<Translation> translate_axolotl(const LaunchCommand& command);
Result<Translation> translate_tune_run(const LaunchCommand& command);
Result<Translation> translate_litgpt_lora(const LaunchCommand& command);
Result<Translation> translate_litgpt_full(const LaunchCommand& command);
Result<Translation> translate_torchtitan(const LaunchCommand& command);
/// The loop that `memtape plan --export` writes for torch, DDP, FSDP and DeepSpeed.
Result<Translation> translate_plain_loop(const LaunchCommand& command);

/// nanoGPT's train.py, by the keys of its configurator.
bool looks_like_nanogpt(const LaunchCommand& command);
Result<Translation> translate_nanogpt(const LaunchCommand& command);

/// A script that has no row but whose arguments are TrainingArguments.
bool looks_like_trainer_script(const LaunchCommand& command);
Result<Translation> translate_trainer_script(const LaunchCommand& command);

}  // namespace memtape::launch
