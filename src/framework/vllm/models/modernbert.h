// SPDX-License-Identifier: Apache-2.0
// ModernBERT as vLLM serves it (vllm/model_executor/models/modernbert.py): for embeddings, classes
// and scores.
#pragma once

#include <memory>

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_modernbert(const Place& place);

}  // namespace memtape::vllm
