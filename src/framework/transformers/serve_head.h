// SPDX-License-Identifier: Apache-2.0
// A classifier or an embedder as an engine of `memtape serve`: one pass over a batch of texts
// (model(**inputs) under torch.no_grad()), in place of generate().
#pragma once

#include "family/named_head.h"
#include "framework/transformers/generate.h"

namespace memtape::transformers {

/// One pass of `batch_size` texts of `prompt_length` tokens each.
Result<GenerateRun> run_head(const Config& config, const GenerateRecipe& recipe,
                             const family::NamedHead& head, const ghost::DeviceTraits& device);

/// What is said of it in an answer.
std::string head_note(const family::NamedHead& head);

}  // namespace memtape::transformers
