// SPDX-License-Identifier: Apache-2.0
// The models that a server loads beside the one it serves, resolved from the flags that name them:
// draft models of llama.cpp (a file, a catalog name or a hub id) and of vLLM, generate()'s
// assistant, and llama.cpp's adapters (files).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "answer/options.h"
#include "answer/outside.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

class SideModels {
 public:
  static Result<SideModels> read(const ServeCommand& command, const Outside& outside);
  /// With a draft model of that configuration, which outlives it.
  static SideModels drafted_by(const std::string& name, const Config& config);

  /// The request of a server, with these models beside the one that it serves.
  ServeRequest beside(ServeRequest request) const {
    request.draft = draft_;
    request.adapters = adapters_;
    return request;
  }

 private:
  Result<const ModelSource*> add_source(const std::string& name, const Outside& outside);
  Result<void> add_draft(const std::string& name, const Outside& outside);
  /// vLLM's --speculative-config.
  Result<void> add_proposer(const std::string& speculation, const Outside& outside);
  Result<void> add_adapters(const std::string& names, const Outside& outside);

  std::deque<llamacpp::GgufHeader> files_;  ///< addresses stay
  std::deque<ModelSource> sources_;
  SideModel draft_;
  std::vector<SideModel> adapters_;
};

}  // namespace memtape::answer
