// SPDX-License-Identifier: Apache-2.0
// What decoders of encoder-decoder models read in training: the labels, moved by one behind a start
// token, -100 replaced by padding.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// T5's _shift_right, BART's shift_tokens_right.
Tensor shift_tokens_right(const Tensor& labels);

/// mBART's: each row starts with its last token, the language.
Tensor shift_tokens_behind_language(const Tensor& labels);

}  // namespace memtape::family
