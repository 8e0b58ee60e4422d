// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/serve.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "framework/transformers/generation_flags.h"
#include "framework/transformers/image_bounds.h"
#include "framework/transformers/passes.h"
#include "framework/transformers/serve_head.h"
#include "framework/transformers/stored_weights.h"
#include "ghost/device_traits.h"
#include "mesh/torch_support.h"
#include "model/type_of.h"
#include "serving/serve_gpus.h"
#include "workload/train_options.h"

namespace memtape::transformers {
namespace {

constexpr std::array<std::string_view, 3> kDtypes{"bfloat16", "float16", "float32"};
constexpr std::array kDtypeValues{DType::bfloat16, DType::float16, DType::float32};
constexpr std::string_view kFlashWithSinks = "kernels-community/vllm-flash-attn3";
constexpr std::array kAttentions{std::string_view("sdpa"), std::string_view("eager"),
                                 kFlashWithSinks};
constexpr std::array kAttentionValues{AttentionChoice::sdpa, AttentionChoice::eager,
                                      AttentionChoice::flash};
constexpr std::array<std::string_view, 5> kCaches{"dynamic", "static", "offloaded",
                                                  "offloaded_static", "quantized"};
constexpr std::array kCacheKinds{family::CacheKind::dynamic, family::CacheKind::fixed,
                                 family::CacheKind::dynamic, family::CacheKind::fixed,
                                 family::CacheKind::quantized};

/// What of assisted decoding depends on the tokens that are made, and on what is installed.
constexpr std::string_view kAssistantPolicy =
    "the assistant is taken to propose as many tokens as it may in every round and the model to "
    "keep them all: no pass is larger; what scikit-learn adds where it is installed (the "
    "probabilities of a round's candidates, to adapt the threshold) is not counted";

bool offloads(std::string_view cache) { return cache.starts_with("offloaded"); }

/// QuantizedCache's arguments by their own names.
Result<family::QuantizedStates::Settings> quantized_states(const ServeOptions& options) {
  family::QuantizedStates::Settings settings;
  const std::string* const text = options.find("cache_config");
  if (!text) return settings;
  const Result<Config> given = Config::parse(*text, "--cache_config");
  if (!given) return tl::unexpected(given.error());
  if (const std::string backend = given->text("backend", "quanto"); backend != "quanto")
    return unsupported("this backend is not modelled", "--cache_config: backend: " + backend,
                       "quanto");
  settings.nbits = given->dimension("nbits", settings.nbits);
  settings.axis_key = given->integer("axis_key", settings.axis_key);
  settings.axis_value = given->integer("axis_value", settings.axis_value);
  settings.q_group_size = given->dimension("q_group_size", settings.q_group_size);
  settings.residual_length = given->dimension("residual_length", settings.residual_length);
  if (settings.nbits != 2 && settings.nbits != 4) given->fail("nbits", "must be 2 or 4");
  for (const auto& [name, axis] :
       {std::pair("axis_key", settings.axis_key), std::pair("axis_value", settings.axis_value)})
    if (axis != 0 && axis != -1) given->fail(name, "must be 0 or -1");
  if (const Result<void> read = given->check(); !read) return tl::unexpected(read.error());
  return settings;
}

/// FlashAttention 3 runs on Hopper, and is modelled where it is what takes sinks.
Result<void> check_attention(const ServeRequest& request, const GenerateRecipe& recipe) {
  if (recipe.attention != AttentionChoice::flash) return {};
  if (type_of(*request.config) != "gpt_oss")
    return unsupported("this kernel is modelled for GPT-OSS alone under generate()", "--attention",
                       "sdpa or eager");
  if (recipe.gpu && recipe.gpu->capability_major != 9)
    return bad_input(
        std::string(kFlashWithSinks) + " runs on Hopper, not on " + std::string(recipe.gpu->name),
        "--attention", "eager");
  return {};
}

Result<GenerateRecipe> recipe_of(const ServeRequest& request) {
  const ServeOptions& options = request.options;
  constexpr IntegerRange kCount{.least = 1, .most = std::int64_t{1} << 31};
  FlagReader flags(options);
  GenerateRecipe recipe;
  recipe.release = request.release;
  recipe.gpu = request.device.gpu;
  recipe.dtype = kDtypeValues[flags.choice("dtype", kDtypes)];
  recipe.attention = kAttentionValues[flags.choice("attention", kAttentions)];
  recipe.batch_size = flags.integer("batch-size", recipe.batch_size, kCount);
  recipe.prompt_length = flags.integer("prompt-length", recipe.prompt_length, kCount);
  recipe.max_new_tokens = flags.integer("max_new_tokens", recipe.max_new_tokens, kCount);
  const std::size_t cache = flags.choice("cache_implementation", kCaches);
  recipe.cache = kCacheKinds[cache];
  recipe.offloads_cache = offloads(kCaches[cache]);
  if (options.has("prefill_chunk_size"))
    recipe.prefill_chunk_size = flags.integer("prefill_chunk_size", 1, kCount);
  recipe.num_beams = flags.integer("num_beams", recipe.num_beams, kCount);
  if (const auto read = flags.done(); !read) return tl::unexpected(read.error());
  if (const auto fine = check_attention(request, recipe); !fine)
    return tl::unexpected(fine.error());
  const auto quantized = quantized_states(options);
  if (!quantized) return tl::unexpected(quantized.error());
  recipe.quantized = *quantized;
  if (recipe.cache == family::CacheKind::quantized && recipe.num_beams > 1)
    return bad_input("a quantized cache cannot be reordered: transformers fails at the first token",
                     "--num_beams", "another --cache_implementation");
  if (const Result<void> read = read_generation_flags(request, recipe); !read)
    return tl::unexpected(read.error());
  if (recipe.batch_size * recipe.num_beams >
      (std::int64_t{1} << 31) / (recipe.prompt_length + recipe.max_new_tokens))
    return bad_input("more than 2^31 tokens at a time", "--batch-size x --prompt-length",
                     "a batch that a GPU could hold");
  return recipe;
}

KvCache cache_of(const GenerateRun& run, const Passes& passes, const GenerateRecipe& recipe) {
  KvCache cache;
  cache.bytes = passes.kv_cache;
  cache.tokens =
      recipe.batch_size * recipe.num_beams * (recipe.prompt_length + recipe.max_new_tokens - 1);
  const bool slides =
      std::ranges::any_of(run.sliding_windows, [](std::int64_t window) { return window > 0; });
  if (!slides) cache.bytes_per_token = cache.bytes / cache.tokens;
  return cache;
}

std::string_view cache_name(const GenerateRecipe& recipe) {
  for (std::size_t i = 0; i < kCaches.size(); ++i)
    if (kCacheKinds[i] == recipe.cache && offloads(kCaches[i]) == recipe.offloads_cache)
      return kCaches[i];
  return {};
}

std::string cache_config(const GenerateRecipe& recipe) {
  if (recipe.cache != family::CacheKind::quantized) return "null";
  const family::QuantizedStates::Settings& q = recipe.quantized;
  return fmt::format(
      R"({{"backend": "quanto", "nbits": {}, "axis_key": {}, "axis_value": {}, "q_group_size": {}, "residual_length": {}}})",
      q.nbits, q.axis_key, q.axis_value, q.q_group_size, q.residual_length);
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
          {"cache_implementation", quoted(cache_name(recipe))},
          {"cache_config", cache_config(recipe)},
          {"num_beams", std::to_string(recipe.num_beams)},
          {"prefill_chunk_size",
           recipe.prefill_chunk_size ? std::to_string(*recipe.prefill_chunk_size) : "null"}};
}

std::vector<Setting> settings_of_pass(const GenerateRecipe& recipe, const family::NamedHead& head) {
  std::vector<Setting> settings = settings_of(recipe);
  settings.resize(4);  // up to the length of the texts
  const std::string_view task = head.has_none ? "feature-extraction" : name(head.task);
  settings.insert(settings.begin(), {"task", '"' + std::string(task) + '"'});
  return settings;
}

/// Images of a prompt are left out.
void add_images(const ServeRequest& request, const GenerateRecipe& recipe, ServeAnswer& answer) {
  const Bytes most = most_for_one_image(*request.config, bytes_of(recipe.dtype, 1));
  if (most == 0) return;
  const Bytes peak = answer.ranks.front().peak_device_bytes;
  if (!answer.bounds) answer.bounds = Bounds{peak, peak, {}};
  answer.bounds->high_bytes += most;
  answer.bounds->causes.emplace_back(
      "the prompt is text alone: an image that is read takes up to as much more");
}

constexpr const char* kVersion = "5.17";

/// Digits with dots between, as many as two at least.
bool is_version(std::string_view text) {
  const bool is_plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_plain && !text.starts_with('.') && !text.ends_with('.') &&
         text.find('.') != std::string_view::npos && text.find("..") == std::string_view::npos;
}

}  // namespace

Result<GenerateRun> run_generate(const ServeRequest& request) {
  const Result<GenerateRecipe> recipe = recipe_of(request);
  if (!recipe) return tl::unexpected(recipe.error());
  return run_generate(*request.config, *recipe, device_traits(request.device.gpu));
}

namespace {

/// How the weights of a quantized checkpoint lie on the GPU, and how sure that is.
Result<void> add_stored_weights(const ServeRequest& request, const GenerateRun& run,
                                ServeAnswer& answer) {
  const Result<StoredWeights> stored = stored_weights(*request.config, request.device.gpu);
  if (!stored) return tl::unexpected(stored.error());
  answer.warnings.insert(answer.warnings.end(), stored->assumed.begin(), stored->assumed.end());
  const Bytes peak = answer.ranks.front().peak_device_bytes;
  constexpr int kAnswered = 16;
  const Bytes unknown = run.parameter_bytes / kAnswered * (kAnswered - stored->least_bits);
  if (unknown > 0)
    answer.bounds = Bounds{peak - unknown, peak, {"how the quantized weights lie on the GPU"}};
  const Bytes unpacked =
      std::min(run.most_unpacked, answer.ranks.front().at_peak[Category::temporary]);
  if (unpacked > 0)
    answer.bounds = Bounds{peak - unpacked, peak, {"whether a kernel unpacks the weight it reads"}};
  return {};
}

}  // namespace

Result<ServeAnswer> serve(const ServeRequest& request) {
  if (!request.config)
    return unsupported("generate() needs a configuration", request.id, "a config.json");
  const std::string version = request.options.text("engine-version", kVersion);
  if (!is_version(version))
    return bad_input("\"" + version + "\" is no version", "--engine-version", "like 5.17.0");
  if (request.device.gpu)
    if (const auto known = check_torch_device(*request.device.gpu, "generate()"); !known)
      return tl::unexpected(known.error());
  if (const auto used = all_gpus_used(request, "generate()", 1, ""); !used)
    return tl::unexpected(used.error());
  const Result<GenerateRecipe> recipe = recipe_of(request);
  if (!recipe) return tl::unexpected(recipe.error());
  const auto head = family::named_head(*request.config);
  const ghost::DeviceTraits traits = device_traits(request.device.gpu);
  const Result<GenerateRun> run = head ? run_head(*request.config, *recipe, *head, traits)
                                       : run_generate(*request.config, *recipe, traits);
  if (!run) return tl::unexpected(run.error());
  const Passes passes = play_passes(run->tape, request.device);

  ServeAnswer answer;
  answer.model = {.id = request.id,
                  .family = type_of(*request.config),
                  .parameters = run->parameters,
                  .weight_bytes = run->parameter_bytes};
  answer.workload = head ? settings_of_pass(*recipe, *head) : settings_of(*recipe);
  answer.allocations = run->tape.requested.size();
  if (!head)
    for (Setting& setting : generation_settings(request.options))
      answer.workload.push_back(std::move(setting));
  answer.mesh = {{"gpus", "1"}};
  if (!version.starts_with(kVersion))
    answer.warnings.push_back("generate() of transformers 5.17 is modelled: " + version +
                              " is taken to do the same");
  ServeRank rank = rank_of(passes, request.device);
  if (head) {
    rank.phases = {{"forward", passes.prefill}};
  } else {
    rank.kv_cache = cache_of(*run, passes, *recipe);
    rank.phases = {{"prefill", passes.prefill}};
    if (passes.chunks.allocated) rank.phases.emplace_back("chunks", passes.chunks);
    rank.phases.emplace_back("decode", passes.decode);
  }
  answer.ranks.push_back(std::move(rank));
  if (request.device.gpu && runs_rocm(*request.device.gpu)) answer.warnings.emplace_back(kRocm);
  if (const auto read = add_stored_weights(request, *run, answer); !read)
    return tl::unexpected(read.error());
  add_images(request, *recipe, answer);
  if (head) answer.warnings.push_back(head_note(*head));
  if (recipe->assistant) answer.warnings.emplace_back(kAssistantPolicy);
  return answer;
}

}  // namespace memtape::transformers
