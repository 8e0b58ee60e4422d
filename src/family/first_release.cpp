// SPDX-License-Identifier: Apache-2.0
#include "family/first_release.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memtape::family {
namespace {

struct FirstRelease {
  std::string_view model_type;
  Version transformers;
};

constexpr auto kFirstReleases = std::to_array<FirstRelease>({
    {"afmoe", {5, 0, 0}},
    {"apertus", {4, 56, 0}},
    {"arcee", {4, 53, 0}},
    {"bamba", {4, 48, 0}},
    {"bitnet", {4, 52, 0}},
    {"cohere2", {4, 48, 0}},
    {"cohere2_moe", {5, 9, 0}},
    {"cwm", {5, 0, 0}},
    {"deepseek_v2", {4, 54, 0}},
    {"deepseek_v3", {4, 51, 0}},
    {"deepseek_v32", {5, 11, 0}},
    {"deepseek_v4", {5, 8, 0}},
    {"dots1", {4, 53, 0}},
    {"ernie4_5", {4, 54, 0}},
    {"ernie4_5_moe", {4, 54, 0}},
    {"eurobert", {5, 3, 0}},
    {"exaone4", {4, 54, 0}},
    {"exaone_moe", {5, 1, 0}},
    {"falcon_h1", {4, 53, 0}},
    {"flex_olmo", {4, 57, 0}},
    {"gemma3", {4, 50, 0}},
    {"gemma3_text", {4, 50, 0}},
    {"gemma4", {5, 5, 0}},
    {"gemma4_text", {5, 5, 0}},
    {"glm", {4, 46, 0}},
    {"glm4", {4, 51, 0}},
    {"glm46v", {5, 0, 0}},
    {"glm4_moe", {4, 54, 0}},
    {"glm4_moe_lite", {5, 0, 0}},
    {"glm4v", {4, 53, 0}},
    {"glm4v_moe", {4, 56, 0}},
    {"glm_moe_dsa", {5, 2, 0}},
    {"glm_ocr", {5, 1, 0}},
    {"gpt_oss", {4, 55, 0}},
    {"granitemoehybrid", {4, 52, 0}},
    {"granitemoeshared", {4, 49, 0}},
    {"helium", {4, 49, 0}},
    {"hunyuan_v1_dense", {4, 56, 0}},
    {"hunyuan_v1_moe", {4, 56, 0}},
    {"hy_v3", {5, 6, 0}},
    {"hyperclovax", {5, 9, 0}},
    {"idefics3", {4, 46, 0}},
    {"internvl", {4, 52, 0}},
    {"jais2", {5, 0, 0}},
    {"jina_embeddings_v3", {5, 4, 0}},
    {"lfm2", {4, 54, 0}},
    {"lfm2_moe", {5, 0, 0}},
    {"lfm2_vl", {4, 57, 0}},
    {"llama4", {4, 51, 0}},
    {"llama4_text", {4, 51, 0}},
    {"mellum", {5, 10, 0}},
    {"minicpm3", {5, 13, 0}},
    {"minimax_m2", {5, 0, 0}},
    {"ministral", {4, 57, 0}},
    {"ministral3", {5, 0, 0}},
    {"mistral3", {4, 50, 0}},
    {"modernbert", {4, 48, 0}},
    {"nanochat", {5, 0, 0}},
    {"nemotron_h", {5, 3, 0}},
    {"nomic_bert", {5, 5, 0}},
    {"olmo2", {4, 47, 0}},
    {"olmo3", {4, 57, 0}},
    {"phimoe", {4, 46, 0}},
    {"qwen2_5_vl", {4, 49, 0}},
    {"qwen3", {4, 51, 0}},
    {"qwen3_5", {5, 2, 0}},
    {"qwen3_5_moe", {5, 2, 0}},
    {"qwen3_5_moe_text", {5, 2, 0}},
    {"qwen3_5_text", {5, 2, 0}},
    {"qwen3_moe", {4, 51, 0}},
    {"qwen3_next", {4, 57, 0}},
    {"qwen3_vl", {4, 57, 0}},
    {"qwen3_vl_moe", {4, 57, 0}},
    {"seed_oss", {4, 56, 0}},
    {"smollm3", {4, 53, 0}},
    {"smolvlm", {4, 50, 0}},
    {"solar_open", {5, 0, 0}},
    {"vaultgemma", {4, 57, 0}},
    {"youtu", {5, 1, 0}},
});

}  // namespace

Result<void> check_is_there(std::string_view model_type, const Release& release) {
  const auto* const found =
      std::ranges::find(kFirstReleases, model_type, &FirstRelease::model_type);
  const Version meant = release.of(Package::transformers);
  if (found == kFirstReleases.end() || meant >= found->transformers) return {};
  return unsupported(fmt::format("transformers {} has no \"{}\"", meant.text(), model_type),
                     "--with",
                     fmt::format("transformers=={} or later", found->transformers.text()));
}

}  // namespace memtape::family
