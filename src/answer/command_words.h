// SPDX-License-Identifier: Apache-2.0
// What is said to the commands that answer, read against their tables, as what is asked.
#pragma once

#include "answer/command_options.h"
#include "answer/options.h"
#include "base/result.h"

namespace memtape::answer {

/// What is said to a command: words as a shell has them, or a program's values.
struct Told {
  option::Arguments words = {};
  bool is_values = false;
  std::vector<std::string> operands = {};
  std::span<const option::GivenValue> values = {};

  Result<option::Words> by(const option::Syntax& syntax) const;
};

option::Syntax train_syntax();
option::Syntax plan_train_syntax();
option::Syntax plan_serve_syntax();
option::Syntax fits_syntax();
option::Syntax launch_syntax();
/// The engine that is told decides which flags there are, single dashes with several letters among
/// them (-ngl).
Result<option::Syntax> serve_syntax(const Told& told);

OutputOptions output_of(const option::Words& words);
/// `model`: the operand that names it; `besides`: options that say nothing about the question.
RawOptions asked_of(const option::Words& words, std::size_t model = 0,
                    std::span<const option::Option> besides = {});
Result<ServeCommand> server_of(const option::Words& words, std::size_t model = 0,
                               std::span<const option::Option> besides = {});

}  // namespace memtape::answer
