// SPDX-License-Identifier: Apache-2.0
// Models in addition to the one that is served: adapters (llama-adapter.cpp), whose matrices lie
// where the matrices lie that they adapt, and a model that drafts (common/speculative.cpp), which
// has its own context.
#pragma once

#include "framework/llamacpp/gguf_header.h"
#include "framework/llamacpp/server.h"

namespace memtape::llamacpp {

/// Adds the matrices of an adapter to those of the model.
Result<void> add_adapter(Model& model, const GgufHeader& adapter, const std::string& id);

/// The settings of a draft model's server. Its context holds as many tokens as the other's.
Settings draft_settings(const Settings& settings, std::int64_t n_ctx);

/// Adds the memory of a draft model to the same buffers.
void add_draft_memory(ServerMemory& memory, const ServerMemory& draft);

}  // namespace memtape::llamacpp
