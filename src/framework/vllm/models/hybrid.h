// SPDX-License-Identifier: Apache-2.0
// Decoders with recurrent layers, with or without attention among them: Mamba, Falcon Mamba, Mamba
// 2, Nemotron-H, Jamba, Granite 4, LFM2, Qwen3-Next and Qwen3.5.
#pragma once

#include "framework/vllm/models/decoder.h"

namespace memtape::vllm {

/// A layer of Qwen3-Next or Qwen3.5, or of their predictors.
LayerBlocks qwen3_next_blocks(const Place& layer, std::int64_t index);

std::unique_ptr<ServedModel> make_mamba(const Place& place);
std::unique_ptr<ServedModel> make_mamba2(const Place& place);
std::unique_ptr<ServedModel> make_nemotron_h(const Place& place);
std::unique_ptr<ServedModel> make_jamba(const Place& place);
std::unique_ptr<ServedModel> make_granite_hybrid(const Place& place);
std::unique_ptr<ServedModel> make_lfm2(const Place& place);
std::unique_ptr<ServedModel> make_qwen3_next(const Place& place);

}  // namespace memtape::vllm
