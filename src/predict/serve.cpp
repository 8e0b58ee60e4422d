// SPDX-License-Identifier: Apache-2.0
#include "predict/serve.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/llamacpp/serve.h"
#include "framework/sglang/serve.h"
#include "framework/transformers/generate.h"
#include "framework/transformers/serve.h"
#include "framework/vllm/resolve.h"
#include "framework/vllm/serve.h"
#include "ghost/device_traits.h"
#include "option/value.h"
#include "predict/device_summary.h"

namespace memtape {
namespace {

/// One row an engine.
constexpr std::array kEngines{llamacpp::kEngine, vllm::kEngine, sglang::kEngine,
                              transformers::kServeEngine};

const ServeRank* fullest(const ServeAnswer& answer) {
  const auto at = std::ranges::max_element(answer.ranks, {}, &ServeRank::peak_device_bytes);
  return at == answer.ranks.end() ? nullptr : &*at;
}

/// Loading comes first: what it lacks is why the server does not start.
void judge_loading(ServeAnswer& answer) {
  if (!answer.loading) return;
  const ServeLoading& loading = *answer.loading;
  if (!loading.failure.empty()) {
    answer.failure = fmt::format("while loading: {}", loading.failure);
    answer.headroom_bytes = answer.device->total_bytes - loading.peak_bytes;
  } else if (answer.doubt.empty()) {
    answer.doubt = loading.doubt;
  }
}

/// What every engine's answer is completed with.
void complete(ServeAnswer& answer, const ServeRequest& request) {
  if (!answer.device) {
    const DeviceSetup& device = request.device;
    answer.device = device_summary(device);
  }
  const ServeRank* rank = fullest(answer);
  if (!rank) return;
  answer.peak_rank = rank->ranks.empty() ? 0 : rank->ranks.front();
  if (!answer.bounds) answer.bounds = Bounds{rank->peak_device_bytes, rank->peak_device_bytes, {}};
  if (!answer.device) return;
  answer.headroom_bytes = answer.device->total_bytes - rank->peak_device_bytes;
  judge_loading(answer);
  answer.fits = answer.failure.empty() && *answer.headroom_bytes >= 0;
  if (!answer.failure.empty())
    answer.verdict = VerdictWord::does_not_fit;
  else if (*answer.fits && !answer.doubt.empty())
    answer.verdict = VerdictWord::may_not_fit;
  else
    answer.verdict = verdict_word(*answer.fits, *answer.bounds, answer.device->total_bytes);
}

/// Programs around llama.cpp, and its own.
bool runs_llamacpp(std::string_view name) {
  constexpr std::array<std::string_view, 7> kAround{
      "ollama", "lmstudio", "lm-studio", "llama-server", "koboldcpp", "llama-cpp-python", "jan"};
  return std::ranges::find(kAround, name) != kAround.end();
}

/// Flags without effect are numbers all the same: what the engine itself would refuse is no answer.
Result<void> check_numbers(const ServeEngine& engine, const ServeOptions& options) {
  for (const ServeFlag& flag : engine.flags) {
    const bool is_whole = flag.form == "N";
    if (!flag.help.empty() || !(is_whole || flag.form == "X")) continue;
    const Result<void> fine = is_whole ? options.integer(flag.name(), 0).map([](std::int64_t) {})
                                       : options.number(flag.name(), 0).map([](double) {});
    if (!fine) return fine;
    const std::string* const text = options.find(flag.name());
    if (text && text->starts_with('-'))
      return option::unusable(flag.name(), *text, "a number from 0 on");
  }
  return {};
}

}  // namespace

std::int64_t counted_parameters(const ServeRequest& request) {
  if (!request.config) return 0;
  transformers::GenerateRecipe least;
  least.prompt_length = least.max_new_tokens = 1;
  const auto run = transformers::run_generate(*request.config, least, device_traits(std::nullopt));
  return run ? run->parameters : 0;
}

Config text_part(const Config& config) { return vllm::text_config(config); }

std::span<const ServeEngine> serve_engines() { return kEngines; }

Result<const ServeEngine*> find_serve_engine(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ServeEngine& engine : kEngines) {
    if (engine.name == name) return &engine;
    names.push_back(engine.name);
  }
  std::string hint = runs_llamacpp(name) ? fmt::format(
                                               "{} runs llama.cpp: --engine llamacpp with "
                                               "its --ctx-size, --n-gpu-layers and "
                                               "--quantize Q4_K_M",
                                               name)
                                         : suggestion(name, names);
  return bad_input(fmt::format("unknown engine {}", name), "--engine", std::move(hint));
}

Result<ServeAnswer> predict_serve(const ServeEngine& engine, const ServeRequest& request) {
  if (const Result<void> fine = check_numbers(engine, request.options); !fine)
    return tl::unexpected(fine.error());
  Result<ServeAnswer> answer = engine.serve(request);
  if (!answer) return answer;
  answer->engine = engine.name;
  complete(*answer, request);
  return answer;
}

}  // namespace memtape
