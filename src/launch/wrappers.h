// SPDX-License-Identifier: Apache-2.0
// The wrappers that start a program: interpreters, launchers, containers. A table; each takes its
// own flags off the front of the words and notes in the command what they say. And what a wrapper
// reads itself: start scripts, and accelerate's configuration.
#pragma once

#include "launch/launch_command.h"

namespace memtape::launch {

struct Unwrapped {
  enum class Kind : std::uint8_t {
    wrapper,  ///< `rest` may begin with another wrapper
    program,  ///< `rest` begins with the program itself
    module    ///< `rest` begins with the program as the name of a Python module
  };
  Kind kind = Kind::program;
  std::span<const std::string> rest;
};

/// Takes off the wrapper with which `words` begin. If there is none, the words are returned as a
/// program.
Result<Unwrapped> unwrap_once(std::span<const std::string> words, LaunchCommand& command);

/// What a shell would run of a text: sh -c "cd x && exec vllm serve ...". The first of its commands
/// that starts a known program is taken; assignments and exports before it fill its variables in.
/// `given` are the words behind the text: "$@".
Unwrapped unwrap_script(std::string_view text, std::span<const std::string> given,
                        LaunchCommand& command);
/// `bash run.sh`, if the file can be read; otherwise nothing.
std::optional<Unwrapped> unwrap_script_file(const std::string& path,
                                            std::span<const std::string> given,
                                            LaunchCommand& command);

/// The lines `#SBATCH --nodes=2` of a script, which sbatch reads as words of its own, and the
/// variables that Slurm sets from them.
Result<void> note_batch_lines(std::string_view script, LaunchCommand& command);

/// Notes in the command what accelerate's own configuration says (`accelerate launch --config_file
/// cfg.yaml`, accelerate 1.15, commands/config/config_args.py): the same things as its flags, under
/// the same names. Flags, noted later, override it.
Result<void> note_accelerate(Settings settings, LaunchCommand& command);
/// That configuration; trl's where a path of trl's repository is not here.
Result<Settings> accelerate_file(const std::string& path, LaunchCommand& command);

}  // namespace memtape::launch
