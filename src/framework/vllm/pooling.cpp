// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/pooling.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "framework/vllm/models/bert.h"
#include "framework/vllm/models/model.h"
#include "model/config_overrides.h"

namespace memtape::vllm {
namespace {

/// _SUFFIX_TO_DEFAULTS: architectures that pool, and whether they classify. ChatGLMModel generates.
struct Suffix {
  std::string_view text;
  bool classifies;
};
constexpr auto kSuffixes = std::to_array<Suffix>({{"ForTextEncoding", false},
                                                  {"EmbeddingModel", false},
                                                  {"ForSequenceClassification", true},
                                                  {"ForTokenClassification", true},
                                                  {"ForRewardModeling", false},
                                                  {"RewardModel", false},
                                                  {"Model", false}});
constexpr std::array<std::string_view, 4> kGenerating{"ForCausalLM", "ForConditionalGeneration",
                                                      "ChatModel", "LMHeadModel"};
constexpr std::string_view kGlm = "ChatGLMModel";

std::string architecture_of(const Config& config) {
  const std::vector<std::string> names = config.texts("architectures");
  return names.empty() ? std::string() : names.front();
}

const Suffix* suffix_of(std::string_view architecture) {
  if (architecture == kGlm) return nullptr;
  for (const std::string_view generating : kGenerating)
    if (architecture.ends_with(generating)) return nullptr;
  for (const Suffix& suffix : kSuffixes)
    if (architecture.ends_with(suffix.text)) return &suffix;
  return nullptr;
}

/// num_labels of transformers' configurations: as many as id2label has, which are two by default.
std::int64_t labels_of(const Config& config) {
  const std::size_t named = config.object("id2label").keys().size();
  const std::int64_t usual = named > 0 ? static_cast<std::int64_t>(named) : 2;
  return config.integer("num_labels", usual);
}

}  // namespace

Result<std::optional<Pooling>> pooling_of(const ServeOptions& options, const Config& config) {
  constexpr std::array<std::string_view, 4> kRunners{"auto", "generate", "pooling", "draft"};
  constexpr std::array<std::string_view, 6> kConversions{"auto",     "none",   "embed",
                                                         "classify", "reward", "mm_encoder_only"};
  constexpr std::array<std::string_view, 9> kTasks{"auto",   "generate",      "embedding",
                                                   "embed",  "classify",      "score",
                                                   "reward", "transcription", "draft"};
  const auto runner = options.choice("runner", kRunners, "auto");
  if (!runner) return tl::unexpected(runner.error());
  const auto conversion = options.choice("convert", kConversions, "auto");
  if (!conversion) return tl::unexpected(conversion.error());
  const auto task = options.choice("task", kTasks, "auto");
  if (!task) return tl::unexpected(task.error());
  const std::string_view asked = kTasks[*task], convert = kConversions[*conversion];
  const Suffix* const suffix = suffix_of(architecture_of(config));
  const bool is_asked = kRunners[*runner] == "pooling" || convert == "embed" ||
                        convert == "classify" || convert == "reward" ||
                        (*task >= 2 && *task <= 6) || encodes_text(config);
  const bool generates = kRunners[*runner] == "generate" || asked == "generate";
  if (generates && encodes_text(config))
    return bad_input("an encoder generates nothing", "--runner", "pooling");
  if (generates || (!is_asked && !suffix)) return std::optional<Pooling>();
  const bool classifies = convert == "classify" || asked == "classify" || asked == "score" ||
                          (convert == "auto" && asked == "auto" && suffix && suffix->classifies);
  if (!config.boolean("is_causal", true) || config.boolean("use_bidirectional_attention", false))
    return unsupported("attention in both directions is not modelled for vLLM", config.where(),
                       "a model of causal attention");
  return Pooling{classifies ? labels_of(config) : 0};
}

Config as_decoder(const Config& config) {
  const std::string name = architecture_of(config);
  const Suffix* const suffix = suffix_of(name);
  if (!suffix) return config;
  const std::string base = name.substr(0, name.size() - suffix->text.size());
  const auto given = Config::parse(fmt::format("{{\"architectures\": [\"{}ForCausalLM\"]}}", base),
                                   config.where());
  if (!given) return config;
  const auto decoder = overridden(config, *given);
  return decoder && model_factory(*decoder) ? *decoder : config;
}

}  // namespace memtape::vllm
