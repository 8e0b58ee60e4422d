// SPDX-License-Identifier: Apache-2.0
// The Hugging Face hub: the cache that huggingface_hub keeps on disk, and the files of a repository
// over the network. Environment variables mean the same as in huggingface_hub (constants.py). Only
// the revision main is asked for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/byte_source.h"
#include "sources/http.h"

namespace memtape::sources {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< the value of HF_ENDPOINT
  std::string token;  ///< the value of HF_TOKEN, or the file that `hf auth login` writes
  /// HF_HUB_CACHE, or else $HF_HOME/hub, or else ~/.cache/huggingface/hub.
  std::filesystem::path cache;
  bool offline = false;  ///< the value of HF_HUB_OFFLINE

  static HubSettings of_process();
};

/// Whether `id` has the form of a repository's name: "name" or "organisation/name".
bool is_hub_id(std::string_view id);

/// The folder of the main revision of `id` in the cache, if its config.json is there.
std::optional<std::filesystem::path> cached_snapshot(const HubSettings& settings,
                                                     std::string_view id);

/// The files of one repository, which are fetched one by one.
class HubRepository {
 public:
  static Result<HubRepository> open(const HubSettings& settings, std::string id);

  /// The whole file of at most `limit` bytes. It is nothing if the repository has no such file.
  Result<std::optional<std::string>> text(const std::string& file, std::size_t limit);

  /// The file for a reader of headers: its first bytes are fetched now, and more when the reader
  /// asks for them. The repository must outlive it. It is nothing if there is no such file.
  Result<std::optional<class HubFile>> file(const std::string& file);

  std::string url(std::string_view file) const;

 private:
  friend class HubFile;
  HubRepository(HubSettings settings, std::string id, std::unique_ptr<HttpClient> client)
      : settings_(std::move(settings)), id_(std::move(id)), client_(std::move(client)) {}

  /// A successful response, or nothing for "no such file".
  Result<std::optional<HttpResponse>> get(const std::string& file, std::size_t limit,
                                          bool prefix_only);

  HubSettings settings_;
  std::string id_;
  std::unique_ptr<HttpClient> client_;
};

/// The beginning of a file on the hub, as much as was asked for.
class HubFile : public ByteSource {
 public:
  std::string name() const override { return repository_->url(file_); }
  Bytes size() const override { return size_; }
  Result<void> read(Bytes offset, std::span<char> into) const override;

 private:
  friend class HubRepository;
  HubFile(HubRepository& repository, std::string file, HttpResponse response);

  HubRepository* repository_;
  std::string file_;
  mutable std::string prefix_;
  Bytes size_;
};

}  // namespace memtape::sources
