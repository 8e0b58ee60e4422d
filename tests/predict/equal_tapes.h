// SPDX-License-Identifier: Apache-2.0
// Two tapes held equal, event for event and reason for reason.
#pragma once

#include "tape/tape.h"

namespace memtape {

void expect_same(const Tape& run, const Tape& written);

}  // namespace memtape
