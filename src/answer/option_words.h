// SPDX-License-Identifier: Apache-2.0
// Options as values, as programs have them, said in the words of the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace memtape::answer {

struct OptionValue {
  struct Values {
    std::vector<std::string> texts = {};
    std::optional<bool> truth = {};
    bool is_list = false, is_absent = false;
  };

  std::string name;  ///< as on the command line, or with _ in place of -
  Values values;
};

/// Appends "--name value" for each of `options` of that command. A name that is not known is
/// appended all the same: the reader of words says what is near.
void append_option_words(std::string_view command, std::span<const OptionValue> options,
                         std::vector<std::string>& words);

}  // namespace memtape::answer
