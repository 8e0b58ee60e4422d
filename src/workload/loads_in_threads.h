// SPDX-License-Identifier: Apache-2.0
// What is assumed of a model that is quantized as it is loaded, where a release brings its weights
// in threads.
#pragma once

#include <string_view>

namespace memtape {

inline constexpr std::string_view kWeightsComeInThreads =
    "threads of transformers 5.0 to 5.3 may bring all weights in 16 bits before bitsandbytes has "
    "packed them (HF_DEACTIVATE_ASYNC_LOAD=1 loads one after the other)";

}  // namespace memtape
