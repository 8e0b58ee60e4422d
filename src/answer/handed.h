// SPDX-License-Identifier: Apache-2.0
// Handed: what lies outside of a request, as the caller hands it over: files by name, the
// beginnings of large files, and variables. It is for programs that have no disk (a web page) or do
// not give access to it. If a reader asks for more, that is noted, so that the caller can bring it
// and ask again.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/outside.h"

namespace memtape::answer {

struct HandedFile {
  std::string_view name;
  std::string_view bytes;  ///< as many bytes from its beginning as there are
  Bytes size = 0;          ///< that of the whole file
};

/// A file, or more of one, that the answer needs: its first `bytes` bytes; 0 means the whole file.
struct Wanted {
  std::string name;
  Bytes bytes = 0;
};

class Handed final : public Outside {
 public:
  /// `files` must outlive it. `config` is the text of the model's config.json, or "".
  Handed(std::vector<HandedFile> files, std::string config, NamedValues variables,
         NamedReleases installed)
      : files_(std::move(files)),
        config_(std::move(config)),
        variables_(std::move(variables)),
        installed_(std::move(installed)) {}

  Result<ModelSource> model(const std::string& name) const override;
  bool is_there(const std::string& path) const override {
    return find(path) || find(path + "/config.json");
  }
  Result<llamacpp::GgufHeader> gguf(const std::string& name) const override;
  Result<std::string> text(const std::string& name, std::size_t limit) const override;
  std::optional<std::string> variable(std::string_view name) const override;
  Result<NamedReleases> installed(const std::string& python) const override;
  Result<std::vector<Container>> containers(launch::ContainerRequest& request) const override;
  Result<TrainAnswer> recorded(const RawOptions& options) const override;

  const std::vector<Wanted>& wanted() const { return wanted_; }
  void want(std::string name, Bytes bytes) const { wanted_.push_back({std::move(name), bytes}); }

 private:
  const HandedFile* find(std::string_view name) const;
  Result<Config> config(const std::string& name) const;
  Result<ModelSource> folder(const std::string& name) const;
  Result<ModelSource> file(const std::string& name) const;
  Result<std::optional<TensorList>> tensors(const HandedFile& file) const;
  Result<void> take_checkpoint(ModelSource& source, const std::string& folder) const;

  std::vector<HandedFile> files_;
  std::string config_;
  NamedValues variables_;
  NamedReleases installed_;
  mutable std::vector<Wanted> wanted_;
};

}  // namespace memtape::answer
