// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/encoders.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "family/registry.h"
#include "framework/vllm/models/gemma4_encoder.h"
#include "framework/vllm/models/idefics3_encoder.h"
#include "framework/vllm/models/internvl_encoder.h"
#include "framework/vllm/models/llama4_encoder.h"
#include "framework/vllm/models/moonvit_encoder.h"
#include "framework/vllm/models/vision.h"
#include "ghost/session.h"
#include "model/type_of.h"
#include "nn/module.h"

namespace memtape::vllm {
namespace {

/// preprocessor_config.json and video_preprocessor_config.json of the published checkpoints:
/// size.longest_edge, in pixels.
struct PixelLimits {
  std::string_view type;
  std::int64_t image, video;
};
constexpr std::array kPixelLimits{
    PixelLimits{"qwen2_vl", 12'845'056, 12'845'056},
    PixelLimits{"qwen2_5_vl", 12'845'056, 12'845'056},
    PixelLimits{"qwen3_vl", 16'777'216, 25'165'824},
    PixelLimits{"qwen3_vl_moe", 16'777'216, 25'165'824},
    PixelLimits{"qwen3_5", 16'777'216, 25'165'824},
    PixelLimits{"qwen3_5_moe", 16'777'216, 25'165'824},
};

const PixelLimits* pixel_limits(std::string_view type) {
  const auto row = std::ranges::find(kPixelLimits, type, &PixelLimits::type);
  return row == kPixelLimits.end() ? nullptr : &*row;
}

/// How many of one kind a prompt may have (MultiModalConfig.get_limit_per_prompt).
std::int64_t limit_of(const Config& limits, const char* modality, const Settings& s) {
  const bool takes_many =
      s.runner != Runner::v0 && s.release.has(changes::kVllmTakesManyItemsOfAPrompt);
  const std::int64_t usual = takes_many ? 999 : 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (!limits.has(modality)) return usual;
  const bool is_object = limits.json(modality).starts_with("{");
  return std::min(kMost, is_object ? limits.object(modality).count("count", usual)
                                   : limits.count(modality, usual));
}

/// The most merged patches whose rectangle is not longer than 200 times its width.
std::int64_t most_tokens(std::int64_t pixels, std::int64_t unit) {
  constexpr std::int64_t kMostAspect = 200;
  for (std::int64_t tokens = std::max<std::int64_t>(1, pixels / (unit * unit)); tokens > 1;
       --tokens) {
    std::int64_t height = 1;
    for (std::int64_t d = 1; d * d <= tokens; ++d)
      if (tokens % d == 0) height = d;
    if (tokens / height <= kMostAspect * height) return tokens;
  }
  return 1;
}

/// max_pixels, or size.longest_edge, of --mm-processor-kwargs, alone or for one kind.
std::int64_t pixels_of(const Config& kwargs, const char* scope, std::int64_t otherwise) {
  std::int64_t pixels = otherwise;
  for (const Config& given : {kwargs, kwargs.object(scope)}) {
    pixels = given.object("size").dimension("longest_edge", pixels);
    pixels = given.dimension("max_pixels", pixels);
  }
  return pixels;
}

/// get_num_frames_with_most_features of qwen2_vl.py: frames by twos. In the V0 engine's prompts an
/// image stands before the video.
std::int64_t most_frame_pairs(const Settings& s, std::int64_t tokens_of_frame) {
  constexpr std::int64_t kPairs = 8;
  if (s.runner == Runner::v0)
    return std::clamp<std::int64_t>(s.max_num_batched_tokens / tokens_of_frame - 1, 1, kPairs);
  const bool of_context = s.release.has(changes::kVllmProfilesVideosOfTheContext);
  const std::int64_t length = of_context ? s.max_model_len : s.max_num_batched_tokens;
  return std::clamp<std::int64_t>(length / tokens_of_frame, 1, of_context ? kPairs - 1 : kPairs);
}

std::vector<Modality> qwen_items(const Config& vision, const PixelLimits& limits,
                                 const Config& kwargs, const Settings& s) {
  const std::int64_t merge = vision.dimension("spatial_merge_size", 2);
  const std::int64_t unit = vision.dimension("patch_size", 14) * merge;
  const auto item = [&](std::int64_t tokens) {
    return EncoderItem{.patches = tokens * merge * merge, .tokens = tokens};
  };
  const std::int64_t image = most_tokens(pixels_of(kwargs, "images_kwargs", limits.image), unit);
  const bool treats_video_as_image = limits.image != limits.video;  // qwen3_vl.py: two frames
  const std::int64_t pixels = pixels_of(kwargs, "videos_kwargs", limits.video);
  const std::int64_t video =
      treats_video_as_image ? most_tokens(pixels / 2, unit) : image * most_frame_pairs(s, image);
  return {{"image", item(image)}, {"video", item(video)}};
}

/// Towers that see all images in one size, and Pixtral, which sees the largest as a square.
std::vector<Modality> image_items(const Config& config, const Config& vision, const Config& kwargs,
                                  const Settings& s) {
  const std::string type = type_of(vision), whole = type_of(config);
  if (type == "gemma4_vision") return gemma4_items(vision, kwargs);
  if (type == "llama4_vision_model") return llama4_items(vision, kwargs);
  if (is_internvl(vision)) return internvl_items(config, kwargs, s.max_model_len);
  if (is_idefics3(vision)) return idefics3_items(config);
  if (is_moonvit(vision)) return moonvit_items(vision);
  const std::int64_t side =
      vision.dimension("image_size", 224) / vision.dimension("patch_size", 14);
  if (type == "siglip_vision_model" && whole == "gemma3")
    return {{"image", {squared(side), config.dimension("mm_tokens_per_image", 256)}}};
  if (type == "clip_vision_model" && whole == "llava")
    return {{"image", {squared(side) + 1, squared(side)}}};
  if (type == "pixtral" && whole == "mistral3") {
    const std::int64_t merged = side / config.dimension("spatial_merge_size", 2);
    return {{"image", {squared(side), merged * (merged + 1)}}};
  }
  return {};
}

/// V0's profile_run: as many prompts as a batch holds of all their items, each with all of them.
std::int64_t prompts_of_v0(std::int64_t tokens_of_prompt, const Settings& s) {
  const std::int64_t prompts = std::min(
      s.max_num_seqs, s.max_num_batched_tokens / std::max<std::int64_t>(1, tokens_of_prompt));
  return std::max<std::int64_t>(1, prompts);
}

/// MultiModalBudget._get_max_items.
std::int64_t items_of(std::int64_t tokens, std::int64_t limit, const Settings& s) {
  const std::int64_t budget = std::max(s.max_num_batched_tokens, tokens);
  const std::int64_t of_prompt =
      std::max<std::int64_t>(1, std::min(limit, s.max_model_len / tokens));
  return std::max<std::int64_t>(1, std::min(budget / tokens, s.max_num_seqs * of_prompt));
}

/// What a processor is taken to cut images into, where config.json does not say it.
std::string assumed_tiles(const Config& config, const Config& vision) {
  const bool is_llama4 = type_of(vision) == "llama4_vision_model";
  if (is_moonvit(vision))
    return fmt::format("the processor is taken to be the published one, with images of {} patches",
                       with_commas(most_moonvit_patches(vision)));
  if (is_idefics3(vision))
    return "the processor is taken to be the published one, which cuts images into 16 tiles";
  if (!is_llama4 && !(is_internvl(vision) && config.is_null("max_dynamic_patch"))) return {};
  return fmt::format(
      "the processor is taken to be the published one, with images of {} tiles at most; "
      "--mm-processor-kwargs '{{\"max_patches\": N}}' says others",
      is_llama4 ? 16 : 12);
}

Result<Config> given_json(const ServeOptions& options, std::string_view name) {
  return Config::parse(options.text(name, "{}"), fmt::format("--{}", name));
}

/// The kind whose items have the most tokens; of two alike the one behind in the alphabet. The V0
/// engine runs all kinds, one after the other: the one of most tokens counts.
void choose(Encoders& encoders, const std::vector<Modality>& items, const Config& limits,
            const Settings& s) {
  const bool is_v0 = s.runner == Runner::v0;
  std::int64_t tokens_of_prompt = 0, most = 1;
  for (const auto& [modality, item] : items)
    tokens_of_prompt += limit_of(limits, modality.c_str(), s) * item.tokens;
  if (is_v0) {
    encoders.prompts = prompts_of_v0(tokens_of_prompt, s);
    encoders.prompt_tokens = tokens_of_prompt;
  }
  for (const auto& [modality, item] : items) {
    const std::int64_t limit = limit_of(limits, modality.c_str(), s);
    const std::int64_t tokens = item.tokens * (is_v0 ? limit : 1);
    if (limit == 0 || tokens < most) continue;
    most = tokens;
    encoders.modality = modality;
    encoders.item = item;
    encoders.items = is_v0 ? limit * encoders.prompts : items_of(item.tokens, limit, s);
  }
  const bool is_too_long = tokens_of_prompt > s.max_num_batched_tokens;
  const bool drops_them = s.release.has(changes::kVllmDropsLongDummyPrompts) &&
                          !s.release.has(changes::kVllmRunsLongDummyPrompts);
  if (is_v0 && is_too_long && drops_them) encoders.items = 0;
}

/// All parameters of transformers' class beside the text model's.
std::vector<ghost::Dims> parameters_of_tower(const Config& config, const Settings& s) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  if (!facts || facts->task != family::Task::image_text_to_text) return {};
  ghost::Session session(s.device.traits);
  session.skipping = true;
  const auto model =
      facts->build(config, {.dtype = s.dtype, .task = family::Task::image_text_to_text});
  std::vector<ghost::Dims> found;
  session.finished = true;
  if (!model) return found;
  for (const nn::ModuleNode::Named& p : nn::named_parameters(model->tree.root())) {
    const bool is_text = p.name.find("language_model") != std::string::npos ||
                         p.name.find("lm_head") != std::string::npos;
    if (!is_text) found.push_back(p.tensor.sizes());
  }
  return found;
}

}  // namespace

Result<Config> item_limits(const ServeOptions& options, const Release& release) {
  const char* const kFlag = "--limit-mm-per-prompt";
  const std::string text = options.text("limit-mm-per-prompt", "{}");
  if (text.starts_with("{") || text.find('=') == std::string::npos)
    return Config::parse(text, kFlag);
  std::string json;
  for (const std::string_view pair : parts_between(text, ',')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view count = pair.substr(std::min(equals + 1, pair.size()));
    json += fmt::format("{}\"{}\": {}", json.empty() ? "{" : ", ", trimmed(pair.substr(0, equals)),
                        trimmed(count));
  }
  json += "}";
  if (release.has(changes::kVllmTakesLimitsAsJson))
    return bad_input("vLLM reads no pairs since 0.10", kFlag, fmt::format("'{}'", json));
  return Config::parse(json, kFlag);
}

Result<std::shared_ptr<const Encoders>> read_encoders(const ServeOptions& options,
                                                      const Config& config, const Settings& s) {
  const Config vision = config.object("vision_config");
  const bool has_sound =
      config.has("audio_config") && !config.object("audio_config").keys().empty();
  if (vision.keys().empty() && !has_sound) return std::shared_ptr<const Encoders>();
  const Result<Config> limits = item_limits(options, s.release);
  if (!limits) return tl::unexpected(limits.error());
  const Result<Config> kwargs = given_json(options, "mm-processor-kwargs");
  if (!kwargs) return tl::unexpected(kwargs.error());
  Encoders encoders{.profiles = !options.has("skip-mm-profiling")};
  const PixelLimits* const pixels = pixel_limits(type_of(config));
  const std::vector<Modality> items =
      pixels ? qwen_items(vision, *pixels, *kwargs, s) : image_items(config, vision, *kwargs, s);
  choose(encoders, items, *limits, s);
  if (std::ranges::any_of(items, [](const Modality& kind) { return kind.second.tokens < 1; }))
    config.fail("vision_config", "leaves no patch of an image");
  encoders.is_known = !items.empty() && !has_sound;
  if (!encoders.is_known) encoders.tower = parameters_of_tower(config, s);
  encoders.tower_is_whole = !encoders.tower.empty();
  if (pixels && pixels_of(*kwargs, "images_kwargs", pixels->image) == pixels->image)
    encoders.assumed = fmt::format(
        "the processor is taken to be the published one, with images of {} pixels at most; "
        "--mm-processor-kwargs '{{\"max_pixels\": N}}' says others",
        with_commas(pixels->image));
  if (encoders.is_known && !pixels) encoders.assumed = assumed_tiles(config, vision);
  for (const Config& read : {*limits, *kwargs, config})
    if (const Result<void> fine = read.check(); !fine) return tl::unexpected(fine.error());
  return std::make_shared<const Encoders>(std::move(encoders));
}

std::span<const ghost::Dims> tower_of(const Settings& s) {
  return s.encoders ? std::span<const ghost::Dims>(s.encoders->tower)
                    : std::span<const ghost::Dims>();
}

bool reads_videos(const Config& config) {
  const std::string type = type_of(config);
  return type.starts_with("qwen") || type.starts_with("gemma4") || type.starts_with("internvl");
}

std::string text_alone_option(const Config& config, const Settings& s) {
  if (s.release.has(changes::kVllmServesLanguageModelOnly)) return "--language-model-only";
  return reads_videos(config) ? R"(--limit-mm-per-prompt '{"image":0,"video":0}')"
                              : R"(--limit-mm-per-prompt '{"image":0}')";
}

}  // namespace memtape::vllm
