// SPDX-License-Identifier: Apache-2.0
// DeepSeek V4 (vllm/models/deepseek_v4/nvidia/model.py): layers on several residual streams, mixed
// by hyper-connections (mHC), with attention that compresses and with experts in MXFP4, of which the
// first layers choose by a table of tokens.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_deepseek_v4(const Place& place);

}  // namespace memtape::vllm
