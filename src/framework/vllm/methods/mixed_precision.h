// SPDX-License-Identifier: Apache-2.0
// ModelOpt's MIXED_PRECISION: quantized_layers says for each layer by what algorithm it is
// quantized; a layer that it does not name is left alone
// (vllm/model_executor/layers/quantization/modelopt.py, ModelOptMixedPrecisionConfig).
#pragma once

#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/methods/skipped_layers.h"

namespace memtape::vllm {

/// `c` has the key quantized_layers.
Result<std::unique_ptr<Quantization>> mixed_precision(const Config& c, Skipped skipped,
                                                      const Settings& settings);

}  // namespace memtape::vllm
