// SPDX-License-Identifier: Apache-2.0
#include "answer/handed.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "formats/checkpoint.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "model/catalog.h"
#include "model/catalog_source.h"

namespace memtape::answer {
namespace {

/// The beginning of a file; what lies behind it is wanted.
class Beginning final : public ByteSource {
 public:
  Beginning(const HandedFile& file, const Handed& handed) : file_(file), handed_(handed) {}

  std::string name() const override { return std::string(file_.name); }
  Bytes size() const override { return file_.size; }

  Result<void> read(Bytes offset, std::span<char> into) const override {
    const auto count = static_cast<Bytes>(into.size());
    if (offset < 0 || offset > size() || count > size() - offset)
      return memtape::bad_input("ends early", name());
    if (offset + count > static_cast<Bytes>(file_.bytes.size())) {
      handed_.want(name(), offset + count);
      return memtape::bad_input(
          fmt::format("only its first {} bytes are at hand", file_.bytes.size()), name(),
          fmt::format("its first {}", offset + count));
    }
    if (count > 0) std::memcpy(into.data(), file_.bytes.data() + offset, into.size());
    return {};
  }

 private:
  const HandedFile& file_;
  const Handed& handed_;
};

std::string folder_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(name.substr(0, slash + 1));
}

}  // namespace

const HandedFile* Handed::find(std::string_view name) const {
  const auto found = std::ranges::find(files_, name, &HandedFile::name);
  return found == files_.end() ? nullptr : &*found;
}

Result<std::string> Handed::text(const std::string& name, std::size_t limit) const {
  const HandedFile* file = find(name);
  if (!file) {
    want(name, 0);
    return bad_input("no such file", name, "hand it over with the request");
  }
  if (static_cast<std::size_t>(file->size) > limit)
    return bad_input(fmt::format("has {} bytes", file->size), name,
                     fmt::format("at most {}", limit));
  if (static_cast<Bytes>(file->bytes.size()) < file->size) {
    want(name, file->size);
    return bad_input("is not at hand as a whole", name);
  }
  return std::string(file->bytes);
}

Result<Config> Handed::config(const std::string& name) const {
  constexpr std::size_t kLargestConfig = std::size_t{16} << 20;
  const Result<std::string> text = this->text(name, kLargestConfig);
  if (!text) return tl::unexpected(text.error());
  return Config::parse(*text, name);
}

Result<std::optional<TensorList>> Handed::tensors(const HandedFile& file) const {
  return read_safetensors(Beginning(file, *this));
}

/// model.safetensors, else the shards of its index, as far as they are handed over.
Result<void> Handed::take_checkpoint(ModelSource& source, const std::string& folder) const {
  const auto read = [&](const std::string& name) -> Result<std::optional<TensorList>> {
    const HandedFile* at = find(folder + name);
    return at ? tensors(*at) : Result<std::optional<TensorList>>(std::nullopt);
  };
  const auto whole = read("model.safetensors");
  if (!whole) return tl::unexpected(whole.error());
  source.header = *whole;
  const std::string name = folder + "model.safetensors.index.json";
  const HandedFile* index = *whole ? nullptr : find(name);
  if (!index) return {};
  Result<Checkpoint> checkpoint = read_shards(index->bytes, name, read);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  source.header = std::move(checkpoint->tensors);
  source.warnings = std::move(checkpoint->warnings);
  return {};
}

Result<ModelSource> Handed::folder(const std::string& name) const {
  Result<Config> read = config(name + "/config.json");
  if (!read) return tl::unexpected(read.error());
  ModelSource source{name, name, std::move(*read), std::nullopt, {}};
  if (const auto taken = take_checkpoint(source, name + "/"); !taken)
    return tl::unexpected(taken.error());
  return source;
}

Result<ModelSource> Handed::file(const std::string& name) const {
  ModelSource source{name, name, std::nullopt, std::nullopt, {}};
  if (name.ends_with(".gguf"))
    return unsupported("a .gguf file is a model to be served, it cannot be trained", name,
                       "give the config.json or hub id it was made from");
  std::string config_file = name;
  if (name.ends_with(".safetensors")) {
    Result<std::optional<TensorList>> header = tensors(*find(name));
    if (!header) return tl::unexpected(header.error());
    source.header = std::move(*header);
    config_file = folder_of(name) + "config.json";
    if (!find(config_file)) {
      source.warnings.push_back(
          fmt::format("{} is not there: only the stored tensors are known", config_file));
      return source;
    }
  }
  Result<Config> read = config(config_file);
  if (!read) return tl::unexpected(read.error());
  source.config = std::move(*read);
  return source;
}

Result<ModelSource> Handed::model(const std::string& name) const {
  if (!config_.empty()) {
    Result<Config> config = Config::parse(config_, name);
    if (!config) return tl::unexpected(config.error());
    ModelSource source{name, "the request", std::move(*config), std::nullopt, {}};
    if (const auto taken = take_checkpoint(source, ""); !taken)
      return tl::unexpected(taken.error());
    return source;
  }
  if (find(name)) return file(name);
  if (find(name + "/config.json")) return folder(name);
  Result<std::optional<ModelSource>> known = catalog_source(name);
  if (!known) return tl::unexpected(known.error());
  if (*known) return std::move(**known);
  want(name + "/config.json", 0);
  return bad_input("not in the catalog, and its configuration is not at hand", name,
                   model_suggestion(name));
}

Result<llamacpp::GgufHeader> Handed::gguf(const std::string& name) const {
  if (const HandedFile* file = find(name)) return read_gguf(Beginning(*file, *this));
  want(name, 0);
  return bad_input("no such file", name, "hand over its beginning with the request");
}

std::optional<std::string> Handed::variable(std::string_view name) const {
  const auto found = std::ranges::find(variables_, name, [](const auto& v) { return v.first; });
  return found == variables_.end() ? std::nullopt : std::optional(found->second);
}

Result<NamedReleases> Handed::installed(const std::string& python) const {
  if (python.empty()) return installed_;
  return unsupported("looks at a folder of this machine", "--python",
                     "--with torch==2.8.0,transformers==4.57.6");
}

Result<std::vector<Container>> Handed::containers(launch::ContainerRequest& request) const {
  return unsupported("containers are read by the program alone", request.where(),
                     "the command that the container runs");
}

Result<TrainAnswer> Handed::recorded(const RawOptions&) const {
  return unsupported("a real step is run by the program alone", "--real", "--real never");
}

}  // namespace memtape::answer
