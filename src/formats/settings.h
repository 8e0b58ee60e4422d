// SPDX-License-Identifier: Apache-2.0
// Settings: what a command line or a configuration file sets, by name, each with the place it
// stands at. Readers ask for what they know with its type; the first value that will not do is kept
// for the user, as is the first name that nobody knows.
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

  /// Neither null nor false nor empty.
  bool says_something() const;
};

/// The names a program knows, by what they do to memory. With one of `refused` the step would be
/// another one.
struct KnownNames {
  std::span<const std::string_view> modelled, not_modelled, neutral, refused = {};
  bool others_pass = false;  ///< the program passes over names that it does not know

  std::vector<std::string_view> all() const;
};

/// One slip of the keyboard or two away from a name that is known, or the beginning of one.
bool is_misspelt(std::string_view name, std::span<const std::string_view> known);

class Settings {
 public:
  /// The last value counts.
  void set(GivenSetting setting);
  /// A text that stands at `where`.
  void set_text(std::string_view name, std::string text, std::string_view where);
  void set_all(const Settings& more);
  /// Each member of a mapping that was read from `file`.
  void set_all(const YamlNode& mapping, std::string_view file);
  /// The same, where the members of mappings are settings of their own: SECTION.NAME. Those are
  /// `sections`; without any, all that are.
  void set_flat(const YamlNode& mapping, std::string_view file,
                std::span<const std::string_view> sections = {}, const std::string& before = {});
  /// Each member of a setting that is a mapping, as NAME.MEMBER.
  void set_members(std::string_view name, std::string_view file);

  const GivenSetting* find(std::string_view name) const;
  bool says(std::string_view name) const;

  bool on(std::string_view name, bool otherwise = false);
  /// A scalar as written.
  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> whole(std::string_view name);
  std::optional<double> number(std::string_view name);
  /// One of `names`.
  std::optional<std::string> choice(std::string_view name, std::span<const std::string_view> names);
  /// A sequence's scalars, or a single one.
  std::vector<std::string> words(std::string_view name);

  /// Refuses names that change the step, and those in no list (where others pass, those that are
  /// misspelt); gives a line for each that passes, or has an effect which is not modelled.
  Remarks check_names(const KnownNames& known);

  /// The first failure is kept.
  void fail(const GivenSetting& setting, std::string what, std::string hint = {});
  void fail(tl::unexpected<Error> error);
  const std::optional<Error>& failure() const { return failure_; }
  std::span<const GivenSetting> all() const { return settings_; }

 private:
  std::vector<GivenSetting> settings_;
  std::optional<Error> failure_;
};

/// As memtape's options take it: a scalar as written (a switch as true or false), all else as JSON.
std::string option_text(const YamlNode& value);

/// The settings of a file in YAML or JSON: of its text, or as it lies among `files`.
Result<Settings> read_settings(std::string_view text, std::string_view file);
Result<Settings> read_settings_file(const Files& files, const std::string& path,
                                    std::span<const std::string_view> flat_sections = {});

}  // namespace memtape
