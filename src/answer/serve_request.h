// SPDX-License-Identifier: Apache-2.0
// A serving request: the words of `memtape serve`, answered by the engine that they name. The serve
// command and the scoreboard both go through here.
#pragma once

#include "answer/options.h"
#include "answer/side_models.h"
#include "predict/serve_compare.h"

namespace memtape::answer {

/// What is known about the model; any may be null.
struct ServedModel {
  std::string id;
  const Config* config = nullptr;
  const TensorList* header = nullptr;
  const llamacpp::GgufHeader* gguf = nullptr;
  const SideModels* beside = nullptr;
};

/// `source` must outlive it.
ServedModel served(const ModelSource& source);

Result<ServeRequest> serve_request(const ServeCommand& command, const ServedModel& model,
                                   const Outside& outside);

/// What `--compare` asks for instead of one answer.
Result<Comparison> compare_servers(const ServeCommand& command, const ServedModel& model,
                                   const Outside& outside);

Result<ServeAnswer> answer_serve(const ServeCommand& command, const ServedModel& model,
                                 const Outside& outside);

/// Adds to an answer that does not fit what would make it fit.
void add_correction(ServeAnswer& answer, const ServeCommand& command, const ServedModel& model,
                    const Outside& outside);

}  // namespace memtape::answer
