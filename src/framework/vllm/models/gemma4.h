// SPDX-License-Identifier: Apache-2.0
// Gemma 4 (vllm/model_executor/models/gemma4.py): sliding and full layers have heads of different
// sizes, each block has a norm before and after it, experts stand beside the MLP, each layer has
// its own embeddings (E2B, E4B), and the last layers read the cache of earlier ones.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_gemma4(const Place& place);

}  // namespace memtape::vllm
