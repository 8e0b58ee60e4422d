// SPDX-License-Identifier: Apache-2.0
// --real: the answer of `memtape train` read off the real step on a phantom GPU, in place of a
// predicted one: for releases and families that nobody has transcribed.
#pragma once

#include "options.h"
#include "predict/train.h"

namespace memtape::cli {

/// What --real says: a prediction alone (never, the default), the real step where a prediction
/// would be for another release or there is none (auto), the real step (always).
enum class Real { never, automatic, always };
Result<Real> real_choice(const RawOptions& options);

/// Whether `auto` asks for the real step: a release outside the known ones is meant.
bool is_beyond_known(const TrainRecipe& recipe);

/// Runs the step (once; then it is kept) and puts its figures where a prediction's stand. What the
/// recording does not tell, such as categories of what is not a parameter or optimizer state, is
/// `unknown`.
Result<TrainAnswer> recorded_answer(const RawOptions& options);

}  // namespace memtape::cli
