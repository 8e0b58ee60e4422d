// SPDX-License-Identifier: Apache-2.0
// The prediction that `memtape explain --against` lays beside a recording: of `train MODEL ...`, or
// of a launch command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evidence/against.h"
#include "option/given.h"

namespace memtape::cli {

/// The words of --against: one text "train MODEL ...", split as a shell would, or "--" and those of
/// a command.
Result<std::vector<std::string>> words_against(const std::vector<std::string>& given);

/// `values`: options that replace those of the words. `from_start`: the recording begins with
/// nothing allocated, so the whole program's peak is meant.
Result<Predicted> predicted_for(const std::vector<std::string>& words, bool from_start,
                                const NamedValues& values = {});

/// The difference between a recording and a prediction by cause. Causes that an option names
/// (another batch, length, release, optimizer) are found by predicting with it: what it explains is
/// the difference of the two predictions, to the byte.
Result<void> lay_beside(const std::vector<std::string>& against, Explanation& explanation);

}  // namespace memtape::cli
