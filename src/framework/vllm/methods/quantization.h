// SPDX-License-Identifier: Apache-2.0
// Quantization: the method by which the weights of a layer are held and multiplied. It is read from
// the checkpoint's quantization_config, as vLLM's QuantizationConfig classes read it
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
  /// The method of the linear layer at `prefix`. It is null if the layer is not quantized.
  virtual std::shared_ptr<const LinearMethod> linear(const Place& place) const = 0;
  /// The method of the experts at `prefix`. It is null if they are not quantized.
  virtual std::shared_ptr<const MoeMethod> experts(const Place&) const { return nullptr; }
  /// Whether the head at `place` is one of the linear layers that are quantized.
  virtual bool quantizes_head(const Place&) const { return false; }
  /// Whether the checkpoint brings scales for the KV cache (BaseKVCacheMethod).
  virtual bool has_kv_scales() const { return false; }
};

/// The scheme of `config` (from its quantization_config or from --quantization), or null if there
/// is none.
Result<std::unique_ptr<Quantization>> read_quantization(const Config& config,
                                                        const Settings& settings);

/// resolve_quant_method for a linear layer.
std::shared_ptr<const LinearMethod> linear_method(const Place& place, bool quantized);

/// UnquantizedLinearMethod.
std::shared_ptr<const LinearMethod> unquantized_linear();

}  // namespace memtape::vllm
