// SPDX-License-Identifier: Apache-2.0
// Models for which vLLM has no class run on its Transformers backend
// (vllm/model_executor/models/transformers). It makes transformers' own modules on the device, one
// parameter at a time, and moves them to "meta". Then it fuses their projections and replaces these
// by vLLM's layers; rotation and residuals remain PyTorch ops. Such models are OLMo 2 and 3,
// StarCoder 2, GPT-NeoX and Phi.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_olmo2(const Place& place);
std::unique_ptr<ServedModel> make_starcoder2(const Place& place);
std::unique_ptr<ServedModel> make_gpt_neox(const Place& place);
std::unique_ptr<ServedModel> make_smollm3(const Place& place);
std::unique_ptr<ServedModel> make_olmo(const Place& place);
std::unique_ptr<ServedModel> make_arcee(const Place& place);
std::unique_ptr<ServedModel> make_seed_oss(const Place& place);
std::unique_ptr<ServedModel> make_phi(const Place& place);

}  // namespace memtape::vllm
