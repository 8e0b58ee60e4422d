// SPDX-License-Identifier: Apache-2.0
// Fit: how much of a model the GPUs hold, in llama.cpp's flags: the most layers, and where there
// are experts, first the fewest layers whose experts stay in host memory.
#pragma once

#include "framework/llamacpp/server.h"

namespace memtape::llamacpp {

struct Fitted {
  Settings settings;
  ServerMemory memory;
  std::string note;  ///< what fits, with the flags to paste
};

/// `rooms`: what each GPU has for buffers.
Result<Fitted> fit(const Model& model, const Settings& settings, std::vector<Bytes> rooms);

}  // namespace memtape::llamacpp
