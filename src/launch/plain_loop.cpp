// SPDX-License-Identifier: Apache-2.0
// data/export/plain_loop.py, which `memtape plan --export` writes.
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {

Result<Translation> translate_plain_loop(const LaunchCommand& command) {
  const Result<ReadFlags> flags =
      read_flags(command.arguments, data::plain_loop_flags().flags,
                 {.program = command.program, .attached_values = false});
  if (!flags) return tl::unexpected(flags.error());
  if (const auto fine = no_operands(*flags, command.program); !fine)
    return tl::unexpected(fine.error());
  Translation translation = begin_translation(command, Translation::Command::train);
  add_flags(*flags, translation);
  if (const auto named = check_model(translation, command.program, "--model MODEL"); !named)
    return tl::unexpected(named.error());
  return translation;
}

}  // namespace memtape::launch
