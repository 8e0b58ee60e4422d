// SPDX-License-Identifier: Apache-2.0
// What a request over the network may name besides what it hands over: only configurations of
// models on the hub. It has no access to the disk, the variables and the programs of this machine.
#pragma once

#include "answer/handed.h"

namespace memtape::service {

class HandedOrHub final : public answer::Outside {
 public:
  /// Both must outlive it. `hub` is asked only for models with a hub id.
  HandedOrHub(const answer::Handed& handed, const answer::Outside& hub)
      : handed_(handed), hub_(hub) {}

  Result<ModelSource> model(const std::string& name) const override;
  bool is_there(const std::string& path) const override { return handed_.is_there(path); }
  Result<llamacpp::GgufHeader> gguf(const std::string& name) const override {
    return handed_.gguf(name);
  }
  Result<std::string> text(const std::string& name, std::size_t limit) const override {
    return handed_.text(name, limit);
  }
  std::optional<std::string> variable(std::string_view name) const override {
    return handed_.variable(name);
  }
  Result<NamedReleases> installed(const std::string& python) const override {
    return handed_.installed(python);
  }
  Result<std::vector<Container>> containers(launch::ContainerRequest& request) const override {
    return handed_.containers(request);
  }
  Result<TrainAnswer> recorded(const answer::RawOptions& options) const override {
    return handed_.recorded(options);
  }

 private:
  const answer::Handed& handed_;
  const answer::Outside& hub_;
};

}  // namespace memtape::service
