// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers 5 in single families, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kNemotronSharesItsRope{
    Package::transformers,
    {5, 13, 0},
    "Nemotron's attentions have no rotary embeddings of their own, which since 5.0 nobody called.",
    "models/nemotron/modeling_nemotron.py:NemotronAttention.__init__"};

inline constexpr Change kNemotronCallsTheInterface{
    Package::transformers,
    {5, 13, 0},
    "Nemotron calls the attention function of all models; before, it repeated the keys and values "
    "of its groups whatever the kernel. It still did in 5.12.1.",
    "models/nemotron/modeling_nemotron.py:NemotronSdpaAttention"};

inline constexpr Change kGemma4MasksBlocks{
    Package::transformers,
    {5, 9, 0},
    "Gemma 4 that sees images to both sides lays blocks over its masks, of text, too, so that "
    "every "
    "batch has them. It does not in 5.8.1.",
    "models/gemma4/modeling_gemma4.py:Gemma4Model.forward (block_sequence_ids)"};

inline constexpr Change kGemma4MasksImagesAlone{
    Package::transformers,
    {5, 13, 0},
    "Gemma 4 lays blocks over its masks where there are images alone. It still did so for text in "
    "5.12.1.",
    "models/gemma4/modeling_gemma4.py:Gemma4Model.forward"};

inline constexpr Change kBambaRotatesHalf{
    Package::transformers,
    {5, 15, 0},
    "Bamba's rotary embedding reads partial_rotary_factor; from 5.0 on it rotated whole heads.",
    "models/bamba/modeling_bamba.py:BambaRotaryEmbedding.compute_default_rope_parameters"};

inline constexpr Change kSharedExpertIsAdded{
    Package::transformers,
    {5, 3, 0},
    "What Qwen's shared expert gives is added to a new tensor; before, in place to what the others "
    "gave.",
    "models/qwen2_moe/modeling_qwen2_moe.py:Qwen2MoeSparseMoeBlock.forward"};

inline constexpr Change kSdpaGroupsHeadsOfFlash{
    Package::transformers,
    {5, 13, 0},
    "Heads that flash does not take (above 256, or of keys and values that differ) are repeated "
    "for "
    "sdpa; before, sdpa grouped any without a mask, by plain products.",
    "integrations/sdpa_attention.py:use_gqa_in_sdpa"};

inline constexpr Change kGemma4RoutesInFloat32{
    Package::transformers,
    {5, 13, 0},
    "Gemma 4's router takes the softmax in float32; before, in the model's dtype.",
    "models/gemma4/modeling_gemma4.py:Gemma4TextRouter.forward"};

inline constexpr Change kOptMasksAsGiven{Package::transformers,
                                         {5, 18, 0},
                                         "OPT makes its causal mask of the mask that it was given; "
                                         "before, of ones where there was none, "
                                         "which had to be looked at.",
                                         "models/opt/modeling_opt.py:OPTDecoder.forward"};

inline constexpr Change kCacheCopiesLinearStates{
    Package::transformers,
    {5, 5, 0},
    "Caches copy the states of linear attention into tensors of their own; before, they held them.",
    "models/qwen3_5/modeling_qwen3_5.py:Qwen3_5GatedDeltaNet.forward, cache_utils.py"};

inline constexpr Change kCachePadsConvStates{
    Package::transformers,
    {5, 15, 0},
    "Caches cut and pad the inputs of linear attention's convolution; before, the layer did, by "
    "F.pad, and held the result until it returned.",
    "models/qwen3_5/modeling_qwen3_5.py:Qwen3_5GatedDeltaNet.forward, cache_utils.py"};

inline constexpr Change kRoutersNameProbabilities{
    Package::transformers,
    {5, 6, 0},
    "Routers of Mixtral's kind have a name for their probabilities, so that what they weigh by "
    "takes "
    "the logits' dtype; before, the probabilities took the logits' name, and weights stayed "
    "float32. "
    "They do in 5.5.0.",
    "models/qwen2_moe/modeling_qwen2_moe.py:Qwen2MoeTopKRouter.forward"};

inline constexpr Change kGemma4PadsByWhere{Package::transformers,
                                           {5, 10, 0},
                                           "Gemma 4 chooses between ids and the padding by "
                                           "torch.where; before, it wrote the padding into a "
                                           "copy of the ids.",
                                           "models/gemma4/modeling_gemma4.py:Gemma4Model.forward"};

inline constexpr Change kMistral3ChecksInputs{
    Package::transformers,
    {5, 0, 0},
    "Mistral 3's model is decorated by check_model_inputs, which hands its configuration's "
    "use_cache "
    "to the text model; before, that took its own.",
    "models/mistral3/modeling_mistral3.py:Mistral3Model.forward"};

inline constexpr Change kMistral3ChecksNoInputs{
    Package::transformers,
    {5, 2, 0},
    "It is not decorated any more, so that its text model takes its own use_cache again.",
    "models/mistral3/modeling_mistral3.py:Mistral3Model.forward"};

inline constexpr Change kMistral3MergesUseCache{
    Package::transformers,
    {5, 4, 0},
    "merge_with_config_defaults hands use_cache on to it.",
    "models/mistral3/modeling_mistral3.py:Mistral3Model.forward"};

inline constexpr Change kPairsRotateInPlace{
    Package::transformers,
    {5, 11, 0},
    "Rotation of neighbours takes every second element and joins the two halves in the end; "
    "before, "
    "it copied them into halves first and rotated these.",
    "models/deepseek_v3/modeling_deepseek_v3.py:apply_rotary_pos_emb_interleave"};

inline constexpr Change kCacheKeepsStatesDtype{
    Package::transformers,
    {5, 14, 0},
    "Caches hold recurrent states in their own dtype; before, in that of the convolution's inputs.",
    "cache_utils.py:LinearAttentionCacheLayerMixin.lazy_initialization"};

inline constexpr Change kGlmIndexerRotatesPairs{
    Package::transformers,
    {5, 13, 0},
    "GLM-5's indexer rotates neighbours; before, halves.",
    "models/glm_moe_dsa/modeling_glm_moe_dsa.py:GlmMoeDsaIndexer.forward"};

inline constexpr Change kRoutersChoose{
    Package::transformers,
    {5, 13, 0},
    "Routers of DeepSeek-V3's kind choose the experts themselves; before, a method of the mixture "
    "did, which held the scores for the choice unmasked until it returned.",
    "models/deepseek_v3/modeling_deepseek_v3.py:DeepseekV3TopkRouter, route_tokens_to_experts"};

inline constexpr Change kFalconAsksForItsMask{
    Package::transformers,
    {5, 15, 0},
    "Falcon's mask is made because its model says so; before, because a function that is true "
    "everywhere was joined to its pattern, which torch.vmap ran.",
    "models/falcon/modeling_falcon.py:FalconModel.forward"};

inline constexpr Change kPhimoeFrequenciesOnHost{
    Package::transformers,
    {5, 15, 0},
    "PhiMoE's forward computes its frequencies on the host; before, on the device.",
    "models/phimoe/modeling_phimoe.py:PhimoeRotaryEmbedding.forward"};

inline constexpr Change kSparseAttentionForcesItsMask{
    Package::transformers,
    {5, 17, 0},
    "DeepSeek-V3.2 and GLM-5 make a causal mask even where sdpa could do without; before, each "
    "attention and each indexer made what they needed of positions. They do in 5.16.1.",
    "models/deepseek_v32/modeling_deepseek_v32.py:DeepseekV32Model.forward"};

inline constexpr Change kLatentIsCached{
    Package::transformers,
    {5, 15, 0},
    "Latent attention rotates, caches what is still compressed and expands it then, into one "
    "tensor "
    "of keys; before, it expanded first, rotated and joined the keys by torch.cat.",
    "models/deepseek_v3/modeling_deepseek_v3.py:DeepseekV3Attention.forward"};

inline constexpr Change kBalancesLayerByLayer{
    Package::transformers,
    {5, 16, 0},
    "The loss that balances experts adds counts up layer by layer; before, it joined the routers' "
    "logits of all layers and made a mask of every expert for all their tokens. It does in 5.15.1.",
    "models/mixtral/modeling_mixtral.py:load_balancing_loss_func"};

inline constexpr Change kPixtralHasFrequencies{
    Package::transformers,
    {5, 17, 0},
    "Pixtral's rotary embedding holds the frequencies of one head; before, the angles of every "
    "patch "
    "of the largest image.",
    "models/pixtral/modeling_pixtral.py:PixtralRotaryEmbedding"};

}  // namespace memtape::changes
