// SPDX-License-Identifier: Apache-2.0
// Questions about many trainings at once: --solve, --grid and --compare, as text and as JSON.
#pragma once

#include <optional>

#include "options.h"
#include "predict/train.h"
#include "terminal.h"
#include "train_request.h"

namespace memtape::cli {

/// The exit code of the question that the options ask; nothing where they ask none.
std::optional<int> answer_train_question(const RawOptions& options, const TrainRequest& request,
                                         const ModelRequest& model, const CommandWords& command,
                                         Terminal& terminal);

}  // namespace memtape::cli
