// SPDX-License-Identifier: Apache-2.0
// Llama 4 (vllm/model_executor/models/llama4.py): layers with a rope attend to chunks, and the
// others to everything. There are experts beside a shared one in every layer, or in every second
// layer.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_llama4(const Place& place);

}  // namespace memtape::vllm
