// SPDX-License-Identifier: Apache-2.0
// Fit: how much of a model the GPUs can hold, expressed by llama.cpp's flags. It looks for the most
// layers that fit. If the model has experts, it first looks for the fewest layers whose experts
// must stay in host memory. llama.cpp's own search (llama_params_fit) shortens the context before
// that, and leaves alone what was said.
#pragma once

#include "framework/llamacpp/server.h"

namespace memtape::llamacpp {

struct Fitted {
  Settings settings;
  ServerMemory memory;
  std::string note;  ///< what fits, with flags that can be pasted
};

/// What may be changed.
struct Freedom {
  bool context = false, layers = true;
};

/// `rooms` are the bytes that each GPU has for buffers.
Result<Fitted> fit(const Model& model, const Settings& settings, std::vector<Bytes> rooms,
                   Freedom freedom);

}  // namespace memtape::llamacpp
