// SPDX-License-Identifier: Apache-2.0
// The Trace that time diagrams are drawn from: a played tape with its block sizes, addresses and
// the segments that it took from the driver.
#pragma once

#include "outcome/prediction.h"
#include "predict/step_play.h"

namespace memtape {

/// `play` must have been recorded (play_program with `records`); `step` is the measured one.
Trace trace_of(Tape&& tape, StepPlay&& play, int step);

}  // namespace memtape
