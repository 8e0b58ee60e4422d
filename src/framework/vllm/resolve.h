// SPDX-License-Identifier: Apache-2.0
// The resolution of vLLM's configuration: what was given, what the model's configuration says, and
// the defaults that depend on the device (vllm/engine/arg_utils.py, vllm/config).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "serving/serve_engine.h"

namespace memtape::vllm {

/// The model's configuration with what `flag` (--hf-overrides) says in its place.
Result<Config> with_overrides(const ServeRequest& request, std::string_view flag);

/// The part of a configuration that describes the text model: nested in multimodal ones.
Config text_config(const Config& config);

/// Whether the server takes neither images nor videos, so that their encoders are not made
/// (interfaces.py, _mark_tower_model: --language-model-only, or --limit-mm-per-prompt of 0).
Result<bool> serves_text_alone(const ServeOptions& options, const Config& config);
/// `config` with empty objects in the place of its encoders.
Config without_encoders(const Config& config);

/// A warning for models with encoders of images or sound, which are not modelled.
void warn_of_towers(const Config& config, std::vector<std::string>& warnings);

/// The device that `engine` runs on; it must be known how much memory it has.
Result<DeviceFacts> device_facts(const ServeDevice& device, std::string_view engine);

/// Settings of rank 0; `warnings` takes what was given but is not modelled.
Result<Settings> resolve(const ServeRequest& request, const Config& config,
                         std::vector<std::string>& warnings);

}  // namespace memtape::vllm
