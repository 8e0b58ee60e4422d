// SPDX-License-Identifier: Apache-2.0
// What changed in single parts of transformers since its releases 4, as far as memory shows it.
#pragma once

#include "release/release.h"

namespace memtape::changes {

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

}  // namespace memtape::changes
