// SPDX-License-Identifier: Apache-2.0
// What helps where a server ran out of memory, or did not start: flags of vLLM, SGLang and
// llama.cpp, with the figures that their log states around the message.
#pragma once

#include <vector>

#include "evidence/explanation.h"

namespace memtape {

/// Explains a message that a server itself wrote.
void explain_server(ExplainedMessage& out, const std::vector<LogFigure>& figures);

/// Adds the server's flags to a message of torch, CUDA or a library in its log. `missing` are the
/// bytes that would have been enough, or 0 if they are not known.
void advise_server(ExplainedMessage& out, const std::vector<LogFigure>& figures, Bytes missing);

}  // namespace memtape
