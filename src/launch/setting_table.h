// SPDX-License-Identifier: Apache-2.0
// SettingTable: the settings of one program (data/settings): the names that it knows, and rows for
// settings that become something of memtape one by one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "formats/settings.h"

namespace memtape::launch {

enum class RowKind : std::uint8_t {
  same,  ///< as it is written
  whole,
  number,
  text,
  truth,     ///< true or false
  on_alone,  ///< true, or left out
  choice,    ///< one of `choices`
  words,     ///< a list of texts
  names,     ///< the same, but a text may have several names with commas between them
  wholes,    ///< a list of numbers
  json,
};

struct SettingRow {
  std::string_view setting;
  /// Rows with the same group are read together, as members of an object or as options.
  std::string_view group;
  std::string_view as;  ///< the name of an option or of a member
  RowKind kind = RowKind::same;
  std::string_view otherwise = {};  ///< the value if nobody says it; "" leaves it out
  std::string_view choices = {};    ///< for a choice: "theirs=ours|both"
};

struct SettingTable {
  KnownNames names;
  std::span<const SettingRow> rows;
};

/// What a row says: a text or, for lists and numbers, JSON.
struct SaidRow {
  const SettingRow* row = nullptr;
  std::string value;

  void add_to(JsonObject& object) const;
};

/// The rows of a group that say something, in their order. If several become one thing, the first
/// one counts. A value that is not usable is a failure of the settings.
std::vector<SaidRow> said_rows(std::span<const SettingRow> rows, std::string_view group,
                               Settings& settings);
JsonObject said_members(std::span<const SettingRow> rows, std::string_view group,
                        Settings& settings);

/// Names that are given one by one, or with commas between them.
std::vector<std::string> separate_names(const std::vector<std::string>& words);

}  // namespace memtape::launch

namespace memtape::data {

// The table of each file of data/settings.
#include "launch/setting_tables.inc"

}  // namespace memtape::data
