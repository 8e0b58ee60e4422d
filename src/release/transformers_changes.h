// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kLossShiftsLabels{
    Package::transformers,
    {4, 49, 0},
    "ForCausalLMLoss pads and shifts the labels; before, it copied the float32 logits without the "
    "last position.",
    "loss/loss_utils.py:ForCausalLMLoss"};

inline constexpr Change kMasksAreShared{
    Package::transformers,
    {4, 53, 0},
    "Most models have masking_utils.py make their masks; before, each had _update_causal_mask, "
    "which made none for sdpa, and [S, S] in the model's dtype for eager attention.",
    "masking_utils.py; models/llama/modeling_llama.py:LlamaModel._update_causal_mask"};

inline constexpr Change kPackedRowsAreFound{
    Package::transformers,
    {4, 53, 2},
    "A causal mask keeps the sequences of packed rows apart, which positions tell.",
    "masking_utils.py:find_packed_sequence_indices"};

inline constexpr Change kGpt2MasksAreShared{Package::transformers,
                                            {4, 54, 0},
                                            "GPT-2 has masking_utils.py make its masks.",
                                            "models/gpt2/modeling_gpt2.py:GPT2Model.forward"};

inline constexpr Change kSdpaGroupsHeads{
    Package::transformers,
    {4, 54, 0},
    "sdpa without a mask is given keys and values as they are; before, they were repeated for each "
    "head of the queries.",
    "integrations/sdpa_attention.py:use_gqa_in_sdpa"};

inline constexpr Change kSdpaTakesAnyLayout{
    Package::transformers,
    {4, 56, 0},
    "Queries, keys and values go to sdpa as they lie; before, they were packed.",
    "integrations/sdpa_attention.py:sdpa_attention_forward"};

inline constexpr Change kUnpackedRowsAreTold{
    Package::transformers,
    {5, 0, 0},
    "Rows whose positions step by one have no packed sequences, and sdpa no mask; before, any row "
    "without a mask was taken to be packed, and a mask was made.",
    "masking_utils.py:find_packed_sequence_indices"};

inline constexpr Change kMaskIndicesBroadcast{
    Package::transformers,
    {5, 0, 0},
    "Masks are made of index tensors that broadcast; before, torch.vmap ran the index functions.",
    "masking_utils.py:_non_vmap_expansion_sdpa"};

inline constexpr Change kAllMasksAreShared{
    Package::transformers,
    {5, 2, 0},
    "The models left have masking_utils.py make their masks, too.",
    "models/falcon/modeling_falcon.py, models/opt/modeling_opt.py, models/bloom/modeling_bloom.py"};

inline constexpr Change kOriginalFrequenciesAreABuffer{
    Package::transformers,
    {5, 0, 0},
    "A rotary embedding keeps original_inv_freq as a buffer of its own, and _init_weights computes "
    "its frequencies once more; before, the two were one tensor.",
    "models/llama/modeling_llama.py:LlamaRotaryEmbedding"};

inline constexpr Change kPositionsAreAdded{Package::transformers,
                                           {5, 0, 0},
                                           "Positions are torch.arange(S) + past_seen_tokens in "
                                           "Llama and models whose code is made of its "
                                           "own; before, one arange between the two.",
                                           "models/llama/modeling_llama.py:LlamaModel.forward"};

inline constexpr Change kAllPositionsAreAdded{
    Package::transformers,
    {5, 4, 0},
    "So are those of all other models, with the end of cache_position.",
    "models/qwen3/modeling_qwen3.py:Qwen3Model.forward, "
    "models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLTextModel.forward"};

inline constexpr Change kMasksCountTheirQueries{
    Package::transformers,
    {5, 4, 0},
    "Masks count their queries themselves, where they are made; before, they took the positions "
    "that "
    "the model had counted, and bidirectional ones counted some even where no mask was needed.",
    "masking_utils.py:sdpa_mask, create_bidirectional_mask"};

inline constexpr Change kExpertsAreStacked{
    Package::transformers,
    {5, 0, 0},
    "A mixture's experts are stacked into tensors of three dimensions; before, they were a "
    "ModuleList of Linear layers that ran one after the other.",
    "models/mixtral/modeling_mixtral.py:MixtralExperts"};

inline constexpr Change kExpertsCountIntegers{
    Package::transformers,
    {5, 1, 0},
    "Tokens by expert are counted from int32; before, from float32.",
    "integrations/moe.py:grouped_mm_experts_forward"};

inline constexpr Change kExpertsTakeBiasesInTurn{
    Package::transformers,
    {5, 3, 0},
    "Each product's weights and biases are chosen before it, and what goes into one goes by a name "
    "that the next takes; before, all were chosen first, and results had names of their own.",
    "integrations/moe.py:grouped_mm_experts_forward"};

inline constexpr Change kExpertsAssignInversePermutation{
    Package::transformers,
    {5, 4, 0},
    "The order back is assigned by index; before, it was a second argsort.",
    "integrations/moe.py:grouped_mm_experts_forward"};

inline constexpr Change kExpertsCopyTokensOnce{
    Package::transformers,
    {5, 5, 0},
    "Tokens are copied in the order of their experts at once; before, once per expert and then by "
    "that order.",
    "integrations/moe.py:grouped_mm_experts_forward"};

inline constexpr Change kExpertsMaskForeignTokens{
    Package::transformers,
    {5, 6, 0},
    "What experts give for tokens of other ranks is filled with zeros in place, by a mask.",
    "integrations/moe.py:grouped_mm_experts_forward"};

inline constexpr Change kExpertsSortOnce{
    Package::transformers,
    {5, 8, 0},
    "torch.sort gives experts and order at once, tokens are masked as they are taken, and biases "
    "are added in place.",
    "integrations/moe.py:grouped_mm_experts_forward, _grouped_linear"};

inline constexpr Change kDrawsInFloat{
    Package::transformers,
    {5, 8, 0},
    "The first weights of a Linear of a half type are drawn in a float32 copy of it.",
    "modeling_utils.py:PreTrainedModel._init_weights"};

inline constexpr Change kDrawsInPlaceAgain{
    Package::transformers,
    {5, 9, 0},
    "The first weights of a Linear are drawn in place, as before 5.8.",
    "modeling_utils.py:PreTrainedModel._init_weights"};

inline constexpr Change kDeltaRuleMasksOnce{
    Package::transformers,
    {5, 6, 0},
    "The chunks of the gated delta rule are not masked again where their decay already is.",
    "models/qwen3_next/modeling_qwen3_next.py:torch_chunk_gated_delta_rule"};

inline constexpr Change kMambaScansByFunctions{
    Package::transformers,
    {5, 15, 0},
    "Mamba's mixers call functions for convolution and scan, which kernels may replace; before, a "
    "slow_forward or torch_forward did both.",
    "models/mamba/modeling_mamba.py:MambaMixer, models/mamba2/modeling_mamba2.py:Mamba2Mixer"};

inline constexpr Change kT5AttentionIsAnInterface{
    Package::transformers,
    {5, 15, 0},
    "T5's attention goes through the interface; before, it added bias and mask to its scores in "
    "place, and was eager alone.",
    "models/t5/modeling_t5.py:T5Attention.forward"};

inline constexpr Change kMambaLossIsShared{
    Package::transformers,
    {5, 17, 0},
    "Mamba's and FalconMamba's heads take the common loss; before, they copied the logits without "
    "the last position.",
    "models/mamba/modeling_mamba.py:MambaForCausalLM.forward"};

inline constexpr Change kDeltaRuleSolvesTriangles{
    Package::transformers,
    {5, 17, 0},
    "The gated delta rule solves a triangular system per chunk; before, it went from row to row in "
    "place.",
    "models/qwen3_next/modeling_qwen3_next.py:torch_chunk_gated_delta_rule"};

inline constexpr Change kDeltaRuleRepeatsHeads{
    Package::transformers,
    {5, 23, 0},
    "The gated delta rule itself repeats queries and keys for every value head; before, the layer "
    "did, and held them.",
    "models/qwen3_next/modeling_qwen3_next.py:torch_chunk_gated_delta_rule"};

inline constexpr Change kExpertsMaskTheirProducts{
    Package::transformers,
    {5, 17, 0},
    "Both products of the experts are filled out of place; before, what they gave was, in place.",
    "integrations/moe.py:grouped_mm_experts_forward"};

inline constexpr Change kExpertsMaskOnlyWhereShared{
    Package::transformers,
    {5, 18, 0},
    "Experts mask the tokens of other ranks only where ranks share the experts; before, every step "
    "made the mask and filled by it.",
    "integrations/moe.py:grouped_mm_experts_forward, batched_mm_experts_forward"};

inline constexpr Change kExpertsLoopCountsOneMore{
    Package::transformers,
    {5, 18, 0},
    "The loop over experts counts tokens of a further expert, those of other ranks.",
    "models/mixtral/modeling_mixtral.py:MixtralExperts"};

inline constexpr Change kUmt5DecoderIsCausal{
    Package::transformers,
    {5, 18, 0},
    "UMT5's decoder tells torch's attention that it is causal, which makes its position bias a "
    "mask.",
    "models/umt5/modeling_umt5.py:UMT5LayerSelfAttention"};

inline constexpr Change kNemotronHNormInFloat32{
    Package::transformers,
    {5, 18, 0},
    "Nemotron-H's norm multiplies by its weight in float32; before, behind the cast back.",
    "models/nemotron_h/modeling_nemotron_h.py:NemotronHRMSNorm"};

inline constexpr Change kMiniMaxM2ReadsRotaryDim{
    Package::transformers,
    {5, 18, 0},
    "MiniMax M2 rotates rotary_dim of each head; before, that key was not read and all of it was.",
    "models/minimax_m2/configuration_minimax_m2.py:convert_rope_params_to_dict"};

inline constexpr Change kChunkScanByEinsum{
    Package::transformers,
    {5, 18, 0},
    "Mamba 2's scan of chunks contracts by torch.einsum; before, it made whole products and summed "
    "them.",
    "models/mamba2/modeling_mamba2.py:mamba2_chunk_scan"};

inline constexpr Change kRotaryAnglesAreProducts{
    Package::transformers,
    {5, 19, 0},
    "Positions times inverse frequencies, element by element, are a rotary embedding's angles; "
    "before, a product of matrices was, of positions that lived until the function's end.",
    "models/llama/modeling_llama.py:LlamaRotaryEmbedding.forward"};

inline constexpr Change kPositionBiasMaskIsPacked{
    Package::transformers,
    {5, 20, 0},
    "The mask that a position bias becomes for torch's attention is made contiguous.",
    "integrations/sdpa_attention.py:create_position_bias_mask"};

inline constexpr Change kLongRopeKeepsItsFrequencies{
    Package::transformers,
    {5, 21, 0},
    "longrope keeps its long frequencies, chooses by torch.where and copies into its buffer; "
    "before, every forward computed them and registered them as the buffer.",
    "modeling_rope_utils.py:longrope_frequency_update"};

inline constexpr Change kGemma4LooksUpPositions{
    Package::transformers,
    {5, 10, 0},
    "Gemma 4's patches look their positions up; before, they were a product with F.one_hot of all "
    "10,240. Seen in 5.8.1 and 5.10.4.",
    "models/gemma4/modeling_gemma4.py:Gemma4VisionPatchEmbedder._position_embeddings"};

inline constexpr Change kGatedNormOfGroups{
    Package::transformers,
    {5, 23, 0},
    "The gated norm of Mamba 2, Bamba and GraniteMoeHybrid takes the variance of each group; "
    "before, of all.",
    "models/mamba2/modeling_mamba2.py:MambaRMSNormGated"};

inline constexpr Change kHyperConnectionsRebind{
    Package::transformers,
    {5, 18, 0},
    "DeepSeek-V4's hyper-connections give what they flatten and project one name; before, each "
    "step had a name of its own until they returned.",
    "models/deepseek_v4/modeling_deepseek_v4.py:DeepseekV4HyperConnection"};

inline constexpr Change kDeepseekV4NormInFloat32{
    Package::transformers,
    {5, 20, 0},
    "DeepSeek-V4's norm multiplies by its weight in float32; before, behind the cast back.",
    "models/deepseek_v4/modeling_deepseek_v4.py:DeepseekV4RMSNorm"};

inline constexpr Change kRoutersAreFloat32{
    Package::transformers,
    {5, 24, 0},
    "Routers of DeepSeek-V3's kind hold their weights and correction bias in float32 (DeepSeek-V2, "
    "V3 and V3.2, GLM's mixtures, dots1, Hunyuan 3, Nemotron-H, Solar Open); before, in the "
    "model's dtype, but for the bias of GLM's and Solar Open's.",
    "models/deepseek_v3/modeling_deepseek_v3.py:DeepseekV3TopkRouter"};

inline constexpr Change kGptJCallsTheInterface{
    Package::transformers,
    {5, 24, 0},
    "GPT-J's and CodeGen's attentions call the attention function of the configuration, sdpa by "
    "default, and the model gathers positions once; before, each layer did, and attention was "
    "eager alone.",
    "models/gptj/modeling_gptj.py:GPTJAttention, GPTJRotaryEmbedding"};

inline constexpr Change kDeepseekV4KeepsNormsInFloat32{
    Package::transformers,
    {5, 24, 0},
    "DeepSeek-V4's norms, sinks, position biases and hyper-connections are held in float32.",
    "models/deepseek_v4/modeling_deepseek_v4.py:DeepseekV4DecoderLayer"};

}  // namespace memtape::changes
