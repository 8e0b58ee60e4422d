// SPDX-License-Identifier: Apache-2.0
// What changed in single parts of transformers since its releases 4, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kCacheJoinsFromTheStart{
    Package::transformers,
    {4, 56, 0},
    "A dynamic cache joins a layer's first keys and values to empty ones; before, it held them as "
    "they were.",
    "cache_utils.py:DynamicLayer.lazy_initialization, DynamicLayer.update"};

inline constexpr Change kGemma2CachesInTraining{
    Package::transformers,
    {5, 0, 0},
    "The text models of Gemma 2 and 3 make a cache in training, too, where their configuration "
    "says "
    "use_cache.",
    "models/gemma3/modeling_gemma3.py:Gemma3TextModel.forward"};

inline constexpr Change kGptBigCodeChecksItsCache{
    Package::transformers,
    {4, 53, 0},
    "GPT-BigCode caches nothing under gradient checkpointing; before, each layer gave a slice of "
    "its projection as what is cached, then, too.",
    "models/gpt_bigcode/modeling_gpt_bigcode.py:GPTBigCodeModel.forward"};

inline constexpr Change kGptBigCodeForgetsCheckpoints{
    Package::transformers,
    {4, 54, 0},
    "GPT-BigCode computes no layer again, whatever gradient checkpointing says, and caches.",
    "models/gpt_bigcode/modeling_gpt_bigcode.py:GPTBigCodeBlock"};

inline constexpr Change kGptBigCodeCheckpointsAgain{
    Package::transformers,
    {5, 0, 0},
    "GPT-BigCode's layers are GradientCheckpointingLayers again; since 4.54, they were not.",
    "models/gpt_bigcode/modeling_gpt_bigcode.py:GPTBigCodeBlock"};

inline constexpr Change kSlidingMasksByIndices{
    Package::transformers,
    {4, 52, 0},
    "Sliding layers of Gemma 2 and 3 pick the columns of their masks by an index tensor; before, "
    "by numbers from the host.",
    "models/gemma2/modeling_gemma2.py:Gemma2DecoderLayer.forward of 4.52"};

inline constexpr Change kGpt2TakesQueriesLast{
    Package::transformers,
    {4, 54, 0},
    "GPT-2's attention takes its queries apart into heads after keys and values. It does not in "
    "4.53.3 and does in 4.54.1.",
    "models/gpt2/modeling_gpt2.py:GPT2Attention.forward"};

inline constexpr Change kFalconSharesItsRope{
    Package::transformers,
    {4, 54, 0},
    "Falcon has one rotary embedding; before, each attention had one of its own, too.",
    "models/falcon/modeling_falcon.py:FalconAttention.__init__"};

inline constexpr Change kAllRopesAreShared{
    Package::transformers,
    {5, 0, 0},
    "StableLM's and Qwen2-VL's attentions have no rotary embeddings of their own any more.",
    "models/stablelm/modeling_stablelm.py, models/qwen2_vl/modeling_qwen2_vl.py"};

inline constexpr Change kRopesByTypeInUse{
    Package::transformers,
    {5, 0, 0},
    "One rotary embedding holds the frequencies of the layer types in use; before, there were two, "
    "whatever the layers were.",
    "models/gemma3/modeling_gemma3.py, models/olmo3/modeling_olmo3.py"};

inline constexpr Change kCheckpointsKeepTheGraph{
    Package::transformers,
    {5, 0, 0},
    "gradient_checkpointing_enable() asks for use_reentrant=False; before, for True.",
    "modeling_utils.py:PreTrainedModel.gradient_checkpointing_enable"};

inline constexpr Change kEncoderMasksAreShared{
    Package::transformers,
    {5, 0, 0},
    "BERT and its kin have masking_utils.py make their masks and gather token types; before, they "
    "made a mask of ones, looked for padding, and saw a part of the buffer of token types.",
    "models/bert/modeling_bert.py:BertModel.forward"};

inline constexpr Change kLayersCheckpointThemselves{
    Package::transformers,
    {4, 53, 0},
    "Layers checkpoint themselves (GradientCheckpointingLayer), and what is passed by name lives "
    "as long as the graph; before, models passed every tensor by position, which reentrant "
    "checkpointing lets go of once the layer's backward is done.",
    "modeling_layers.py:GradientCheckpointingLayer; models/llama/modeling_llama.py:LlamaModel"};

inline constexpr Change kStarcoder2Checkpoints{
    Package::transformers,
    {4, 52, 0},
    "StarCoder2's layers can be checkpointed again; since 4.48, its model did not.",
    "models/starcoder2/modeling_starcoder2.py:Starcoder2Model.forward"};

inline constexpr Change kBartLeavesHeads{
    Package::transformers,
    {4, 52, 0},
    "Attentions of BART and of those that copy it leave queries, keys and values as they lie; "
    "before, they packed each, and in eager attention scaled the queries first.",
    "models/bart/modeling_bart.py:BartAttention._shape"};

inline constexpr Change kBartCallsTheInterface{
    Package::transformers,
    {4, 53, 0},
    "Attentions of BART and of those that copy it call the attention function of all models.",
    "models/bart/modeling_bart.py:BartAttention.forward"};

inline constexpr Change kMasksKnowWindows{
    Package::transformers,
    {4, 46, 0},
    "Masks of Qwen2, Mixtral, Phi-3 and StarCoder2 heed sliding windows, as Mistral's did before. "
    "They do not in 4.45.2 and do in 4.46.3.",
    "models/qwen2/modeling_qwen2.py:_prepare_4d_causal_attention_mask_with_cache_position"};

inline constexpr Change kGemma2CallsFunctions{
    Package::transformers,
    {4, 46, 0},
    "Gemma 2's attention calls functions, in whose frames keys and values are repeated.",
    "models/gemma2/modeling_gemma2.py:GEMMA2_ATTENTION_FUNCTION"};

inline constexpr Change kMptCachesByClass{
    Package::transformers,
    {4, 54, 0},
    "MPT's attention returns no keys and values; before, its block held them to its end. It "
    "returns them in 4.53.3 and does not in 4.55.4.",
    "models/mpt/modeling_mpt.py:MptAttention.forward"};

inline constexpr Change kGptJCastsItsAngles{
    Package::transformers,
    {4, 56, 0},
    "GPT-J casts sines and cosines to the keys' dtype; before, it rotated in float32. It does not "
    "in 4.55.4.",
    "models/gptj/modeling_gptj.py:GPTJAttention.forward"};

inline constexpr Change kGptJScalesByNumber{
    Package::transformers,
    {5, 0, 0},
    "GPT-J and CodeGen divide scores by a number; before, by a tensor of each layer.",
    "models/gptj/modeling_gptj.py:GPTJAttention.__init__"};

inline constexpr Change kBlocksReturnWeights{
    Package::transformers,
    {4, 54, 0},
    "Blocks of Falcon, GPT-J, CodeGen and MPT return attention weights, whoever asks, which the "
    "loop over the layers holds; before, attention let go of them, or MPT's block.",
    "models/falcon/modeling_falcon.py:FalconAttention.forward, models/gptj/modeling_gptj.py"};

inline constexpr Change kGptJLeavesItsLoss{
    Package::transformers,
    {5, 0, 0},
    "GPT-J's and CodeGen's loss stays as it is; before, it was cast to the hidden states' dtype.",
    "models/gptj/modeling_gptj.py:GPTJForCausalLM.forward"};

inline constexpr Change kLoopsOverHitExperts{
    Package::transformers,
    {4, 53, 0},
    "Mixtral's and Qwen's mixtures look first for the experts that have tokens, and copy each "
    "one's "
    "part of the mask; before, they went over every expert. They do in 4.52.4.",
    "models/qwen3_moe/modeling_qwen3_moe.py:Qwen3MoeSparseMoeBlock.forward"};

inline constexpr Change kGptNeoLeavesItsLogits{
    Package::transformers,
    {5, 0, 0},
    "GPT-Neo leaves logits and loss as they are; before, its forward made float32 of the logits, "
    "and cast them and the loss back to the hidden states' dtype.",
    "models/gpt_neo/modeling_gpt_neo.py:GPTNeoForCausalLM.forward"};

inline constexpr Change kLfm2HasOneRope{
    Package::transformers,
    {5, 0, 0},
    "LFM2 has one rotary embedding; before, a second one that it called, and one that it did not. "
    "It has two in 4.57.6.",
    "models/lfm2/modeling_lfm2.py:Lfm2Model.__init__"};

inline constexpr Change kLfm2RebindsItsProduct{
    Package::transformers,
    {5, 15, 0},
    "LFM2's convolution takes the place of what goes into it; before, that had a name until the "
    "mixer's end, as it has in 5.10.4.",
    "models/lfm2/modeling_lfm2.py:Lfm2ShortConv.slow_forward"};

inline constexpr Change kBloomReturnsProbabilities{
    Package::transformers,
    {4, 54, 0},
    "BLOOM's attention returns its probabilities in any case, so its block holds them to its end.",
    "models/bloom/modeling_bloom.py:BloomAttention.forward"};

inline constexpr Change kPhi3DropsItsOutputs{
    Package::transformers,
    {4, 48, 0},
    "A layer of Phi-3 calls what its attention gave hidden_states; before, it had a name of its "
    "own "
    "for it until the layer's end.",
    "models/phi3/modeling_phi3.py:Phi3DecoderLayer.forward"};

inline constexpr Change kOptCountsPositions{
    Package::transformers,
    {4, 49, 0},
    "OPT's decoder makes cache_position, and its attention takes queries, keys and values as they "
    "lie; before, it packed each, and sdpa had queries that were scaled already.",
    "models/opt/modeling_opt.py:OPTDecoder.forward, OPTSdpaAttention.forward, _shape"};

inline constexpr Change kOptCallsTheInterface{
    Package::transformers,
    {4, 52, 0},
    "OPT's attention scales its queries and calls the attention functions of all models; before, "
    "it "
    "called sdpa itself, with queries, keys and values as they lay.",
    "models/opt/modeling_opt.py:OPTSdpaAttention.forward"};

inline constexpr Change kGpt2HasNoBias{
    Package::transformers,
    {5, 2, 0},
    "GPT-2's attention masks by what it is given; before, by a triangle in buffers of its own.",
    "models/gpt2/modeling_gpt2.py:GPT2Attention"};

inline constexpr Change kGemmaScalesInItsTable{
    Package::transformers,
    {5, 4, 0},
    "Gemma's and Gemma 2's embeddings are scaled by a buffer; before, by a number from the host.",
    "models/gemma/modeling_gemma.py:GemmaTextScaledWordEmbedding"};

inline constexpr Change kModelsImportDynamo{
    Package::transformers,
    {4, 51, 0},
    "torch._dynamo is first imported as a model is made, through flex attention, and so under the "
    "device that the model is made on; before, generation's modules had imported it.",
    "integrations/flex_attention.py, modeling_utils.py"};

inline constexpr Change kDynamoIsImportedBefore{
    Package::transformers,
    {4, 53, 0},
    "torch._dynamo is imported with the auto classes, before a model is made.",
    "masking_utils.py"};

inline constexpr Change kModelsHaveTheRopes{
    Package::transformers,
    {4, 48, 0},
    "Rotary embeddings are the models' alone; before, each attention had one of its own, beside "
    "the "
    "model's, or instead of it and asked in every layer (Mistral, Gemma, OLMo, Phi-3).",
    "models/llama/modeling_llama.py:LlamaAttention, models/mistral/modeling_mistral.py"};

inline constexpr Change kProjectionsAreTakenApartAtOnce{
    Package::transformers,
    {4, 48, 0},
    "Attentions take each projection apart into heads before they make the next; before, queries, "
    "keys and values were all made first.",
    "models/llama/modeling_llama.py:LlamaAttention.forward"};

inline constexpr Change kGptNeoXPacksValues{
    Package::transformers,
    {4, 47, 0},
    "GPT-NeoX's sdpa packs values, which are a part of a common projection, until it calls the "
    "interface; before, it did so under torch 2.1.2 alone.",
    "models/gpt_neox/modeling_gpt_neox.py:sdpa_attention_forward of 4.47"};

inline constexpr Change kGptNeoXHasNoBias{
    Package::transformers,
    {4, 49, 0},
    "GPT-NeoX's attention masks by what it is given; before, each held a triangle of bools and a "
    "number in buffers of its own, and a rotary embedding.",
    "models/gpt_neox/modeling_gpt_neox.py:GPTNeoXAttention"};

inline constexpr Change kOlmoKeepsAnglesInFloat32{
    Package::transformers,
    {4, 52, 0},
    "OLMo and OLMo 2 rotate in float32; before, cos and sin were cast to the dtype of the model.",
    "models/olmo2/modeling_olmo2.py:Olmo2RotaryEmbedding.forward"};

inline constexpr Change kPhi3RotatesAPart{
    Package::transformers,
    {4, 49, 0},
    "Phi-3 rotates a part of each head and joins it with the rest, also where that is empty.",
    "models/phi3/modeling_phi3.py:apply_rotary_pos_emb"};

inline constexpr Change kAttentionsAreInterfaces{
    Package::transformers,
    {4, 48, 0},
    "Attention is a function that modules call; before, each had its code written out: keys and "
    "values took the name of their repetitions, sdpa's inputs were packed beside a mask alone, and "
    "eager attention's weights ended with it (Phi, Phi-3 and StarCoder2 added the mask in place).",
    "models/llama/modeling_llama.py:LlamaSdpaAttention.forward"};

inline constexpr Change kMllamaCallsTheInterface{
    Package::transformers,
    {4, 52, 0},
    "Mllama's attentions call that function.",
    "models/mllama/modeling_mllama.py:MllamaTextSelfAttention"};

inline constexpr Change kQwenVlCallsTheInterface{
    Package::transformers,
    {4, 53, 0},
    "Qwen2-VL's and Qwen2.5-VL's attentions call that function.",
    "models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLAttention"};

inline constexpr Change kEncodersAddPositionsOutOfPlace{
    Package::transformers,
    {5, 0, 0},
    "BERT's and its kin's embeddings add their positions out of place; before, in place.",
    "models/bert/modeling_bert.py:BertEmbeddings.forward"};

inline constexpr Change kT5MasksAreShared{
    Package::transformers,
    {5, 0, 0},
    "T5 has masking_utils.py make its masks; before, it made masks of ones, and biases of them.",
    "models/t5/modeling_t5.py:T5Stack.forward"};

inline constexpr Change kT5CountsNoPositions{Package::transformers,
                                             {5, 4, 0},
                                             "T5's layers count positions for their bias; before, "
                                             "the stack did, and each layer that attends "
                                             "to the encoder was told the last of them plus one.",
                                             "models/t5/modeling_t5.py:T5Block.forward"};

inline constexpr Change kGpt2UpdatesItsMask{
    Package::transformers,
    {4, 52, 0},
    "GPT-2 makes a causal mask for eager attention, and counts positions behind the embedding; "
    "before, there was no mask beside the triangle of its layers, and positions came first.",
    "models/gpt2/modeling_gpt2.py:GPT2Model.forward"};

inline constexpr Change kLongRopeForgetsItsFrequencies{
    Package::transformers,
    {5, 0, 0},
    "longrope computes its long frequencies in every forward; before, in the first alone.",
    "modeling_rope_utils.py:longrope_frequency_update"};

inline constexpr Change kMambaFillsItsALog{
    Package::transformers,
    {5, 3, 0},
    "Mamba makes A_log in the model's dtype and fills it; before, it was the logarithm of float32 "
    "numbers, and stayed in float32.",
    "models/mamba/modeling_mamba.py:MambaMixer.__init__"};

inline constexpr Change kCachePositionsAreGone{
    Package::transformers,
    {5, 4, 0},
    "Models make no cache_position; before, those without position_ids of their own did, and BERT "
    "and its "
    "kin since 5.0.",
    "models/bloom/modeling_bloom.py:BloomModel.forward, models/opt/modeling_opt.py"};

inline constexpr Change kGpt2HasNoMaskedBias{
    Package::transformers,
    {5, 0, 0},
    "GPT-2's layers keep no masked_bias beside their triangle.",
    "models/gpt2/modeling_gpt2.py:GPT2Attention.__init__"};

inline constexpr Change kOlmo3RopesByType{
    Package::transformers,
    {5, 13, 0},
    "OLMo 3 has frequencies for each layer type again; since 5.0, one rope served all layers.",
    "models/olmo3/modeling_olmo3.py:Olmo3Model.forward"};

inline constexpr Change kVisionRopesKeepOriginals{
    Package::transformers,
    {5, 17, 0},
    "The rotary embeddings of Qwen's and GLM's vision towers are those of text models, which keep "
    "their original frequencies; before, each had one buffer.",
    "models/qwen2_vl/modeling_qwen2_vl.py:VisionRotaryEmbedding, Qwen2VLVisionRotaryEmbedding"};

inline constexpr Change kGemma3ScaleIsABuffer{
    Package::transformers,
    {4, 51, 0},
    "What Gemma 3's embedding is scaled by is a buffer; before, a number of the host. It is not in "
    "4.50.3.",
    "models/gemma3/modeling_gemma3.py:Gemma3TextScaledWordEmbedding.__init__"};

inline constexpr Change kAnglesAreScaledInTurn{
    Package::transformers,
    {4, 51, 0},
    "A rotary embedding's cos is scaled before sin is taken; before, both were taken first, and "
    "those of attentions (until 4.48) had no scale. It is not in 4.50.3 and is in 4.51.3.",
    "models/llama/modeling_llama.py:LlamaRotaryEmbedding.forward, "
    "models/mistral/modeling_mistral.py:MistralRotaryEmbedding.forward"};

inline constexpr Change kOlmo2NormsInFloat32{
    Package::transformers,
    {4, 52, 0},
    "OLMo 2's norm multiplies by its weight in float32; before, behind the cast back.",
    "models/olmo2/modeling_olmo2.py:Olmo2RMSNorm.forward"};

}  // namespace memtape::changes
