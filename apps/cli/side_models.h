// SPDX-License-Identifier: Apache-2.0
// The models that a server loads beside the one it serves, resolved from the flags that name them:
// draft models of llama.cpp (a file, a catalog name or a hub id) and of vLLM, generate()'s
// assistant, and llama.cpp's adapters (files).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "options.h"
#include "sources/gguf_file.h"
#include "sources/model_source.h"
#include "workload/serve_engine.h"

namespace memtape::cli {

class SideModels {
 public:
  static Result<SideModels> read(const ServeCommand& command);
  /// With a draft model of that configuration, which outlives it.
  static SideModels drafted_by(const std::string& name, const Config& config);

  const SideModel& draft() const { return draft_; }
  const std::vector<SideModel>& adapters() const { return adapters_; }

 private:
  Result<const sources::ModelSource*> add_source(const std::string& name);
  Result<void> add_draft(const std::string& name);
  /// vLLM's --speculative-config.
  Result<void> add_proposer(const std::string& speculation);
  Result<void> add_adapters(const std::string& names);

  std::deque<llamacpp::GgufHeader> files_;  ///< addresses stay
  std::deque<sources::ModelSource> sources_;
  SideModel draft_;
  std::vector<SideModel> adapters_;
};

}  // namespace memtape::cli
