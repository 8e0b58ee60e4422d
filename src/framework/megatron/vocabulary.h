// SPDX-License-Identifier: Apache-2.0
// How many rows an embedding of Megatron-LM has: the tokens of its tokenizer, padded to a multiple
// that tensor parallelism divides (vocab_size_with_padding of megatron/core/tokenizers).
#pragma once

#include "framework/megatron/arguments.h"

namespace memtape::megatron {

/// Sets padded_vocab_size. It is an error if neither the sizes nor the tokenizer say how many
/// tokens there are.
Result<void> set_vocabulary(const Config& config, Arguments& arguments);

}  // namespace memtape::megatron
