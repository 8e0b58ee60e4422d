// SPDX-License-Identifier: Apache-2.0
#include "launch/plain_loop.h"

#include <array>

#include "launch/programs.h"

namespace memtape::launch {
namespace {

using Effect::modelled;

constexpr auto kLoopFlags = std::to_array<Flag>({
    {"--model", Arity::one, modelled, "model"},
    {"--framework", Arity::one, modelled, "framework"},
    {"--micro-batch-size", Arity::one, modelled, "micro-batch-size"},
    {"--global-batch-size", Arity::one, modelled, "global-batch-size"},
    {"--sequence-length", Arity::one, modelled, "sequence-length"},
    {"--gradient-checkpointing", Arity::one, modelled, "gradient-checkpointing"},
    {"--precision", Arity::one, modelled, "precision"},
    {"--weights", Arity::one, modelled, "weights"},
    {"--attention", Arity::one, modelled, "attention"},
    {"--optimizer", Arity::one, modelled, "optimizer"},
    {"--optimizer-impl", Arity::one, modelled, "optimizer-impl"},
    {"--max-grad-norm", Arity::one, modelled, "max-grad-norm"},
    {"--lora-rank", Arity::one, modelled, "lora-rank"},
    {"--lora-targets", Arity::one, modelled, "lora-targets"},
    {"--lora-dropout", Arity::one, modelled, "lora-dropout"},
    {"--freeze", Arity::one, modelled, "freeze"},
    {"--init-device", Arity::one, modelled, "init-device"},
    {"--offload", Arity::one, modelled, "offload"},
    {"--strategy", Arity::one, modelled, "strategy"},
    {"--compile", Arity::none, modelled, "compile"},
    {"--steps"},
    {"--learning-rate"},
    {"--data"},
});

}  // namespace

std::span<const Flag> plain_loop_flags() { return kLoopFlags; }

Result<Translation> translate_plain_loop(const LaunchCommand& command) {
  const Result<ReadFlags> flags = read_flags(
      command.arguments, kLoopFlags, {.program = command.program, .attached_values = false});
  if (!flags) return tl::unexpected(flags.error());
  if (!flags->operands.empty())
    return bad_input("unexpected word " + flags->operands.front(), command.program,
                     "every argument is a flag or its value");
  Translation translation = begin_translation(command, Translation::Command::train);
  for (const GivenFlag& given : flags->given) {
    if (given.flag->effect != modelled) continue;
    const std::string value = given.values.empty() ? std::string() : given.values.front();
    if (given.flag->meaning == "model")
      translation.model = value;
    else
      translation.add(given.flag->meaning, value);
  }
  if (translation.model.empty())
    return bad_input("no model is named", command.program, "--model MODEL");
  return translation;
}

}  // namespace memtape::launch
