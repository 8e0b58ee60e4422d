// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/mixed_precision.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "framework/vllm/methods/moe_methods.h"
#include "framework/vllm/methods/nvfp4.h"
#include "framework/vllm/methods/scaled.h"
#include "release/engine_changes.h"

namespace memtape::vllm {
namespace {

struct Algorithm {
  std::shared_ptr<const LinearMethod> linear;
  std::shared_ptr<const MoeMethod> experts;
};

/// The algorithm of that name; without methods where it is not modelled.
Algorithm algorithm_named(std::string_view name) {
  if (name == "NVFP4" || name == "W4A16_NVFP4") {
    const NvFp4Scheme scheme{.quantizes_input = name == "NVFP4"};
    return {std::make_shared<NvFp4Linear>(scheme), nvfp4_experts(scheme)};
  }
  if (name != "FP8") return {};
  const ScaledScheme scheme{
      .scales = ScaleShape::tensor, .static_activation = true, .takes_quantized_input = true};
  return {std::make_shared<ScaledLinear>(scheme), scaled_experts(scheme)};
}

class MixedPrecision final : public Quantization {
 public:
  explicit MixedPrecision(Skipped skipped) : skipped_(std::move(skipped)) {}

  std::string_view name() const override { return "modelopt_mixed"; }
  std::shared_ptr<const LinearMethod> linear(const Place& place) const override {
    const Algorithm* at = algorithm_of(place.prefix());
    return at ? at->linear : nullptr;
  }
  std::shared_ptr<const MoeMethod> experts(const Place& place) const override {
    const Algorithm* at = algorithm_of(place.prefix());
    return at ? at->experts : nullptr;
  }
  bool quantizes_head(const Place& place) const override { return linear(place) != nullptr; }
  bool has_kv_scales() const override { return true; }

  /// Fails with the name of an algorithm that is not modelled.
  bool add(const std::string& layer, const std::string& algorithm) {
    const auto [at, is_new] = algorithms_.try_emplace(algorithm);
    if (is_new) at->second = algorithm_named(algorithm);
    layers_.insert_or_assign(path_of_text(layer), &at->second);
    return at->second.linear != nullptr;
  }

 private:
  /// _resolve_quant_algo: the layer itself, the first part of a fused one, or, of experts, any layer
  /// within.
  const Algorithm* algorithm_of(const std::string& prefix) const {
    if (skipped_.has(prefix)) return nullptr;
    if (const auto at = layers_.find(prefix); at != layers_.end()) return at->second;
    if (const auto at = layers_.find(first_part_of(prefix)); at != layers_.end()) return at->second;
    const std::string inside = prefix + ".";
    const auto at = layers_.lower_bound(inside);
    return at != layers_.end() && at->first.starts_with(inside) ? at->second : nullptr;
  }

  Skipped skipped_;
  std::map<std::string, Algorithm> algorithms_;
  std::map<std::string, const Algorithm*> layers_;
};

}  // namespace

Result<std::unique_ptr<Quantization>> mixed_precision(const Config& c, Skipped skipped,
                                                      const Settings& settings) {
  const std::string where = c.where() + ": quantization_config.quantized_layers";
  const auto needs = [&](const Change& change) {
    return settings.sglang_layers || settings.release.has(change);
  };
  const auto refused = [&](std::string_view what, const Change& change) {
    return unsupported(fmt::format("vLLM {} {}", settings.release.of(Package::vllm).text(), what),
                       where, fmt::format("--engine-version {}", change.since.text()));
  };
  if (!needs(changes::kVllmMixesAlgorithms))
    return refused("does not mix algorithms", changes::kVllmMixesAlgorithms);
  auto made = std::make_unique<MixedPrecision>(std::move(skipped));
  const Config layers = c.object("quantized_layers");
  for (const std::string& layer : layers.keys()) {
    const std::string algorithm = layers.object(layer).text("quant_algo", "");
    if (!made->add(layer, algorithm))
      return unsupported(fmt::format("{} of {} is not modelled", algorithm, layer), where,
                         "FP8, NVFP4 or W4A16_NVFP4");
    if (algorithm == "W4A16_NVFP4" && !needs(changes::kVllmMixesWeightsAlone))
      return refused("mixes no W4A16_NVFP4 with others", changes::kVllmMixesWeightsAlone);
    if (layer == "lm_head" && !needs(changes::kVllmQuantizesHeads))
      return refused("has no quantized lm_head", changes::kVllmQuantizesHeads);
  }
  return made;
}

}  // namespace memtape::vllm
