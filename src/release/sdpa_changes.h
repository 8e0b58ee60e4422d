// SPDX-License-Identifier: Apache-2.0
// Since when transformers runs a model's attention through scaled_dot_product_attention where nobody
// names an implementation: _supports_sdpa of its models/*/modeling_*.py, release by release, and
// is_torch_sdpa_available (utils/import_utils.py). Before, attention was eager; and since when it
// is eager again.
#pragma once

#include <array>

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kTransformersTakesSdpa{
    Package::torch,
    {2, 1, 1},
    "transformers takes scaled_dot_product_attention for new enough; before, attention is eager.",
    "transformers, utils/import_utils.py:is_torch_sdpa_available"};

inline constexpr Change kSdpaHasEnableGqa{
    Package::torch,
    {2, 5, 0},
    "scaled_dot_product_attention has enable_gqa; before, transformers of all releases repeats "
    "keys and values for each head of the queries.",
    "transformers, integrations/sdpa_attention.py:use_gqa_in_sdpa"};

/// The models of a release whose attention has gone through sdpa since then.
struct SdpaModels {
  Change change;
  std::array<std::string_view, 10> model_types;  ///< "" behind the last
};

constexpr Change sdpa_since(Version release, std::string_view models) {
  return {Package::transformers, release, models, "models/*/modeling_*.py:_supports_sdpa"};
}

inline constexpr auto kSdpaModels = std::to_array<SdpaModels>({
    {sdpa_since({4, 36, 0}, "Attention of llama, falcon, gpt_bigcode, bart and whisper is sdpa's."),
     {"llama", "falcon", "gpt_bigcode", "bart", "whisper"}},
    {sdpa_since({4, 37, 0}, "Attention of mistral, mixtral and qwen2 is sdpa's."),
     {"mistral", "mixtral", "qwen2"}},
    {sdpa_since({4, 38, 0}, "Attention of gemma is sdpa's."), {"gemma"}},
    {sdpa_since({4, 39, 0}, "Attention of cohere, phi, stablelm and starcoder2 is sdpa's."),
     {"cohere", "phi", "stablelm", "starcoder2"}},
    {sdpa_since({4, 40, 0}, "Attention of dbrx, jamba, olmo and qwen2_moe is sdpa's."),
     {"dbrx", "jamba", "olmo", "qwen2_moe"}},
    {sdpa_since({4, 41, 0}, "Attention of bert, vit, deit and jetmoe is sdpa's."),
     {"bert", "vit", "deit", "jetmoe"}},
    {sdpa_since({4, 42, 0}, "Attention of gpt2, gpt_neox and gemma2 is sdpa's."),
     {"gpt2", "gpt_neox", "gemma2"}},
    {sdpa_since({4, 43, 0}, "Attention of clip is sdpa's."), {"clip"}},
    {sdpa_since({4, 44, 0}, "Attention of nemotron is sdpa's."), {"nemotron"}},
    {sdpa_since({4, 45, 0},
                "Attention of phi3, roberta, xlm-roberta, camembert and albert is sdpa's."),
     {"phi3", "roberta", "xlm-roberta", "camembert", "albert"}},
    {sdpa_since({4, 46, 0}, "Attention of opt and distilbert is sdpa's."), {"opt", "distilbert"}},
    {sdpa_since({4, 53, 0}, "Attention of plbart, marian and pegasus is sdpa's."),
     {"plbart", "marian", "pegasus"}},
    {sdpa_since({4, 56, 0}, "Attention of esm is sdpa's."), {"esm"}},
    {sdpa_since({5, 0, 0}, "Attention of electra is sdpa's."), {"electra"}},
    {sdpa_since({5, 15, 0}, "Attention of t5, mt5 and umt5 is sdpa's."), {"t5", "mt5", "umt5"}},
    {sdpa_since({5, 24, 0}, "Attention of gptj and codegen is sdpa's."), {"gptj", "codegen"}},
});

inline constexpr auto kEagerModels = std::to_array<SdpaModels>({
    {sdpa_since({5, 21, 0},
                "Attention of gemma2 and vaultgemma is eager: sdpa, which caps no scores, is "
                "refused."),
     {"gemma2", "vaultgemma"}},
    {sdpa_since({5, 21, 0}, "Attention of flint is eager: sdpa, which knows no sinks, is refused."),
     {"flint"}},
});

}  // namespace memtape::changes
