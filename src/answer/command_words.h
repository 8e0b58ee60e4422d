// SPDX-License-Identifier: Apache-2.0
// What may be said to the commands that answer, as tables (option/option.h), and what is said read
// against them, as what is asked.
#pragma once

#include "answer/options.h"
#include "base/result.h"
#include "option/words.h"

namespace memtape::answer {

/// What was said to a command: words as a shell passes them, or values from a program.
struct Told {
  option::Arguments words = {};
  bool is_values = false;
  std::vector<std::string> operands = {};
  std::span<const option::GivenValue> values = {};

  Result<option::Words> by(const option::Syntax& syntax) const;
};

/// The group of options about the answer.
inline constexpr std::string_view kAnswerGroup = "Answer";
/// Those of it that every command takes.
option::Table output_options();

inline constexpr option::Operand kModel{
    .name = "MODEL",
    .help = "catalog name, hub id, directory, config.json or .safetensors file",
    .meant = "--model -m --model-name --model-id --model-path --model-name-or-path --base-model"};

option::Syntax train_syntax();
/// Plan's own options, and those of train that ask nothing else.
option::Syntax plan_train_syntax();
option::Syntax plan_serve_syntax();
option::Syntax fits_syntax();
/// What stands before the -- of a launch command: train's options, and questions about servers.
option::Syntax launch_syntax();
/// Whether it is asked of servers alone.
bool is_server_question(std::string_view name);
/// The engine that was named decides which flags there are. Some of them have several letters after
/// a single dash (-ngl).
Result<option::Syntax> serve_syntax(const Told& told);

OutputOptions output_of(const option::Words& words);
/// `model` is the number of the operand that names the model. `besides` are options that say
/// nothing about the question.
RawOptions asked_of(const option::Words& words, std::size_t model = 0,
                    std::span<const option::Option> besides = {});
Result<ServeCommand> server_of(const option::Words& words, std::size_t model = 0,
                               std::span<const option::Option> besides = {});

}  // namespace memtape::answer
