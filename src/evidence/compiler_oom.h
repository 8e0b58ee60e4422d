// SPDX-License-Identifier: Apache-2.0
// The out-of-memory messages of programs whose kernels a compiler made: XLA under JAX, TensorFlow's
// own allocator, and Triton, whose message is about shared memory on the chip.
#pragma once

#include "evidence/explanation.h"
#include "evidence/message_text.h"
#include "evidence/oom_message.h"

namespace memtape {

/// Each reader gets the place of the words that gave the message away, and returns nothing if they
/// turn out to be something else.
std::optional<OomMessage> xla_message(const MessageText& text, std::size_t at);
std::optional<OomMessage> tensorflow_message(const MessageText& text, std::size_t at);
std::optional<OomMessage> triton_message(const MessageText& text, std::size_t at);

/// Says what such a message means and what helps.
void explain_compiler(ExplainedMessage& out);

}  // namespace memtape
