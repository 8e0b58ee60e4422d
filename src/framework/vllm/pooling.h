// SPDX-License-Identifier: Apache-2.0
// Models that vLLM serves for embeddings, scores and rewards (ModelConfig._get_runner_type and
// _get_convert_type of vllm/config/model.py, adapters.py of its models): a decoder without a head
// and a sampler, whose hidden states are pooled.
#pragma once

#include <optional>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "workload/serve_options.h"

namespace memtape::vllm {

/// What --runner, --convert, --task and the architecture ask for; nothing of a model that generates.
Result<std::optional<Pooling>> pooling_of(const ServeOptions& options, const Config& config);

/// _normalize_arch of vllm/model_executor/models/registry.py: the configuration with the decoder's
/// architecture in the place of that of its pooling model.
Config as_decoder(const Config& config);

}  // namespace memtape::vllm
