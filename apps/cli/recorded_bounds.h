// SPDX-License-Identifier: Apache-2.0
// How far a step on a real device may lie from its recording on a phantom one: what cuDNN would
// decide is not in it, nor what lies outside the allocator.
#pragma once

#include <span>

#include "formats/step_tape.h"
#include "predict/bounds.h"

namespace memtape::cli {

/// Read off the step's events by the nodes of autograd that made them.
LibraryChoices library_choices(std::span<const StepTapeEvent> step);

/// The verdict by these bounds. A device that cannot hold all that is reserved may still hold what
/// is alive, for cached segments go back to the driver; then, too, the step may fit.
void judge_recorded(Prediction& prediction);

}  // namespace memtape::cli
