// SPDX-License-Identifier: Apache-2.0
// Settings that become options of memtape's, or members of a JSON object, one for one: as rows.
#pragma once

#include <span>

#include "base/json_object.h"
#include "formats/settings.h"
#include "launch/translation.h"

namespace memtape::launch {

enum class RowKind : std::uint8_t {
  whole,
  number,
  text,
  truth,     ///< true or false
  on_alone,  ///< true, or left out
};

struct SettingRow {
  std::string_view setting, as;
  RowKind kind = RowKind::whole;
  std::string_view otherwise = {};  ///< the value where nobody says it; "": it is left out
};

void add_options(std::span<const SettingRow> rows, Settings& settings, Translation& translation);
void add_members(std::span<const SettingRow> rows, Settings& settings, JsonObject& object);

/// A program's word for something, and memtape's.
struct Word {
  std::string_view theirs, ours;
};
/// What a setting says in memtape's words; a word that is not among them is a failure of the
/// settings. Nothing where nobody says it.
std::optional<std::string> in_our_words(std::string_view setting, std::span<const Word> words,
                                        Settings& settings);

/// The classes of torch.optim that programs name, by memtape's names; "" for others.
std::string_view torch_optimizer(std::string_view class_name);

}  // namespace memtape::launch
