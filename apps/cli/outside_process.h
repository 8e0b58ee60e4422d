// SPDX-License-Identifier: Apache-2.0
// What lies outside of a request in this program: the disk, the hub, the variables of the process,
// installed Pythons, real steps on phantom GPUs, and a thread for each core.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "answer/outside.h"

namespace memtape::cli {

class OutsideProcess : public answer::Outside {
 public:
  Result<ModelSource> model(const std::string& name) const override;
  bool is_there(const std::string& path) const override;
  Result<llamacpp::GgufHeader> gguf(const std::string& name) const override;
  Result<std::string> text(const std::string& name, std::size_t limit) const override;
  std::optional<std::string> variable(std::string_view name) const override;
  Result<NamedReleases> installed(const std::string& python) const override;
  Result<std::vector<Container>> containers(launch::ContainerRequest& request) const override;
  Result<TrainAnswer> recorded(const answer::RawOptions& options) const override;
  Workers workers() const override;
};

/// The same for one prediction, which can say meanwhile why it takes long.
class OutsideOfPrediction final : public OutsideProcess {
 public:
  Result<ModelSource> model(const std::string& name) const override;

  /// May be called on another thread.
  std::string progress(std::chrono::seconds passed) const;

 private:
  mutable std::atomic<std::int64_t> layers_ = 0;  ///< of the last model; 0 if it does not say
};

/// There is one for the whole process.
const OutsideProcess& outside_process();

}  // namespace memtape::cli
