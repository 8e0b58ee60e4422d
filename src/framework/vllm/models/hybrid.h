// SPDX-License-Identifier: Apache-2.0
// Decoders with recurrent layers, alone or among attention: Mamba, Falcon Mamba, Mamba 2,
// Nemotron-H, Jamba, Qwen3-Next and Qwen3.5.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_mamba(const Place& place);
std::unique_ptr<ServedModel> make_mamba2(const Place& place);
std::unique_ptr<ServedModel> make_nemotron_h(const Place& place);
std::unique_ptr<ServedModel> make_jamba(const Place& place);
std::unique_ptr<ServedModel> make_qwen3_next(const Place& place);

}  // namespace memtape::vllm
