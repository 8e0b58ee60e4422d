// SPDX-License-Identifier: Apache-2.0
// Settings: what a command line or a configuration file sets, by name, each with its place. Readers
// ask for the settings that they know, with their types. Values that are not usable and names that
// nobody knows are kept for the message, which tells all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/files.h"
#include "formats/remarks.h"
#include "formats/yaml.h"

namespace memtape {

struct GivenSetting {
  std::string name;
  YamlNode value;
  std::string where;  ///< "cfg.yaml:12: bf16", or "run_clm.py: --bf16"

  /// Whether it is neither null nor false nor empty.
  bool says_something() const;
};

/// The names that a program knows, by what they do to memory. A setting in `refused` would make the
/// step another one.
struct KnownNames {
  std::span<const std::string_view> modelled, not_modelled, neutral, refused = {};
  bool others_pass = false;  ///< the program ignores names that it does not know

  std::vector<std::string_view> all() const;
};

/// Whether a name is one or two typing errors away from a known one, or the beginning of one.
bool is_misspelt(std::string_view name, std::span<const std::string_view> known);

class Settings {
 public:
  /// Sets a value; the last one counts.
  void set(GivenSetting setting);
  /// Sets a text whose place is `where`.
  void set_text(std::string_view name, std::string text, std::string_view where);
  void set_all(const Settings& more);
  /// Sets each member of a mapping that was read from `file`.
  void set_all(const YamlNode& mapping, std::string_view file);
  /// The same, except that the members of mappings are separate settings: SECTION.NAME. This
  /// applies to the mappings in `sections`, or to all mappings if that is empty.
  void set_flat(const YamlNode& mapping, std::string_view file,
                std::span<const std::string_view> sections = {}, const std::string& before = {});
  /// Sets each member of a setting that is a mapping, as NAME.MEMBER.
  void set_members(std::string_view name, std::string_view file);

  const GivenSetting* find(std::string_view name) const;
  bool says(std::string_view name) const;

  bool on(std::string_view name, bool otherwise = false);
  /// A scalar as it is written.
  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> whole(std::string_view name);
  std::optional<double> number(std::string_view name);
  /// A failure unless the setting is such a number, says nothing, or is a variable of a shell.
  void check_number(std::string_view name, bool is_whole);
  /// One of `names`.
  std::optional<std::string> choice(std::string_view name, std::span<const std::string_view> names);
  /// The scalars of a sequence, or a single one.
  std::vector<std::string> words(std::string_view name);

  /// Refuses names that change the step, and names in no list (if others pass, only those that are
  /// misspelt). It returns a line for each name that is ignored or whose effect is not modelled.
  Remarks check_names(const KnownNames& known);

  /// Records what is wrong with a setting. Each has one failure at most.
  void fail(const GivenSetting& setting, std::string what, std::string hint = {});
  /// Records what is wrong otherwise, unless something was before, from which it may follow.
  void fail(tl::unexpected<Error> error);
  /// All failures as one.
  std::optional<Error> failure() const;
  std::span<const GivenSetting> all() const { return settings_; }

 private:
  std::vector<GivenSetting> settings_;
  std::vector<Error> failures_;
};

/// The value as memtape's options take it: a scalar as it is written (a switch as true or false),
/// anything else as JSON.
std::string option_text(const YamlNode& value);

/// The settings of a file in YAML or JSON, either of its text or by its name in `files`.
Result<Settings> read_settings(std::string_view text, std::string_view file);
Result<Settings> read_settings_file(const Files& files, const std::string& path,
                                    std::span<const std::string_view> flat_sections = {});

}  // namespace memtape
