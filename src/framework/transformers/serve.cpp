// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/serve.h"

#include <algorithm>
#include <string>

#include "allocator/placement.h"
#include "timeline/play.h"
#include "workload/device_traits.h"

namespace memtape::transformers {
namespace {

constexpr std::array<std::string_view, 3> kDtypes{"bfloat16", "float16", "float32"};
constexpr std::array kDtypeValues{DType::bfloat16, DType::float16, DType::float32};
constexpr std::array<std::string_view, 2> kAttentions{"sdpa", "eager"};
constexpr std::array kAttentionValues{AttentionChoice::sdpa, AttentionChoice::eager};
constexpr std::array<std::string_view, 2> kCaches{"dynamic", "static"};

/// Reads flags one after the other; the first mistake is kept.
class Flags {
 public:
  explicit Flags(const ServeOptions& options) : options_(options) {}

  std::int64_t count(std::string_view name, std::int64_t otherwise) {
    return take(options_.integer(name, otherwise, {.least = 1, .most = std::int64_t{1} << 31}));
  }
  std::size_t choice(std::string_view name, std::span<const std::string_view> choices) {
    return take(options_.choice(name, choices, choices.front()));
  }
  const std::optional<Error>& mistake() const { return mistake_; }

 private:
  template <class T>
  T take(Result<T> value) {
    if (value) return *value;
    if (!mistake_) mistake_ = value.error();
    return {};
  }
  const ServeOptions& options_;
  std::optional<Error> mistake_;
};

Result<GenerateRecipe> recipe_of(const ServeOptions& options) {
  Flags flags(options);
  GenerateRecipe recipe;
  recipe.dtype = kDtypeValues[flags.choice("dtype", kDtypes)];
  recipe.attention = kAttentionValues[flags.choice("attention", kAttentions)];
  recipe.batch_size = flags.count("batch-size", recipe.batch_size);
  recipe.prompt_length = flags.count("prompt-length", recipe.prompt_length);
  recipe.max_new_tokens = flags.count("max_new_tokens", recipe.max_new_tokens);
  recipe.static_cache = flags.choice("cache_implementation", kCaches) == 1;
  if (options.has("prefill_chunk_size"))
    recipe.prefill_chunk_size = flags.count("prefill_chunk_size", 1);
  const std::int64_t beams = flags.count("num_beams", 1);
  if (flags.mistake()) return tl::unexpected(*flags.mistake());
  if (beams != 1) return unsupported("beam search is not modelled", "--num_beams", "1");
  if (recipe.batch_size > (std::int64_t{1} << 31) / (recipe.prompt_length + recipe.max_new_tokens))
    return bad_input("more than 2^31 tokens at a time", "--batch-size x --prompt-length",
                     "a batch that a GPU could hold");
  return recipe;
}

/// The peaks of what comes after loading, and the moment of the highest.
struct Peaks {
  Levels all, prefill, decode;
  std::size_t event = 0;
  Bytes loaded = 0;  ///< allocated when the model is on the device
};

Peaks peaks_of(const Tape& tape, const Timeline& timeline) {
  Peaks peaks;
  bool begun = false;
  for (const Window& window : timeline.windows) {
    if (window.mark.step < 0) continue;
    if (!begun) peaks.loaded = window.at_start.allocated;
    begun = true;
    if (window.peak.allocated > peaks.all.allocated) peaks.event = window.peak_event;
    peaks.all.raise_to(window.peak);
    if (window.mark.phase == Phase::forward)
      (window.mark.step == 0 ? peaks.prefill : peaks.decode).raise_to(window.peak);
  }
  while (peaks.event > 0 && tape.events[peaks.event].kind == EventKind::mark) --peaks.event;
  return peaks;
}

KvCache cache_of(const GenerateRun& run, const Played& played, const GenerateRecipe& recipe) {
  KvCache cache;
  const Lifetimes lifetimes(run.tape);
  const std::size_t last = run.tape.events.size() - 1;
  cache.bytes = lifetimes.alive_by_category(played.sizes, last)[Category::kv_cache];
  cache.tokens = recipe.batch_size * (recipe.prompt_length + recipe.max_new_tokens - 1);
  const bool slides =
      std::ranges::any_of(run.sliding_windows, [](std::int64_t window) { return window > 0; });
  if (!slides) cache.bytes_per_token = cache.bytes / cache.tokens;
  return cache;
}

std::vector<Setting> settings_of(const GenerateRecipe& recipe) {
  const auto quoted = [](std::string_view text) { return '"' + std::string(text) + '"'; };
  const auto at = [](const auto& values, auto value) {
    return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
  };
  return {{"dtype", quoted(kDtypes[at(kDtypeValues, recipe.dtype)])},
          {"attention", quoted(kAttentions[at(kAttentionValues, recipe.attention)])},
          {"batch_size", std::to_string(recipe.batch_size)},
          {"prompt_length", std::to_string(recipe.prompt_length)},
          {"max_new_tokens", std::to_string(recipe.max_new_tokens)},
          {"cache_implementation", quoted(kCaches[recipe.static_cache ? 1 : 0])},
          {"prefill_chunk_size",
           recipe.prefill_chunk_size ? std::to_string(*recipe.prefill_chunk_size) : "null"}};
}

}  // namespace

Result<GenerateRun> run_generate(const ServeRequest& request) {
  const Result<GenerateRecipe> recipe = recipe_of(request.options);
  if (!recipe) return tl::unexpected(recipe.error());
  return run_generate(*request.config, *recipe, device_traits(request.device.gpu));
}

Result<ServeAnswer> serve(const ServeRequest& request) {
  if (!request.config)
    return unsupported("generate() needs a configuration", request.id, "a config.json");
  const Result<GenerateRecipe> recipe = recipe_of(request.options);
  if (!recipe) return tl::unexpected(recipe.error());
  const Result<GenerateRun> run =
      run_generate(*request.config, *recipe, device_traits(request.device.gpu));
  if (!run) return tl::unexpected(run.error());

  const std::unique_ptr<Driver> driver = make_driver(request.device.placement, {});
  CachingAllocator allocator(*driver, request.device.allocator);
  Played played;
  const Timeline timeline = play(run->tape, allocator, played, {});
  const Peaks peaks = peaks_of(run->tape, timeline);

  ServeAnswer answer;
  answer.model = {.id = request.id,
                  .family = request.config->text("model_type", ""),
                  .parameters = run->parameters,
                  .weight_bytes = run->parameter_bytes};
  answer.workload = settings_of(*recipe);
  answer.mesh = {{"gpus", "1"}};
  ServeRank rank;
  rank.weights_bytes = peaks.loaded;
  rank.kv_cache = cache_of(*run, played, *recipe);
  rank.non_torch_bytes = request.device.context_bytes();
  rank.at_peak = Lifetimes(run->tape).alive_by_category(played.sizes, peaks.event);
  rank.activation_peak_bytes =
      peaks.all.allocated - peaks.loaded - rank.at_peak[Category::kv_cache];
  rank.at_peak[Category::context] = rank.non_torch_bytes;
  rank.at_peak[Category::unknown] += peaks.all.reserved - peaks.all.allocated;
  rank.peak = peaks.all;
  rank.peak_device_bytes = peaks.all.reserved + rank.non_torch_bytes;
  rank.phases = {{"prefill", peaks.prefill}, {"decode", peaks.decode}};
  answer.ranks.push_back(std::move(rank));
  return answer;
}

}  // namespace memtape::transformers
