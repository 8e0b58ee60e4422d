// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers in encoders, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kRobertaMakesPositionsOnce{
    Package::transformers,
    {5, 0, 0},
    "RoBERTa and its kin make their table of positions once, as the last of the embeddings; "
    "before, they made it behind that of words, and replaced it in the end.",
    "models/roberta/modeling_roberta.py:RobertaEmbeddings.__init__"};

inline constexpr Change kCamembertSaysNoTie{
    Package::transformers,
    {5, 0, 0},
    "CamemBERT's configuration says nothing of tie_word_embeddings, and its head has weights of "
    "its "
    "own; before, every configuration said true.",
    "models/camembert/configuration_camembert.py:CamembertConfig.__init__"};

inline constexpr Change kCamembertTies{
    Package::transformers,
    {5, 4, 0},
    "CamemBERT's configuration says tie_word_embeddings again. It does not in 5.3.0.",
    "models/camembert/configuration_camembert.py:CamembertConfig"};

inline constexpr Change kXlmRobertaMakesItsHeadFirst{
    Package::transformers,
    {5, 0, 0},
    "XLM-RoBERTa and CamemBERT make their heads before their bodies, so parameters come in this "
    "order. They do not in 4.57.6.",
    "models/xlm_roberta/modeling_xlm_roberta.py:XLMRobertaForMaskedLM.__init__"};

inline constexpr Change kT5StacksCountPositions{
    Package::transformers,
    {4, 46, 0},
    "Stacks of T5 and UMT5 count positions, of which masks and biases are made; before, "
    "get_extended_attention_mask made a causal mask of every row, and UMT5 projected keys and "
    "values before queries. It does in 4.45.2.",
    "models/t5/modeling_t5.py:T5Stack.forward; models/umt5/modeling_umt5.py:UMT5Attention.forward; "
    "modeling_utils.py:get_extended_attention_mask"};

inline constexpr Change kUmt5TakesCheckpointedOutputs{
    Package::transformers,
    {4, 53, 0},
    "UMT5's stacks go on with what a checkpointed layer returns; before, they took it from layers "
    "that are not checkpointed alone, so that checkpointed ones have no gradient. They do in "
    "4.52.4.",
    "models/umt5/modeling_umt5.py:UMT5Stack.forward"};

inline constexpr Change kUmt5CrossMasksAreShared{
    Package::transformers,
    {5, 9, 0},
    "UMT5's decoder masks the encoder's states only where a mask is given, by masking_utils.py; "
    "before, it made one of ones.",
    "models/umt5/modeling_umt5.py:UMT5Stack.forward"};

inline constexpr Change kUmt5MasksAreShared{
    Package::transformers,
    {5, 15, 0},
    "UMT5 has masking_utils.py make its masks of what it is given, as T5 does; before, it made a "
    "mask of ones where it was given none.",
    "models/umt5/modeling_umt5.py:UMT5Stack.forward"};

inline constexpr Change kBartAsksForFiniteOnes{
    Package::transformers,
    {5, 3, 0},
    "Encoder layers of BART and of those that copy it clamp unless all values are finite; before, "
    "if any was infinite or no number.",
    "models/bart/modeling_bart.py:BartEncoderLayer.forward"};

inline constexpr Change kBartDropsSelfAttention{
    Package::transformers,
    {5, 4, 0},
    "A decoder layer of BART and of those that copy it gives the weights of both attentions one "
    "name; before, those of self-attention had one of their own and lived as long as the layer "
    "ran.",
    "models/bart/modeling_bart.py:BartDecoderLayer.forward"};

inline constexpr Change kBartMasksAreShared{
    Package::transformers,
    {5, 0, 0},
    "Decoders of BART and of those that copy it have masking_utils.py make their masks; before, "
    "_update_causal_mask did, and before 4.52 nothing was made for sdpa, nor positions counted "
    "outside the embedding.",
    "models/bart/modeling_bart.py:BartDecoder.forward"};

inline constexpr Change kBartTiesInTheEnd{
    Package::transformers,
    {5, 0, 0},
    "BART's stacks share their tables once the model is made; before, each was given the shared "
    "one as it was made.",
    "models/bart/modeling_bart.py:BartEncoder.__init__"};

inline constexpr Change kEncodersReturnWeights{
    Package::transformers,
    {4, 54, 0},
    "BERT's and its kin's attentions return their weights whoever asks, which the loop over the "
    "layers holds until the next layer has returned, and take queries apart at once. They do not "
    "in 4.53.3 and do in 4.54.1.",
    "models/bert/modeling_bert.py:BertSelfAttention.forward"};

inline constexpr Change kEncodersCallTheInterface{
    Package::transformers,
    {5, 0, 0},
    "BERT's and its kin's attentions call the attention function of all models; before, scores and "
    "probabilities had names that lived until attention returned.",
    "models/bert/modeling_bert.py:BertSelfAttention.forward"};

inline constexpr Change kModernBertCallsTheInterface{
    Package::transformers,
    {5, 1, 0},
    "ModernBERT calls the attention function of all models, rotates in float32, and has masks "
    "where it needs them; before, it took one packed tensor apart, rotated in its dtype, and made "
    "both masks for every batch.",
    "models/modernbert/modeling_modernbert.py:ModernBertAttention.forward"};

inline constexpr Change kModernBertSharesItsRope{
    Package::transformers,
    {5, 0, 0},
    "ModernBERT's layers share cos and sin; before, each attention had frequencies of its own and "
    "computed them.",
    "models/modernbert/modeling_modernbert.py:ModernBertAttention.__init__"};

inline constexpr Change kFairseqModelsCheckNoPadding{
    Package::transformers,
    {5, 4, 0},
    "XGLM and the encoders of M2M-100, Marian and Pegasus no longer look for padding where they "
    "have no mask. They do in 5.3.0.",
    "models/m2m_100/modeling_m2m_100.py:M2M100Encoder.forward, models/xglm/modeling_xglm.py"};

inline constexpr Change kEsmKnowsNoPast{
    Package::transformers,
    {4, 54, 0},
    "ESM counts positions from padding alone; before, it added how long the past is. It does in "
    "4.53.3.",
    "models/esm/modeling_esm.py:create_position_ids_from_input_ids"};

inline constexpr Change kEsmRenamesItsMask{
    Package::transformers,
    {4, 56, 0},
    "ESM's mask is made behind the embeddings, and takes the name of that of ones, which goes; "
    "before, both came first, lived as long as the model ran, and hid what was embedded, and ids "
    "were looked through for padding. They do in 4.55.4.",
    "models/esm/modeling_esm.py:EsmModel.forward"};

inline constexpr Change kEsmMasksAreShared{
    Package::transformers,
    {5, 0, 0},
    "ESM has masking_utils.py make its mask where it needs one; before, it made one of ones, in "
    "numbers, for every attention.",
    "models/esm/modeling_esm.py:EsmModel.forward, get_extended_attention_mask"};

inline constexpr Change kEsmSharesItsRope{
    Package::transformers,
    {5, 6, 0},
    "ESM's layers share cos and sin; before, each attention kept tables of its own from step to "
    "step. They do not in 5.5.4.",
    "models/esm/modeling_esm.py:EsmRotaryEmbedding"};

inline constexpr Change kDebertaDropsPlainly{
    Package::transformers,
    {4, 47, 0},
    "DeBERTa drops and takes the softmax by torch's own functions; before, by functions of its "
    "own, whose backward fills by a mask once more, and whose softmax keeps no masked scores. Its "
    "second generation scripts its buckets since. They do not in 4.46.3.",
    "models/deberta_v2/modeling_deberta_v2.py:StableDropout, XSoftmax, make_log_bucket_position"};

inline constexpr Change kDebertaAddsEmbeddingsOutOfPlace{
    Package::transformers,
    {4, 49, 0},
    "DeBERTa's embeddings of positions and token types are added out of place; before, into those "
    "of the words. They are not in 4.48.3.",
    "models/deberta_v2/modeling_deberta_v2.py:DebertaV2Embeddings.forward"};

inline constexpr Change kRotaryBertMakesTokenTypes{
    Package::transformers,
    {5, 17, 0},
    "Nomic's and Jina's embeddings make zeros for the types of tokens that nobody gives; before, "
    "they gathered them from a buffer, once for all rows. They do in 5.16.1.",
    "models/nomic_bert/modeling_nomic_bert.py:NomicBertEmbeddings.forward"};

}  // namespace memtape::changes
