// SPDX-License-Identifier: Apache-2.0
// What gets a server through its loading where the device has too little for that: another release
// of vLLM, which lets 16-bit weights go sooner, or a checkpoint that is quantized already. More
// ranks of tensor parallelism are tried with the other remedies (predict/serve_correct.h).
#pragma once

#include <functional>
#include <optional>

#include "framework/vllm/loading.h"

namespace memtape::vllm {

/// The loading of the rank that takes most under other settings; empty where they do not run.
using LoadTrial = std::function<std::optional<Loading>(const Settings&)>;

/// Adds a note for each lever, if the answer does not get through its loading.
void add_load_levers(ServeAnswer& answer, const Settings& settings, const LoadTrial& trial);

}  // namespace memtape::vllm
