// SPDX-License-Identifier: Apache-2.0
#include "sources/checkpoint.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "formats/safetensors.h"
#include "sources/files.h"

namespace memtape::sources {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestIndex = std::size_t{64} << 20;
constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

std::vector<fs::path> safetensors_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

Result<TensorList> read_file(const fs::path& path) {
  const Result<FileBytes> file = FileBytes::open(path.string());
  if (!file) return tl::unexpected(file.error());
  return read_safetensors(*file);
}

Result<Checkpoint> checkpoint_of(Result<TensorList> tensors) {
  if (!tensors) return tl::unexpected(tensors.error());
  return Checkpoint{*std::move(tensors), {}};
}

/// Files that belong together without an index, as some tools leave them.
Result<Checkpoint> read_all(const std::vector<fs::path>& files) {
  TensorList all;
  for (const fs::path& file : files) {
    Result<TensorList> tensors = read_file(file);
    if (!tensors) return tl::unexpected(tensors.error());
    std::ranges::move(tensors->tensors, std::back_inserter(all.tensors));
  }
  return Checkpoint{std::move(all), {}};
}

}  // namespace

Result<Checkpoint> read_checkpoint_file(const fs::path& file) {
  return checkpoint_of(read_file(file));
}

Result<Checkpoint> read_checkpoint_index(const fs::path& path) {
  const Result<std::string> text = read_text_file(path.string(), kLargestIndex);
  if (!text) return tl::unexpected(text.error());
  return read_shards(*text, path.string(),
                     [&](const std::string& name) -> Result<std::optional<TensorList>> {
                       const fs::path file = path.parent_path() / name;
                       if (!is_there(file)) return std::nullopt;
                       return read_file(file);
                     });
}

Result<Checkpoint> read_checkpoint_folder(const fs::path& folder) {
  if (is_there(folder / kWhole)) return read_checkpoint_file(folder / kWhole);
  if (is_there(folder / kIndex)) return read_checkpoint_index(folder / kIndex);
  const std::vector<fs::path> files = safetensors_in(folder);
  return files.empty() ? Checkpoint{} : read_all(files);
}

Result<Checkpoint> fetch_checkpoint(HubRepository& repository) {
  const auto read = [&](const std::string& name) -> Result<std::optional<TensorList>> {
    const Result<std::optional<HubFile>> file = repository.file(name);
    if (!file) return tl::unexpected(file.error());
    if (!*file) return std::nullopt;
    return read_safetensors(**file);
  };
  Result<std::optional<TensorList>> whole = read(kWhole);
  if (!whole) return tl::unexpected(whole.error());
  if (*whole) return Checkpoint{*std::move(whole), {}};
  const Result<std::optional<std::string>> text = repository.text(kIndex, kLargestIndex);
  if (!text) return tl::unexpected(text.error());
  if (!*text) return Checkpoint{};
  return read_shards(**text, repository.url(kIndex),
                     [&](const std::string& name) -> Result<std::optional<TensorList>> {
                       Result<std::optional<TensorList>> shard = read(name);
                       if (shard && !*shard) return bad_input("is not there", repository.url(name));
                       return shard;
                     });
}

}  // namespace memtape::sources
