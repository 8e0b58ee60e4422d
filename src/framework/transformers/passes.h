// SPDX-License-Identifier: Apache-2.0
// Passes: what a loaded model's passes hold, read off the tape of one inference program. Its marks:
// step -1 is loading, step 0 the first pass (the prefill), and step i the i-th pass after it.
#pragma once

#include "mesh/device_setup.h"
#include "outcome/serve_answer.h"
#include "tape/tape.h"

namespace memtape::transformers {

struct Passes {
  Levels all, prefill, chunks, decode;
  Bytes loaded = 0;    ///< allocated when the model is on the device
  Bytes kv_cache = 0;  ///< at the end
  CategoryBytes at_peak;
};

Passes play_passes(const Tape& tape, const DeviceSetup& device);

/// The rank's figures, but for its cache and its phases.
ServeRank rank_of(const Passes& passes, const DeviceSetup& device);

}  // namespace memtape::transformers
