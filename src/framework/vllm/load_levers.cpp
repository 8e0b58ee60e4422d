// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/load_levers.h"

#include <fmt/format.h>

#include "base/text.h"
#include "framework/vllm/methods/online.h"
#include "model/catalog.h"

namespace memtape::vllm {
namespace {

void name_release(ServeAnswer& answer, const Settings& settings, const LoadTrial& trial,
                  Version version, std::string_view does) {
  Settings other = settings;
  other.release.set(Package::vllm, version);
  const std::optional<Loading> loading = trial(other);
  if (loading && loading->failure.empty())
    answer.notes.push_back(fmt::format("vLLM {} {}: {} while loading", version.text(), does,
                                       gib(loading->device_bytes)));
}

}  // namespace

void add_load_levers(ServeAnswer& answer, const Settings& settings, const LoadTrial& trial) {
  if (!answer.loading || answer.loading->failure.empty() || settings.online != OnlineScheme::fp8)
    return;
  constexpr Version kLastThatLoadsFirst{0, 12, 0};
  const OnlineLoading loading = online_loading(settings);
  if (!settings.sglang_layers && loading != OnlineLoading::streamed)
    name_release(answer, settings, trial, changes::kVllmStreamsOnlineWeights.since,
                 "and later quantize each layer when it is loaded");
  if (loading == OnlineLoading::beside)
    name_release(answer, settings, trial, kLastThatLoadsFirst,
                 "lets the 16-bit weights of a layer go when it quantizes them");
  const std::vector<std::string_view> quantized = quantized_checkpoints(answer.model.id);
  answer.notes.push_back(
      quantized.empty()
          ? "a checkpoint that is quantized already brings no 16-bit weights to the GPU"
          : fmt::format("{} is quantized already: it brings no 16-bit weights to the GPU",
                        fmt::join(quantized, " or ")));
}

}  // namespace memtape::vllm
