// SPDX-License-Identifier: Apache-2.0
// Quantization: which method a layer's weights are held and multiplied with. It is read from the
// checkpoint's quantization_config, as vLLM's QuantizationConfig classes read it
// (vllm/model_executor/layers/quantization).
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

class MoeMethod;

class Quantization {
 public:
  virtual ~Quantization() = default;
  virtual std::string_view name() const = 0;
  /// The method of the linear layer at `prefix`; null: held as it is.
  virtual std::shared_ptr<const LinearMethod> linear(const Place& place) const = 0;
  /// The method of the experts at `prefix`; null: held as they are.
  virtual std::shared_ptr<const MoeMethod> experts(const Place&) const { return nullptr; }
  /// Scales of the KV cache that the checkpoint brings (BaseKVCacheMethod).
  virtual bool has_kv_scales() const { return false; }
};

/// The scheme of `config` (its quantization_config, or --quantization); null for none.
Result<std::unique_ptr<Quantization>> read_quantization(const Config& config,
                                                        const Settings& settings);

/// resolve_quant_method for a linear layer.
std::shared_ptr<const LinearMethod> linear_method(const Place& place, bool quantized);

/// UnquantizedLinearMethod.
std::shared_ptr<const LinearMethod> unquantized_linear();

}  // namespace memtape::vllm
