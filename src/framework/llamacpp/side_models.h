// SPDX-License-Identifier: Apache-2.0
// Models beside the one that is served: adapters (llama-adapter.cpp), whose matrices lie where
// those lie that they adapt, and a model that drafts (common/speculative.cpp), with a context of
// its own.
#pragma once

#include "framework/llamacpp/gguf_header.h"
#include "framework/llamacpp/server.h"

namespace memtape::llamacpp {

/// Adds an adapter's matrices to the model's.
Result<void> add_adapter(Model& model, const GgufHeader& adapter, const std::string& id);

/// What a draft model's server is asked for: as many tokens as the other's context holds.
Settings draft_settings(const Settings& settings, std::int64_t n_ctx);

/// Puts a draft model's memory into the same buffers.
void add_draft_memory(ServerMemory& memory, const ServerMemory& draft);

}  // namespace memtape::llamacpp
