// SPDX-License-Identifier: Apache-2.0
#include "launch/wrappers.h"

#include "launch/reading.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// The launcher's names begin with `prefix` ("fsdp_"); a configuration file may leave it out.
void note_members(const Settings& settings, std::string_view name, std::string_view prefix,
                  LaunchCommand& command) {
  const GivenSetting* nested = settings.find(name);
  if (!nested) return;
  for (const YamlNode& member : nested->value.children)
    command.note_launcher(
        member.key.starts_with(prefix) ? member.key : std::string(prefix) + member.key,
        option_text(member));
}

/// "zero3" of examples/accelerate_configs/deepspeed_zero3.yaml, which is copied under its own name.
std::string_view shipped_name(std::string_view path) {
  constexpr std::string_view kDeepSpeed = "deepspeed_";
  path.remove_prefix(path.rfind('/') + 1);
  if (path.starts_with(kDeepSpeed)) path.remove_prefix(kDeepSpeed.size());
  return path.substr(0, path.find('.'));
}

}  // namespace

Result<Settings> accelerate_file(const std::string& path, LaunchCommand& command) {
  Result<Settings> settings = read_settings_file(*command.files, path);
  const std::string_view shipped = meaning_of(shipped_name(path), data::trl_accelerate_configs());
  if (settings || shipped.empty()) return settings;
  command.remarks.warnings.push_back(path + ": not here, taken to be the one that trl ships");
  return read_settings(shipped, path);
}

Result<void> note_accelerate(Settings settings, LaunchCommand& command) {
  const SettingTable table = data::accelerate_settings();
  command.remarks.add(settings.check_names(table.names));
  for (const SaidRow& said : said_rows(table.rows, "switch", settings))
    command.note_launcher(said.value, "true");
  for (const SaidRow& said : said_rows(table.rows, "", settings))
    command.note_launcher(said.row->as, said.value);
  if (settings.says("parallelism_config")) command.note_launcher("use_parallelism_config", "true");
  if (const auto processes = settings.whole("num_processes")) {
    if (*processes < 1 || *processes > 1 << 24)
      settings.fail(*settings.find("num_processes"), "unusable value",
                    "a whole number of processes");
    const std::string type = settings.text("distributed_type").value_or("NO");
    if (type != "NO" && type != "no")
      command.processes.on_all = *processes;  // else a simple_launcher
  }
  note_members(settings, "deepspeed_config", "", command);
  note_members(settings, "fsdp_config", "fsdp_", command);
  if (settings.failure()) return tl::unexpected(*settings.failure());
  return {};
}

}  // namespace memtape::launch
