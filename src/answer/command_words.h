// SPDX-License-Identifier: Apache-2.0
// The words of the commands that answer, read against their tables, as what is asked.
#pragma once

#include <functional>

#include "answer/command_options.h"
#include "answer/fits.h"
#include "answer/options.h"
#include "answer/plan_serve.h"
#include "base/result.h"
#include "predict/serve.h"

namespace memtape::answer {

option::Syntax train_syntax();
option::Syntax plan_train_syntax();
option::Syntax plan_serve_syntax();
option::Syntax fits_syntax();
option::Syntax launch_syntax();

OutputOptions output_of(const option::Words& words);
/// `first`: the operand that names the model.
RawOptions train_of(const option::Words& words, const option::Table& question,
                    std::size_t first = 0);
PlanTrainOptions plan_train_of(const option::Words& words, std::size_t first = 0);
PlanServeOptions plan_serve_of(const option::Words& words, std::size_t first = 0);
FitsOptions fits_of(const option::Words& words);

/// What is said to a command: words as a shell has them, or a program's values.
struct Told {
  Arguments words = {};
  bool is_values = false;
  std::vector<std::string> operands = {};
  std::span<const option::GivenValue> values = {};

  Result<option::Words> by(const option::Syntax& syntax) const;
};

/// The words after `train`; --help is the program's.
Result<RawOptions> read_train_words(Arguments arguments);
/// `before`: up to the --, `launched`: after it.
Result<LaunchOptions> read_launch_words(Arguments before, Arguments launched);

/// What `serve` takes with the engine that is told; of words that are typed in part, too.
Result<option::Syntax> serve_syntax_of(const Told& told);
option::Syntax serve_syntax(Arguments arguments);

struct ServeWords {
  ServeCommand command;
  std::string help;  ///< not empty when help was asked for
};
/// The engine decides which flags there are, single dashes with several letters among them (-ngl).
Result<ServeWords> read_serve_words(const Told& told);

}  // namespace memtape::answer
