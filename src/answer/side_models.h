// SPDX-License-Identifier: Apache-2.0
// The models that a server loads in addition to the one it serves, resolved from the flags that
// name them: draft models of llama.cpp (a file, a catalog name or a hub id) and of vLLM, the
// assistant of generate(), and llama.cpp's adapters (files).
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
  /// A draft model with that configuration, which must outlive it.
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
  /// Adds what vLLM's --speculative-config names.
  Result<void> add_proposer(const std::string& speculation, const Outside& outside);
  Result<void> add_adapters(const std::string& names, const Outside& outside);

  std::deque<llamacpp::GgufHeader> files_;  ///< a deque, so that addresses stay valid
  std::deque<ModelSource> sources_;
  SideModel draft_;
  std::vector<SideModel> adapters_;
};

}  // namespace memtape::answer
