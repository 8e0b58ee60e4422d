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

}  // namespace memtape::changes
