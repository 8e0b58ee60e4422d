// SPDX-License-Identifier: Apache-2.0
// Older decoders, whose layers add residuals instead of passing them on: GPT-2 and Falcon.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_gpt2(const Place& place);
std::unique_ptr<ServedModel> make_opt(const Place& place);
std::unique_ptr<ServedModel> make_bloom(const Place& place);
std::unique_ptr<ServedModel> make_cohere(const Place& place);
std::unique_ptr<ServedModel> make_chatglm(const Place& place);
std::unique_ptr<ServedModel> make_dbrx(const Place& place);
std::unique_ptr<ServedModel> make_falcon(const Place& place);

}  // namespace memtape::vllm
