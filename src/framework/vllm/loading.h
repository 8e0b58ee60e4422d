// SPDX-License-Identifier: Apache-2.0
// Loading: the most that a device holds while a model's weights are made, loaded, quantized and
// repacked. It may be more than the server holds later: weights in 16 bits that are still to be
// quantized, or a layer's weights before and after repacking. A device that has too little ends the
// start-up there, whatever share of it the server was given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "allocator/allocator_config.h"
#include "framework/vllm/settings.h"
#include "outcome/serve_answer.h"
#include "tape/tape.h"
#include "timeline/timeline.h"

namespace memtape::vllm {

/// The events of a start-up between which the model is loaded.
struct LoadingStage {
  std::size_t from = 0, to = 0;
};

struct Loading {
  Levels peak;             ///< of the allocator, on a device without a limit
  Bytes device_bytes = 0;  ///< the most that the device holds, cached segments given back
  std::optional<LoadFailure> failed;  ///< the request that the device cannot serve
  std::string failure;                ///< the same in words, or ""
  std::string doubt;                  ///< why it may fail where NCCL takes as much as it may
};

/// Plays the tape up to the end of the stage. `loading` are the allocator's settings within it.
Loading play_loading(const Tape& tape, const LoadingStage& stage, const Settings& settings,
                     const AllocatorConfig& loading);

/// Puts what a rank holds while it loads into the answer.
void add_loading(ServeAnswer& answer, ServeRank& rank, const Loading& loading);

}  // namespace memtape::vllm
