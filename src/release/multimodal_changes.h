// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers in models of text and images, as far as it affects
// memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kTextsTieHeads{
    Package::transformers,
    {4, 49, 0},
    "Models of text and images tie their heads where the text's configuration says so; before, "
    "where the whole one does. They do not in 4.48.3.",
    "modeling_utils.py:PreTrainedModel.tie_weights"};

inline constexpr Change kWholesTieHeads{
    Package::transformers,
    {5, 0, 0},
    "Models of text and images tie their heads where the whole configuration says so, again.",
    "modeling_utils.py:PreTrainedModel.get_expanded_tied_weights_keys"};

inline constexpr Change kTextsTieWholes{
    Package::transformers,
    {5, 16, 0},
    "A text's tie_word_embeddings counts for the whole model of Qwen2-VL, Qwen2.5-VL, GLM-4V and "
    "GLM-OCR; before, since 5.0, it meant nothing there. It does not in 5.15.1.",
    "models/glm4v_moe/configuration_glm4v_moe.py:Glm4vMoeConfig.__post_init__"};

inline constexpr Change kLlavasHandUseCacheOn{
    Package::transformers,
    {5, 0, 0},
    "LLaVA-NeXT, its video kind and LLaVA-OneVision hand the whole configuration's use_cache on, "
    "which training unsets; before, None, for which the text model took its own.",
    "models/llava_next/modeling_llava_next.py:LlavaNextForConditionalGeneration.forward"};

inline constexpr Change kIdefics3HandsNoUseCache{
    Package::transformers,
    {5, 4, 0},
    "Idefics3 and SmolVLM hand None as use_cache to their text model, which takes its own; before, "
    "the whole configuration's, which training unsets.",
    "models/idefics3/modeling_idefics3.py:Idefics3Model.forward"};

inline constexpr Change kIdefics3HandsUseCacheOn{
    Package::transformers,
    {5, 13, 0},
    "Idefics3 and SmolVLM hand the whole configuration's use_cache on, again. They do not in "
    "5.12.1.",
    "models/idefics3/modeling_idefics3.py:Idefics3Model.forward"};

inline constexpr Change kQwenVlKeepsRopeDeltas{
    Package::transformers,
    {4, 47, 0},
    "Qwen2-VL's and Qwen2.5-VL's forward keeps how far each row's positions are ahead until the "
    "next one. It does not in 4.45.2 and does in 4.47.1.",
    "models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLModel.get_rope_index"};

inline constexpr Change kRopesRecomposeFrequencies{
    Package::transformers,
    {5, 17, 0},
    "Multimodal rotary embeddings recompose cos and sin of the three axes once for all layers; "
    "before, Qwen2-VL's and Qwen2.5-VL's attentions each joined the sections, and Qwen3-VL wove "
    "the frequencies. They do not in 5.16.0.",
    "models/qwen2_vl/modeling_qwen2_vl.py:apply_multimodal_rotary_pos_emb, "
    "models/qwen3_vl/modeling_qwen3_vl.py:apply_interleaved_mrope"};

inline constexpr Change kImageTextLossesAreShared{
    Package::transformers,
    {4, 52, 0},
    "LLaVA and its kinds, Mistral 3, PaliGemma, Idefics3, SmolVLM, Qwen2-VL and Qwen2.5-VL call "
    "ForCausalLMLoss, and a model within embeds the tokens; before, each shifted its logits "
    "itself, "
    "LLaVA's kinds and Mistral 3 in the logits' own dtype, and held embedded tokens all the while.",
    "models/llava/modeling_llava.py:LlavaForConditionalGeneration.forward"};

inline constexpr Change kGemma3LossIsShared{
    Package::transformers,
    {5, 17, 0},
    "Gemma 3 with images calls ForCausalLMLoss; before, it picked the logits that the attention "
    "mask "
    "counts, in float32. It does so in 5.16.0.",
    "models/gemma3/modeling_gemma3.py:Gemma3ForConditionalGeneration.forward"};

inline constexpr Change kQwenVlHasTextConfig{
    Package::transformers,
    {4, 52, 0},
    "Qwen2-VL's and Qwen2.5-VL's text model has a configuration of its own, whose use_cache stays "
    "on where training turns the outer one off; before, one configuration served both.",
    "models/qwen2_vl/configuration_qwen2_vl.py"};

inline constexpr Change kQwenVlForwardsSettings{
    Package::transformers,
    {4, 57, 0},
    "What is set of Qwen2-VL's and Qwen2.5-VL's configuration is set of its text_config. It is not "
    "in 4.56.2.",
    "models/qwen2_vl/configuration_qwen2_vl.py:Qwen2VLConfig.__setattr__"};

inline constexpr Change kQwenVlTextIsItsOwn{
    Package::transformers,
    {5, 0, 0},
    "Qwen2-VL's and Qwen2.5-VL's text_config is set by itself again.",
    "models/qwen2_vl/configuration_qwen2_vl.py:Qwen2VLConfig"};

inline constexpr Change kTextHasNoRopeDeltas{
    Package::transformers,
    {5, 2, 0},
    "Qwen2-VL and Qwen2.5-VL ask for positions of images, and keep the rows' offsets, only where "
    "there are images.",
    "models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLModel.compute_3d_position_ids"};

}  // namespace memtape::changes
