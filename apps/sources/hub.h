// SPDX-License-Identifier: Apache-2.0
// The Hugging Face hub: the cache that huggingface_hub keeps on disk, and the files of a repository
// over the network. Environment variables mean what they mean there (huggingface_hub/constants.py);
// only main is asked for.
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
  std::string endpoint = "https://huggingface.co";  ///< HF_ENDPOINT
  std::string token;            ///< HF_TOKEN, or the file that `hf auth login` writes
  std::filesystem::path cache;  ///< HF_HUB_CACHE, else $HF_HOME/hub, else ~/.cache/huggingface/hub
  bool offline = false;         ///< HF_HUB_OFFLINE

  static HubSettings of_process();
};

/// Whether `id` could be a repository: "name" or "organisation/name".
bool is_hub_id(std::string_view id);

/// The folder of the main revision of `id` in the cache, when its config.json is there.
std::optional<std::filesystem::path> cached_snapshot(const HubSettings& settings,
                                                     std::string_view id);

/// The files of one repository, fetched one by one.
class HubRepository {
 public:
  static Result<HubRepository> open(const HubSettings& settings, std::string id);

  /// The whole file of at most `limit` bytes; nothing when the repository has no such file.
  Result<std::optional<std::string>> text(const std::string& file, std::size_t limit);

  /// The file for a reader of headers: its first bytes are fetched now, more when the reader asks.
  /// The repository must outlive it. Nothing when there is no such file.
  Result<std::optional<class HubFile>> file(const std::string& file);

  std::string url(std::string_view file) const;

 private:
  friend class HubFile;
  HubRepository(HubSettings settings, std::string id, std::unique_ptr<HttpClient> client)
      : settings_(std::move(settings)), id_(std::move(id)), client_(std::move(client)) {}

  /// A success, or nothing for "no such file".
  Result<std::optional<HttpResponse>> get(const std::string& file, std::size_t limit,
                                          bool prefix_only);

  HubSettings settings_;
  std::string id_;
  std::unique_ptr<HttpClient> client_;
};

/// The beginning of a file on the hub, as far as it was asked for.
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
