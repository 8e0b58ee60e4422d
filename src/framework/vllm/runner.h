// SPDX-License-Identifier: Apache-2.0
// Which engine and model runner of vLLM serve a model: its release, the device, and what the model
// is made of decide (EngineArgs._is_v1_supported_oracle, VllmConfig.use_v2_model_runner).
#pragma once

#include "framework/vllm/settings.h"
#include "model/config.h"
#include "workload/serve_options.h"

namespace memtape::vllm {

/// `config` is the decoder's. The release, the device and whether the model pools are settled in `s`.
Runner runner_of(const ServeOptions& options, const Config& config, const Settings& s);

/// Models of recurrent layers alone, and with attention between.
bool has_no_attention(const Config& config);
bool is_hybrid(const Config& config);

}  // namespace memtape::vllm
