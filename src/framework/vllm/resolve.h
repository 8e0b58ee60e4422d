// SPDX-License-Identifier: Apache-2.0
// Resolves vLLM's configuration: what was given, what the model's configuration says, and the
// defaults that depend on the device (vllm/engine/arg_utils.py, vllm/config).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "serving/serve_engine.h"

namespace memtape::vllm {

/// The release whose layers are transcribed.
inline constexpr std::string_view kVersion = "0.32.0";

/// The model's configuration, with the changes that `flag` (--hf-overrides) makes.
Result<Config> with_overrides(const ServeRequest& request, std::string_view flag);

/// The part of a configuration that describes the text model, which is nested in multimodal
/// configurations.
Config text_config(const Config& config);

/// Whether the server takes neither images nor videos, so that it does not make their encoders
/// (interfaces.py, _mark_tower_model: --language-model-only, or --limit-mm-per-prompt of 0).
Result<bool> serves_text_alone(const ServeRequest& request, const Config& config);
/// `config` with its encoders replaced by empty objects.
Config without_encoders(const Config& config);

/// --cpu-offload-gb, which vLLM and SGLang read alike.
Result<Bytes> cpu_offload_of(const ServeOptions& options);

/// Volta is the first that vLLM is built for (CUDA_SUPPORTED_ARCHS of its CMakeLists.txt).
inline constexpr int kLeastCapability = 70;

/// The device on which `engine` runs, of that compute capability at least, as in 75. The size of
/// its memory must be known.
Result<DeviceFacts> device_facts(const DeviceSetup& device, std::string_view engine,
                                 int least_capability);

/// The settings of rank 0. `warnings` receives what was given and is not modelled.
/// `named` has the architecture of the checkpoint, `config` that of the decoder (pooling.h).
Result<Settings> resolve(const ServeRequest& request, const Config& named, const Config& config,
                         std::vector<std::string>& warnings);

}  // namespace memtape::vllm
