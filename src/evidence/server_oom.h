// SPDX-License-Identifier: Apache-2.0
// The out-of-memory messages of inference servers. Each reader gets the place of the words that
// gave the message away, and returns nothing if they turn out to be something else.
#pragma once

#include "evidence/message_text.h"
#include "evidence/oom_message.h"

namespace memtape {

std::optional<OomMessage> vllm_message(const MessageText& text, std::size_t at);
std::optional<OomMessage> sglang_message(const MessageText& text, std::size_t at);
std::optional<OomMessage> llamacpp_message(const MessageText& text, std::size_t at);

}  // namespace memtape
