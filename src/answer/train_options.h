// SPDX-License-Identifier: Apache-2.0
// The options of `memtape train` as data: names, the form of the value, one line of help. The names
// are a contract that scripts rely on; what a value means, and whether it is a good one, is the
// workload room's business.
#pragma once

#include <span>
#include <string_view>

namespace memtape::answer {

struct NamedOption {
  std::string_view name;   ///< without the dashes
  std::string_view value;  ///< its form, for the help: "N", "{bf16,fp32}", "FILE"; "": a flag
  std::string_view help;
  std::string_view group;
  bool repeatable = false;  ///< given twice it adds up; every other option takes its last value
};

std::span<const NamedOption> train_options();

/// The option that people mean by a word that is none ("--batch-size", "--seq"), or "".
std::string_view option_meant(std::string_view typed);

/// How `train` answers: --json and its like.
std::span<const NamedOption> answer_options();

}  // namespace memtape::answer
