// SPDX-License-Identifier: Apache-2.0
// Gemma 4 (vllm/model_executor/models/gemma4.py): sliding and full layers with heads of their own
// sizes, norms before and after each block, experts beside the MLP, embeddings for each layer
// (E2B, E4B), and last layers that read the cache of others.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_gemma4(const Place& place);

}  // namespace memtape::vllm
