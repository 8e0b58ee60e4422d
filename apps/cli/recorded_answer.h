// SPDX-License-Identifier: Apache-2.0
// --real: an answer of `memtape train` that is read from the real step on a phantom GPU instead of
// being predicted. It is for releases and families that nobody has transcribed.
#pragma once

#include "answer/options.h"
#include "predict/train.h"

namespace memtape::cli {

/// Runs the step, unless it was kept from an earlier run, and puts its figures where those of a
/// prediction are. What the recording does not tell is `unknown`, such as the category of anything
/// that is neither a parameter nor an optimizer state.
Result<TrainAnswer> recorded_answer(const answer::RawOptions& options);

}  // namespace memtape::cli
