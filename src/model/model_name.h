// SPDX-License-Identifier: Apache-2.0
// Names of models that say which model of the catalog is meant, though they are not its id: a path
// on another machine ends in the name of its model, and a fine-tune or a quantized copy holds the
// name of the model that it was made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/catalog.h"

namespace memtape {

/// The model that a path names.
struct PathModel {
  std::string id;         ///< as `known_name` has it; empty: the catalog has none of that name
  std::string file_type;  ///< that of a .gguf file: "Q4_K_M"
};

/// Reads "/data/models/Qwen3-8B", "hub/models--Qwen--Qwen3-8B/snapshots/1a2b3c4",
/// "/models/Qwen3-8B-Q4_K_M-00001-of-00002.gguf" or "/models/Qwen_Qwen3-8B-GGUF".
PathModel model_of_path(std::string_view path);

/// The type of llama-quantize for one that names of files have, in upper case: UD-Q4_K_XL, a mix of
/// Unsloth's own, is nearest to Q4_K_M.
std::string file_type_named(std::string_view type);

/// Whether words mean a file or a folder: "/x", "./x", "~/x", "C:\x", "x.gguf", "models/x", a folder
/// of a cache.
bool is_path(std::string_view words);

/// The entry whose name the last part of `name` holds between its words; the longest one. It is
/// null if there is none: Org/Qwen3-8B-my-finetune is made from Qwen/Qwen3-8B.
const CatalogEntry* base_of(std::string_view name);

/// The entry that Ollama's NAME:TAG is nearest to, "llama3.1:8b" or "deepseek-r1:7b": the shortest
/// name that holds both, together if one does. It is null for other words, and if there is none.
const CatalogEntry* tagged_model(std::string_view name);

/// The ids of the models of which a bare name is the beginning, or the beginning of a later word,
/// the shortest first: "llama3" and "qwen3", as Ollama's users say.
std::vector<std::string_view> models_called(std::string_view name);

}  // namespace memtape
