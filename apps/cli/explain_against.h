// SPDX-License-Identifier: Apache-2.0
// The prediction with which `memtape explain --against` compares a recording. It is asked for as
// `train MODEL ...`, or as a launch command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evidence/against.h"
#include "option/given.h"

namespace memtape::cli {

/// The words of --against. They are one text, "train MODEL ...", which is split as a shell would,
/// or "--" and the words of a command.
Result<std::vector<std::string>> words_against(const std::vector<std::string>& given);

/// `values` are options that replace those in the words. `from_start` means that nothing is
/// allocated when the recording begins, so the peak of the whole program is meant.
Result<Predicted> predicted_for(const std::vector<std::string>& words, bool from_start,
                                const NamedValues& values = {});

/// Takes apart the difference between a recording and a prediction by its causes. To find a cause
/// that an option names (another batch, length, release or optimizer), it predicts with that
/// option. The cause explains the difference of the two predictions, to the byte.
Result<void> lay_beside(const std::vector<std::string>& against, Explanation& explanation);

}  // namespace memtape::cli
