// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/runner.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "framework/vllm/refusals.h"
#include "release/engine_changes.h"

namespace memtape::vllm {
namespace {

template <std::size_t N>
bool is_one_of(const Config& config, const std::array<std::string_view, N>& architectures) {
  return std::ranges::any_of(config.texts("architectures"), [&](const std::string& name) {
    return std::ranges::find(architectures, name) != architectures.end();
  });
}

/// DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES: models with experts that went first.
bool goes_first(const Config& config, const Release& release) {
  constexpr std::array<std::string_view, 3> kFirst{"DeepseekV2ForCausalLM", "GraniteMoeForCausalLM",
                                                   "Qwen2MoeForCausalLM"};
  constexpr std::array<std::string_view, 1> kNext{"DeepseekV4ForCausalLM"};
  return is_one_of(config, kFirst) ||
         (release.has(changes::kVllmRunsDeepseekV4OnV2) && is_one_of(config, kNext));
}

/// _is_default_v2_model_runner_model of 0.25.1 to 0.28.
bool runs_on_v2(const Config& config, const Release& release) {
  if (release.has(changes::kVllmRunsAllModelsOnV2)) return true;
  if (!release.has(changes::kVllmRunsDenseModelsOnV2)) return false;
  if (is_hybrid(config) || has_no_attention(config)) return false;
  return !has_experts(config) || goes_first(config, release);
}

}  // namespace

bool has_no_attention(const Config& config) {
  constexpr std::array<std::string_view, 3> kNames{"MambaForCausalLM", "FalconMambaForCausalLM",
                                                   "Mamba2ForCausalLM"};
  return is_one_of(config, kNames);
}

bool is_hybrid(const Config& config) {
  constexpr std::array<std::string_view, 7> kNames{
      "JambaForCausalLM",   "NemotronHForCausalLM",  "Qwen3NextForCausalLM",
      "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "GraniteMoeHybridForCausalLM",
      "Lfm2ForCausalLM"};
  return is_one_of(config, kNames);
}

Runner runner_of(const ServeOptions& options, const Config& config, const Settings& s) {
  const Release& release = s.release;
  const Change& first = s.pooling ? changes::kVllmPoolsOnV1 : changes::kVllmEngineIsV1;
  const bool is_offered = release.has(changes::kVllmOffersV1) && !s.pooling;
  const bool asks_for_v1 = is_offered && options.text("use-v1", "0") == "1";
  if (options.text("use-v1", "1") == "0" || (!release.has(first) && !asks_for_v1))
    return Runner::v0;
  if (s.device.traits.major < 8 && !release.has(changes::kVllmRunsV1OnEveryGpu)) return Runner::v0;
  if (const std::string* asked = options.find("use-v2-model-runner"))
    return *asked == "0" ? Runner::v1 : Runner::v2;
  const bool has_stages = options.text("pipeline-parallel-size", "1") != "1";
  if (has_stages && options.text("distributed-executor-backend", "") == "external_launcher")
    return Runner::v1;
  if (s.pooling && !release.has(changes::kVllmPoolsOnV2)) return Runner::v1;
  return runs_on_v2(config, release) ? Runner::v2 : Runner::v1;
}

}  // namespace memtape::vllm
