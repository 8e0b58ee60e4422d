// SPDX-License-Identifier: Apache-2.0
#include "sources/model_source.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "model/catalog.h"
#include "model/catalog_source.h"
#include "model/model_name.h"
#include "sources/checkpoint.h"
#include "sources/files.h"

namespace memtape::sources {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kPipeline = "model_index.json";
constexpr std::string_view kIndexEnding = ".safetensors.index.json";

Result<void> read_config(ModelSource& source, const fs::path& path) {
  const Result<std::string> text = read_text_file(path.string(), kLargestConfig);
  if (!text) return tl::unexpected(text.error());
  Result<Config> config = Config::parse(*text, path.string());
  if (!config) return tl::unexpected(config.error());
  source.config = *std::move(config);
  return {};
}

/// A folder of diffusers has a checkpoint for each of its models, which are said to the byte.
Error pipeline_of_diffusers(const fs::path& folder, const std::string& where) {
  const Result<std::string> text = read_text_file((folder / kPipeline).string(), kLargestConfig);
  const auto index =
      text ? Config::parse(*text, where) : Result<Config>(tl::unexpected(text.error()));
  if (!index) return index.error();
  Bytes total = 0;
  std::vector<std::string> parts;
  for (const std::string& name : index->keys()) {
    std::error_code error;
    if (!fs::is_directory(folder / name, error)) continue;
    const Result<Checkpoint> part = read_checkpoint_folder(folder / name);
    if (!part || !part->tensors) continue;
    total += part->tensors->total_bytes();
    parts.push_back(fmt::format("{} {}", name, gib(part->tensors->total_bytes())));
  }
  return {
      ErrorKind::unsupported,
      fmt::format("a pipeline of diffusers, {}, {}", index->text("_class_name", "of no class"),
                  parts.empty() ? "which has no *.safetensors here"
                                : fmt::format("which stores {} bytes ({}): {}", with_commas(total),
                                              gib(total), fmt::join(parts, ", "))),
      where,
      "what its steps need beside the weights is not modelled; certain are its own code without "
      "a GPU, memtape run -- COMMAND, and a transcription, docs/adding-a-family.md"};
}

/// Takes the checkpoint and the config.json of its folder, which may be absent.
Result<ModelSource> with_checkpoint(ModelSource source, Result<Checkpoint> checkpoint,
                                    const fs::path& folder) {
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  source.header = std::move(checkpoint->tensors);
  source.warnings = std::move(checkpoint->warnings);
  if (is_there(folder / kConfig)) {
    if (Result<void> read = read_config(source, folder / kConfig); !read)
      return tl::unexpected(read.error());
    return source;
  }
  if (!source.header)
    return bad_input("holds neither config.json nor *.safetensors", source.where,
                     "a model's folder has one of them");
  source.warnings.push_back(fmt::format("{} is not there: only the stored tensors are known",
                                        (folder / kConfig).string()));
  return source;
}

Result<ModelSource> from_path(const std::string& typed) {
  const fs::path path(typed);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  ModelSource source{typed, typed, std::nullopt, std::nullopt, {}};
  std::error_code error;
  if (fs::is_directory(path, error) && is_there(path / kPipeline) && !is_there(path / kConfig))
    return tl::unexpected(pipeline_of_diffusers(path, typed));
  if (fs::is_directory(path, error))
    return with_checkpoint(std::move(source), read_checkpoint_folder(path), path);
  if (typed.ends_with(kIndexEnding))
    return with_checkpoint(std::move(source), read_checkpoint_index(path), folder);
  if (path.extension() == ".safetensors")
    return with_checkpoint(std::move(source), read_checkpoint_file(path), folder);
  if (path.extension() == ".gguf")
    return unsupported("a .gguf file is a model to be served, it cannot be trained", typed,
                       "give the config.json or hub id it was made from");
  if (path.extension() == ".bin" || path.extension() == ".pt" || path.extension() == ".pth")
    return unsupported("pickled weights are not read", typed,
                       "give the config.json beside them, or .safetensors");
  if (Result<void> read = read_config(source, path); !read) return tl::unexpected(read.error());
  return source;
}

Result<ModelSource> from_hub(const std::string& id, const HubSettings& settings) {
  Result<HubRepository> repository = HubRepository::open(settings, id);
  if (!repository) return tl::unexpected(repository.error());
  const std::string url = repository->url(kConfig);
  const Result<std::optional<std::string>> text = repository->text(kConfig, kLargestConfig);
  if (!text) return tl::unexpected(text.error());
  const Result<std::optional<std::string>> pipeline =
      *text ? std::optional<std::string>() : repository->text(kPipeline, kLargestConfig);
  if (pipeline && *pipeline)
    return unsupported("a pipeline of diffusers, whose steps are not modelled", url,
                       "memtape run -- COMMAND runs its own code without a GPU; of a local folder "
                       "the weights are said");
  if (!*text)
    return bad_input("this repository has no config.json", url,
                     "only transformers models have one");
  Result<Config> config = Config::parse(**text, url);
  if (!config) return tl::unexpected(config.error());
  Result<Checkpoint> checkpoint = fetch_checkpoint(*repository);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  return ModelSource{id, url, *std::move(config), std::move(checkpoint->tensors),
                     std::move(checkpoint->warnings)};
}

/// Why a model that is nowhere here was not had from the hub, with what would be right: a server
/// that cannot be reached knows nothing of the name, and the catalog may.
Error not_from_hub(const std::string& model, Error why) {
  if (!why.hint.empty()) return why;
  why.what = fmt::format("not in the catalog, and not to be had from {}: {}", why.where, why.what);
  why.where = model;
  why.hint = model_suggestion(model);
  if (why.hint.find(kConfig) == std::string::npos)
    why.hint += fmt::format("; its {} would do, too", kConfig);
  return why;
}

/// A link that leads nowhere is meant as a file, whatever its name looks like.
Result<void> check_link(const std::string& model) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(model, error))) return {};
  (void)fs::exists(model, error);
  return bad_input(error == std::errc::too_many_symbolic_link_levels
                       ? "a symbolic link that leads back to itself"
                       : "a symbolic link to nothing",
                   model, "make it point to the model's folder or file");
}

/// The model of a page of the hub that was pasted: https://huggingface.co/ORG/NAME/tree/main.
std::string without_address(const std::string& typed) {
  for (const std::string_view page :
       {"https://huggingface.co/", "http://huggingface.co/", "https://hf.co/", "huggingface.co/",
        "hf.co/", "hf:", "https://www.huggingface.co/"}) {
    if (!typed.starts_with(page)) continue;
    std::string id = typed.substr(page.size());
    id.resize(std::min(id.size(), id.find_first_of("?#")));
    if (const std::size_t slash = id.find('/'); slash != std::string::npos)
      id.resize(std::min(id.size(), id.find('/', slash + 1)));
    return id;
  }
  return typed;
}

bool ends_like_file(std::string_view typed) {
  for (const std::string_view ending : {".json", ".safetensors", ".gguf", ".bin", ".pt", ".pth"})
    if (typed.ends_with(ending)) return true;
  return false;
}

/// Something that was meant as a file or folder, to judge by how it looks.
bool looks_like_path(std::string_view typed) {
  if (typed.empty() || typed.front() == '.' || typed.front() == '/' || typed.front() == '~')
    return true;
  return ends_like_file(typed) || !is_hub_id(typed);
}

/// A folder of another machine is as good as the config.json in it.
std::string hint_of_path(const std::string& model) {
  if (base_of(model) || tagged_model(model)) return model_suggestion(model);
  if (model.empty() || ends_like_file(model)) return {};
  return "its config.json alone would do, or a name of memtape models";
}

}  // namespace

Result<ModelSource> find_model_source(const std::string& typed, const HubSettings& settings) {
  const std::string model = is_there(typed) ? typed : without_address(typed);
  if (is_there(model)) return from_path(model);
  if (const Result<void> link = check_link(model); !link) return tl::unexpected(link.error());
  Result<std::optional<ModelSource>> known = catalog_source(model);
  if (!known) return tl::unexpected(known.error());
  if (*known) return std::move(**known);
  if (looks_like_path(model))
    return bad_input("no such file or folder", model.empty() ? "MODEL" : model,
                     hint_of_path(model));
  if (const std::optional<fs::path> snapshot = cached_snapshot(settings, model)) {
    Result<ModelSource> source = from_path(snapshot->string());
    if (source)
      source->id = model, source->where = fmt::format("Hugging Face cache: {}", source->where);
    return source;
  }
  const bool asks_hub = model.find('/') != std::string::npos && !settings.offline;
  Result<ModelSource> there =
      asks_hub
          ? from_hub(model, settings)
          : bad_input(fmt::format("not a file, not in the catalog, not in the Hugging Face cache{}",
                                  settings.offline ? ", and HF_HUB_OFFLINE is set" : ""),
                      model, model_suggestion(model));
  if (there) return there;
  Result<std::optional<ModelSource>> copy = quantized_source(model);
  if (!copy) return tl::unexpected(copy.error());
  if (*copy) return std::move(**copy);
  if (asks_hub) return tl::unexpected(not_from_hub(model, there.error()));
  return there;
}

}  // namespace memtape::sources
