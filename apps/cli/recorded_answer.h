// SPDX-License-Identifier: Apache-2.0
// --real: the answer of `memtape train` read off the real step on a phantom GPU, in place of a
// predicted one: for releases and families that nobody has transcribed.
#pragma once

#include "answer/options.h"
#include "predict/train.h"

namespace memtape::cli {

/// Runs the step (once; then it is kept) and puts its figures where a prediction's stand. What the
/// recording does not tell, such as categories of what is not a parameter or optimizer state, is
/// `unknown`.
Result<TrainAnswer> recorded_answer(const answer::RawOptions& options);

}  // namespace memtape::cli
