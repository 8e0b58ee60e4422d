// SPDX-License-Identifier: Apache-2.0
#include "model/catalog.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"
#include "model/catalog_rows.h"
#include "model/model_name.h"

namespace memtape {
namespace {

/// Order of letters with case ignored, as the rows are sorted.
bool before(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [&](char x, char y) { return lower(x) < lower(y); });
}

bool is_same(std::string_view a, std::string_view b) { return !before(a, b) && !before(b, a); }

struct Named {
  std::string_view id;
  const CatalogEntry* entry = nullptr;
};

std::string_view owner(std::string_view id) { return id.substr(0, id.find('/')); }

/// Another model that is the same as a row, by its id or by its last part. Of several owners' models
/// of that part, it is that of the row's owner, else the row.
Named find_same(std::string_view name) {
  const bool whole = name.find('/') != std::string_view::npos;
  Named found;
  for (const data::SameModel& same : data::same_models()) {
    if (!is_same(whole ? same.id : last_part(same.id), name)) continue;
    const CatalogEntry* const row = &data::models()[same.row];
    if (found.entry && found.entry != row) return {};
    const bool is_owners = owner(same.id) == owner(row->id);
    if (!found.entry || is_owners)
      found = {same.id, row};
    else if (owner(found.id) != owner(row->id))
      found.id = row->id;
  }
  return found;
}

Named find_named(std::string_view name) {
  const auto rows = data::models();
  const auto row = std::lower_bound(
      rows.begin(), rows.end(), name,
      [](const CatalogEntry& entry, std::string_view id) { return before(entry.id, id); });
  if (row != rows.end() && !before(name, row->id)) return {row->id, &*row};

  const auto order = data::models_by_last_part();
  const auto part_before = [&](std::uint16_t i, std::string_view part) {
    return before(last_part(rows[i].id), part);
  };
  const auto first = std::lower_bound(order.begin(), order.end(), name, part_before);
  if (first == order.end() || before(name, last_part(rows[*first].id))) return find_same(name);
  const bool unique = first + 1 == order.end() || before(name, last_part(rows[*(first + 1)].id));
  return unique ? Named{rows[*first].id, &rows[*first]} : Named{};
}

/// The models that a name may be the beginning of; of an owner's names the one that is nearest.
std::string hint_of_called(std::string_view name) {
  constexpr std::size_t kMost = 6;
  const std::vector<std::string_view> called = models_called(last_part(name));
  if (called.empty()) return {};
  if (called.size() == 1 || last_part(name).size() != name.size())
    return "did you mean " + std::string(called.front()) + "?";
  std::string hint = "one of";
  for (std::size_t i = 0; i < std::min(called.size(), kMost); ++i)
    hint += (i > 0 ? ", " : " ") + std::string(called[i]);
  const std::size_t more = called.size() - std::min(called.size(), kMost);
  return hint + (more > 0 ? " and " + std::to_string(more) + " more of memtape models" : "");
}

/// What llama.cpp reads of a repository of GGUF files: the base model, as llama-quantize makes it.
std::string hint_of_gguf(const CatalogEntry& base, std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const std::string type = colon == name.npos ? "Q4_K_M" : file_type_named(name.substr(colon + 1));
  return "did you mean " + std::string(base.id) + " with --engine llamacpp --quantize " + type +
         "? memtape -- llama-server -hf " + std::string(name) + " says so itself";
}

}  // namespace

std::span<const CatalogEntry> model_catalog() { return data::models(); }

const CatalogEntry* find_model(std::string_view name) { return find_named(name).entry; }

std::string_view find_id(std::string_view name) { return find_named(name).id; }

std::vector<std::string_view> quantized_checkpoints(std::string_view id) {
  const std::string start = std::string(last_part(id)) + "-";
  std::vector<std::string_view> found;
  for (const CatalogEntry& entry : model_catalog())
    if (last_part(entry.id).starts_with(start) &&
        entry.config.find("\"quantization_config\"") != std::string_view::npos)
      found.push_back(entry.id);
  return found;
}

std::string model_suggestion(std::string_view name) {
  const CatalogEntry* const base = base_of(name);
  const bool is_all = base && last_part(base->id).size() == name.size() - (name.rfind('/') + 1);
  if (base && name.find("GGUF") != name.npos) return hint_of_gguf(*base, name);
  if (base && is_all) return "did you mean " + std::string(base->id) + "?";
  if (base)
    return "if it is made from " + std::string(base->id) +
           ", give that, which the catalog has; a config.json would do, too";
  if (const CatalogEntry* tagged = tagged_model(name))
    return "did you mean " + std::string(tagged->id) +
           "? Ollama serves such by llama.cpp: --engine llamacpp --quantize Q4_K_M";
  if (const std::string called = hint_of_called(name); !called.empty()) return called;
  std::vector<std::string_view> names;
  const bool whole = name.find('/') != std::string_view::npos;
  for (const CatalogEntry& entry : data::models())
    names.push_back(whole ? entry.id : last_part(entry.id));
  const std::string_view near = nearest(name, names);
  if (near.empty()) return "a config.json would do; see memtape models";
  const auto at =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), near) - names.begin());
  return "did you mean " + std::string(data::models()[at].id) + "? A config.json would do, too";
}

}  // namespace memtape
