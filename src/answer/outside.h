// SPDX-License-Identifier: Apache-2.0
// Outside: what a request may name that lies outside of it: models, files, variables, an installed
// Python, threads. The rooms have no access to these, so whoever asks brings them. The program has
// the disk and the network (apps/cli/outside_process.h); the library has what its caller hands over
// (answer/handed.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/options.h"
#include "base/result.h"
#include "base/workers.h"
#include "formats/files.h"
#include "formats/gguf.h"
#include "launch/container.h"
#include "model/model_source.h"
#include "predict/train.h"
#include "release/requirement_list.h"

namespace memtape::answer {

class Outside : public Files {
 public:
  /// The model of that name, from the catalog, the hub or a file.
  virtual Result<ModelSource> model(const std::string& name) const = 0;

  /// Whether a file or folder of that name is at hand.
  virtual bool is_there(const std::string& path) const = 0;

  /// The header of a .gguf file with all its splits.
  virtual Result<llamacpp::GgufHeader> gguf(const std::string& name) const = 0;

  /// The whole text of a file of at most `limit` bytes.
  virtual Result<std::string> text(const std::string& name, std::size_t limit) const = 0;

  /// A file that a launch command names.
  Result<std::string> read(const std::string& path) const override {
    constexpr std::size_t kLargestConfiguration = std::size_t{1} << 20;
    return text(path, kLargestConfiguration);
  }

  /// A variable of the environment.
  virtual std::optional<std::string> variable(std::string_view name) const = 0;

  /// The known packages of a Python environment. "" means the active environment, if there is one.
  virtual Result<NamedReleases> installed(const std::string& python) const = 0;

  /// The containers of the files that `request` names.
  virtual Result<std::vector<Container>> containers(launch::ContainerRequest& request) const = 0;

  /// The figures of the real step, for --real.
  virtual Result<TrainAnswer> recorded(const RawOptions& options) const = 0;

  /// The workers that share the work.
  virtual Workers workers() const { return {}; }
};

}  // namespace memtape::answer
