// SPDX-License-Identifier: Apache-2.0
#include "launch/accelerate_config.h"

#include <array>

#include <fmt/format.h>

#include "launch/setting_table.h"

namespace memtape::launch {
namespace {

/// The launcher's switch that a kind of distribution stands for.
std::string_view switch_of(std::string_view distributed_type) {
  if (distributed_type == "DEEPSPEED") return "use_deepspeed";
  if (distributed_type == "FSDP") return "use_fsdp";
  if (distributed_type == "MEGATRON_LM") return "use_megatron_lm";
  return {};
}

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

}  // namespace

Result<void> note_accelerate_config(const std::string& path, LaunchCommand& command) {
  const Result<std::string> text = command.files->read(path);
  if (!text) return tl::unexpected(text.error());
  return note_accelerate_text(*text, path, command);
}

Result<void> note_accelerate_text(std::string_view text, std::string_view file,
                                  LaunchCommand& command) {
  Result<Settings> settings = read_settings(text, file);
  if (!settings) return tl::unexpected(settings.error());
  command.remarks.add(settings->check_names(data::accelerate_settings().names));
  constexpr auto kTypes =
      std::to_array<std::string_view>({"NO", "MULTI_GPU", "MULTI_CPU", "MULTI_NPU", "DEEPSPEED",
                                       "FSDP", "MEGATRON_LM", "XLA", "TP", "no"});
  const std::string type = settings->choice("distributed_type", kTypes).value_or("NO");
  if (const std::string_view name = switch_of(type); !name.empty())
    command.note_launcher(name, "true");
  if (settings->says("parallelism_config")) command.note_launcher("use_parallelism_config", "true");
  if (const auto precision = settings->text("mixed_precision"))
    command.note_launcher("mixed_precision", *precision);
  if (const auto processes = settings->whole("num_processes")) {
    if (*processes < 1 || *processes > 1 << 24)
      settings->fail(*settings->find("num_processes"), "unusable value",
                     "a whole number of processes");
    if (type != "NO" && type != "no") command.processes = *processes;  // else a simple_launcher
  }
  note_members(*settings, "deepspeed_config", "", command);
  note_members(*settings, "fsdp_config", "fsdp_", command);
  if (settings->failure()) return tl::unexpected(*settings->failure());
  return {};
}

}  // namespace memtape::launch
