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

}  // namespace memtape::changes
