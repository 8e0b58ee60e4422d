// SPDX-License-Identifier: Apache-2.0
#include "sources/checkpoint.h"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

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

/// Reads every shard of the index with `read` and joins them.
Result<TensorList> read_shards(const SafetensorsIndex& index, const std::string& where,
                               const std::function<Result<TensorList>(const std::string&)>& read) {
  std::vector<TensorList> shards;
  for (const std::string& file : index.files) {
    Result<TensorList> shard = read(file);
    if (!shard) return shard;
    shards.push_back(*std::move(shard));
  }
  return join_shards(index, std::move(shards), where);
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
  const Result<SafetensorsIndex> index = parse_safetensors_index(*text, path.string());
  if (!index) return tl::unexpected(index.error());
  const fs::path folder = path.parent_path();
  const auto absent = std::ranges::find_if_not(
      index->files, [&](const std::string& file) { return is_there(folder / file); });
  if (absent != index->files.end())
    return Checkpoint{std::nullopt,
                      {fmt::format("{} is not there: the checkpoint's tensors are not checked",
                                   (folder / *absent).string())}};
  return checkpoint_of(read_shards(
      *index, path.string(), [&](const std::string& file) { return read_file(folder / file); }));
}

Result<Checkpoint> read_checkpoint_folder(const fs::path& folder) {
  if (is_there(folder / kWhole)) return read_checkpoint_file(folder / kWhole);
  if (is_there(folder / kIndex)) return read_checkpoint_index(folder / kIndex);
  const std::vector<fs::path> files = safetensors_in(folder);
  return files.empty() ? Checkpoint{} : read_all(files);
}

Result<Checkpoint> fetch_checkpoint(HubRepository& repository) {
  const auto read = [&](const std::string& name) -> Result<TensorList> {
    const Result<std::optional<HubFile>> file = repository.file(name);
    if (!file) return tl::unexpected(file.error());
    if (!*file) return bad_input("is not there", repository.url(name));
    return read_safetensors(**file);
  };
  const Result<std::optional<HubFile>> whole = repository.file(kWhole);
  if (!whole) return tl::unexpected(whole.error());
  if (*whole) return checkpoint_of(read_safetensors(**whole));

  const Result<std::optional<std::string>> text = repository.text(kIndex, kLargestIndex);
  if (!text) return tl::unexpected(text.error());
  if (!*text) return Checkpoint{};
  const Result<SafetensorsIndex> index = parse_safetensors_index(**text, repository.url(kIndex));
  if (!index) return tl::unexpected(index.error());
  return checkpoint_of(read_shards(*index, repository.url(kIndex), read));
}

}  // namespace memtape::sources
