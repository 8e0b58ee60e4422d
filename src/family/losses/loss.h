// SPDX-License-Identifier: Apache-2.0
// Losses of transformers' heads (loss/loss_utils.py).
#pragma once

#include <string_view>

#include "family/pretrained.h"

namespace memtape::family {

/// ForCausalLMLoss: casts the logits to float32, pads the labels and shifts them by one, and takes
/// the cross entropy as a mean, or as a sum divided by num_items_in_batch. It takes over its own
/// copy of the logits. In some releases the forward of `model_type` already returns its logits in
/// float32; then `logits` is that copy.
Tensor causal_lm_loss(Tensor& logits, const Batch& batch, std::int64_t vocab_size,
                      std::string_view model_type = {});

/// Whether the head of a model of text and images is its text model's own, as before transformers
/// 4.52: hidden states go when it returns, and its output holds the logits until the loss is there.
bool head_is_of_text(std::string_view model_type);

/// Whether the forward of a model of text and images embeds the tokens itself and holds them until
/// it returns, as before transformers 4.52, and whether it counts the positions, too.
bool embeds_before_text(std::string_view model_type);
bool counts_before_text(std::string_view model_type);

/// CrossEntropyLoss()(prediction_scores.view(-1, vocab_size), labels.view(-1)) of the masked-LM
/// heads: every position counts, in the logits' own dtype.
Tensor masked_lm_loss(const Tensor& logits, const Batch& batch, std::int64_t vocab_size);

}  // namespace memtape::family
