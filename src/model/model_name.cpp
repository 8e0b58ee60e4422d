// SPDX-License-Identifier: Apache-2.0
#include "model/model_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/letter_case.h"
#include "model/quantized_name.h"

namespace memtape {
namespace {

bool is_hash(std::string_view part) {
  constexpr std::size_t kShortest = 7;
  return part.size() >= kShortest && std::ranges::all_of(part, [](unsigned char c) {
           return std::isxdigit(c) != 0 && std::isupper(c) == 0;
         });
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
    if (end > 0) parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

/// "Q4_K_M", "IQ2_XXS", "BF16", "MXFP4" ... as the names of files write them.
bool is_file_type(std::string_view word) {
  const std::string text = lower_case(std::string(word));
  if (text == "f16" || text == "f32" || text == "bf16" || text.starts_with("mxfp4")) return true;
  const std::string_view digits = std::string_view(text).substr(text.starts_with("iq") ? 2 : 1);
  return (text.starts_with('q') || text.starts_with("iq")) && !digits.empty() &&
         std::isdigit(static_cast<unsigned char>(digits.front())) != 0;
}

/// Takes ".gguf", the number of a split and the file type off.
void take_gguf_endings(std::string& name, std::string& type) {
  constexpr std::string_view kGguf = ".gguf", kOf = "-of-";
  if (!name.ends_with(kGguf)) return;
  name.resize(name.size() - kGguf.size());
  if (const std::size_t of = name.rfind(kOf); of != std::string::npos)
    name.resize(name.rfind('-', of - 1));
  // The type is the last word; it may hold underscores itself.
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] != '-' && name[at] != '.' && name[at] != '_') continue;
    if (!is_file_type(std::string_view(name).substr(at + 1))) continue;
    type = file_type_named(std::string_view(name).substr(at + 1));
    name.resize(at);
    break;
  }
  if (name.ends_with("-UD")) name.resize(name.size() - 3);
}

/// The letters and digits of a name, in lower case.
std::string squeezed(std::string_view name) {
  std::string text = lower_case(std::string(name));
  std::erase_if(text, [](unsigned char c) { return std::isalnum(c) == 0; });
  return text;
}

std::string id_named(std::string name) {
  constexpr std::string_view kCached = "models--";
  if (name.starts_with(kCached)) {
    name.erase(0, kCached.size());
    if (const std::size_t at = name.find("--"); at != std::string::npos) name.replace(at, 2, "/");
  }
  for (const std::string_view ending : {"-GGUF", "-gguf"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  std::string id = known_name(name);
  const std::size_t between = name.find_first_of("_.");  // "Qwen_Qwen3-8B", "Qwen.Qwen3-8B"
  if (!id.empty() || between == std::string::npos) return id;
  std::string dotted = name;  // "Qwen2_5-7B"
  std::ranges::replace(dotted, '_', '.');
  id = known_name(dotted);
  return id.empty() ? known_name(name.replace(between, 1, "/")) : id;
}

/// The entry with the letters and digits of a name: "Qwen3VL-32B-Instruct", as Qwen names its files.
std::string id_spelled_as(const std::string& name) {
  const std::string wanted = squeezed(name);
  for (const CatalogEntry& entry : model_catalog())
    if (squeezed(last_part(entry.id)) == wanted) return std::string(entry.id);
  return "";
}

/// Folders in which people keep models, which own none on a hub: "models/Qwen3-8B".
bool is_folder_of_models(std::string_view part) {
  constexpr auto kFolders = std::to_array<std::string_view>(
      {"cache", "checkpoint", "checkpoints", "ckpt", "ckpts", "data", "hf_models", "home", "llm",
       "llm_models", "llms", "mnt", "model", "models", "pretrained", "pretrained_models", "root",
       "weights", "workspace"});
  return std::ranges::find(kFolders, lower_case(std::string(part))) != kFolders.end();
}

}  // namespace

std::string file_type_named(std::string_view name) {
  std::string type = upper_case(std::string(name));
  if (type.starts_with("UD-")) type.erase(0, 3);
  if (type == "MXFP4") return "MXFP4_MOE";
  if (!type.ends_with("_K_XL")) return type;
  type.resize(type.size() - 3);
  if (type == "Q8_K") return "Q8_0";
  return type == "Q2_K" || type == "Q6_K" ? type : type + "_M";
}

PathModel model_of_path(std::string_view path) {
  std::vector<std::string> parts = parts_of(path);
  parts.erase(std::ranges::find(parts, "snapshots"), parts.end());
  while (!parts.empty() && is_hash(parts.back())) parts.pop_back();
  PathModel found;
  if (parts.empty()) return found;
  std::string last = std::move(parts.back());
  parts.pop_back();
  const bool is_file = last.ends_with(".gguf");
  take_gguf_endings(last, found.file_type);
  if (!parts.empty()) found.id = known_name(parts.back() + "/" + last);
  if (found.id.empty()) found.id = id_named(last);
  if (found.id.empty() && is_file) found.id = id_spelled_as(last);
  if (found.id.empty() && is_file && !parts.empty()) found.id = id_named(parts.back());
  return found;
}

bool is_path(std::string_view words) {
  if (words.empty()) return false;
  if (words.front() == '.' || words.front() == '/' || words.front() == '~') return true;
  if (words.find('\\') != std::string_view::npos || words.ends_with(".gguf") ||
      words.find("models--") != std::string_view::npos)
    return true;
  const std::ptrdiff_t parts = std::ranges::count(words, '/');
  return parts > 1 || (parts == 1 && is_folder_of_models(words.substr(0, words.find('/'))));
}

const CatalogEntry* base_of(std::string_view name) {
  const std::string whole = lower_case(std::string(name.substr(name.rfind('/') + 1)));
  const auto is_border = [&](std::size_t at) {
    return at >= whole.size() || std::string_view("-_. ").find(whole[at]) != std::string_view::npos;
  };
  const CatalogEntry* best = nullptr;
  std::size_t longest = 0;
  for (const CatalogEntry& entry : model_catalog()) {
    const std::string part = lower_case(std::string(entry.id.substr(entry.id.find('/') + 1)));
    const std::size_t at = whole.find(part);
    if (at == std::string::npos || part.size() <= longest) continue;
    if ((at > 0 && !is_border(at - 1)) || !is_border(at + part.size())) continue;
    best = &entry;
    longest = part.size();
  }
  return best;
}

const CatalogEntry* tagged_model(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == name.npos || colon == 0 || colon + 1 == name.size()) return nullptr;
  if (name.find('/') != name.npos) return nullptr;
  std::vector<std::string> pieces{squeezed(name)};
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find_first_of(":-", at), name.size());
    pieces.push_back(squeezed(name.substr(at, end - at)));
    at = end + 1;
  }
  const CatalogEntry* best = nullptr;
  std::pair<bool, std::size_t> rank;
  for (const CatalogEntry& entry : model_catalog()) {
    const std::string part = squeezed(last_part(entry.id));
    const auto holds = [&](const std::string& piece) { return part.find(piece) != part.npos; };
    if (!std::all_of(pieces.begin() + 1, pieces.end(), holds)) continue;
    const std::pair<bool, std::size_t> here{!holds(pieces.front()), part.size()};
    if (!best || here < rank) best = &entry, rank = here;
  }
  return best;
}

namespace {

/// Whether a name begins with the letters and digits of `wanted`, whose last number ends there.
bool begins_called(std::string_view name, std::string_view wanted) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  std::size_t at = 0;
  for (const char c : wanted) {
    while (at < name.size() && std::isalnum(static_cast<unsigned char>(name[at])) == 0) ++at;
    if (at == name.size() || std::tolower(static_cast<unsigned char>(name[at])) != c) return false;
    ++at;
  }
  return !is_digit(wanted.back()) || at == name.size() || !is_digit(name[at]);
}

}  // namespace

std::vector<std::string_view> models_called(std::string_view name) {
  constexpr std::size_t kShortest = 4;
  const std::string wanted = squeezed(name);
  std::vector<std::string_view> found;
  if (wanted.size() < kShortest || name.find('/') != name.npos) return found;
  for (const CatalogEntry& entry : model_catalog()) {
    std::string_view rest = last_part(entry.id);
    while (!rest.empty() && !begins_called(rest, wanted))
      rest.remove_prefix(std::min(rest.find('-'), rest.size() - 1) + 1);
    if (!rest.empty()) found.push_back(entry.id);
  }
  std::ranges::stable_sort(found, {}, [](std::string_view id) { return last_part(id).size(); });
  return found;
}

}  // namespace memtape
