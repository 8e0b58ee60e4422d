// SPDX-License-Identifier: Apache-2.0
#include "launch/serving.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "launch/config_words.h"
#include "launch/programs.h"

namespace memtape::launch {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The release that an engine's image holds, where its tag says: "0.11.0" of
/// "vllm/vllm-openai:v0.11.0-cu128".
std::optional<std::string> release_of(std::string_view image, std::string_view engine) {
  const std::size_t colon = image.rfind(':');
  if (image.find(engine) == std::string_view::npos || colon == std::string_view::npos)
    return std::nullopt;
  std::string_view tag = image.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  tag = tag.substr(0, tag.find_first_not_of("0123456789."));
  while (tag.ends_with('.')) tag.remove_suffix(1);
  if (std::ranges::count(tag, '.') != 2) return std::nullopt;
  return std::string(tag);
}

/// human_readable_int of vLLM and SGLang: "8k" is 8000, "8K" 8192, "1.5k" 1500. What is no such
/// number stays.
std::string plain_number(const std::string& text) {
  constexpr std::string_view kUnits = "kmgt";
  if (text.size() < 2) return text;
  const char last = text.back();
  const std::size_t unit =
      kUnits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(last))));
  if (unit == std::string_view::npos) return text;
  double value = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return text;
  const bool binary = std::isupper(static_cast<unsigned char>(last)) != 0;
  const double scaled = value * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(unit + 1));
  return fmt::format("{:.0f}", scaled);
}

/// How many GPUs CUDA_VISIBLE_DEVICES or the container leaves; nothing where nothing says.
std::optional<std::int64_t> visible_gpus(const LaunchCommand& command) {
  const std::string* visible = command.variable("CUDA_VISIBLE_DEVICES");
  if (!visible) visible = command.variable("NVIDIA_VISIBLE_DEVICES");
  if (!visible || *visible == "all") return command.container_gpus;
  if (visible->empty() || *visible == "none" || *visible == "void") return 0;
  const std::vector<std::string> devices = split_at_commas(*visible);
  // The devices after a -1 are hidden.
  const auto hidden = [](const std::string& device) { return device.starts_with("-1"); };
  return std::ranges::find_if(devices, hidden) - devices.begin();
}

/// Variables that begin with `prefix`, read as flags of their names.
ReadFlags read_variables(const LaunchCommand& command, std::string_view prefix,
                         std::span<const Flag> table) {
  ReadFlags read;
  std::vector<std::string_view> names;
  for (const Flag& flag : table) names.push_back(flag.name);
  for (const auto& [variable, value] : command.environment) {
    if (!variable.starts_with(prefix)) continue;
    const auto at = std::ranges::find(table, std::string_view(variable), &Flag::name);
    if (at == table.end())
      read.unknown.push_back({variable, nearest(variable, names), false});
    else
      read.given.push_back({&*at, {value}});
  }
  return read;
}

}  // namespace

std::optional<std::int64_t> product_of(const ReadFlags& flags,
                                       std::initializer_list<std::string_view> sizes) {
  constexpr std::int64_t kMost = 4096;
  std::int64_t product = 1;
  for (const std::string_view size : sizes) {
    const std::optional<std::string> text = flags.value(size);
    if (!text) continue;
    const std::optional<std::int64_t> value = whole(*text);
    if (!value || *value < 1 || *value > kMost) return std::nullopt;
    product *= *value;
  }
  return product;
}

Result<Translation> begin_serving(const LaunchCommand& command, std::string_view engine,
                                  std::optional<std::int64_t> ranks) {
  Translation translation = begin_translation(command, Translation::Command::serve);
  translation.engine = engine;
  const std::optional<std::int64_t> visible = visible_gpus(command);
  if (ranks && visible && *ranks > *visible)
    return bad_input(
        fmt::format("{} ranks on {} visible GPU{}", *ranks, *visible, *visible == 1 ? "" : "s"),
        command.path, "more devices in CUDA_VISIBLE_DEVICES, or smaller parallel sizes");
  const std::optional<std::int64_t> gpus = ranks ? ranks : visible;
  if (gpus && *gpus > 0) translation.add("gpus", *gpus);
  if (const GivenSetting* image = command.launcher_settings.find("image"))
    if (const auto release = release_of(image->value.text, engine))
      translation.add("engine-version", *release);
  return translation;
}

void add_flags(const ReadFlags& flags, Translation& translation, TakeFlag take) {
  for (const GivenFlag& given : flags.given) {
    const Flag& flag = *given.flag;
    if (flag.effect != Effect::modelled || (take && take(given, translation))) continue;
    std::string value = given.values.empty() ? std::string() : given.values.front();
    if (flag.arity == Arity::many) value = fmt::format("{}", fmt::join(given.values, ","));
    if (flag.meaning == "model")
      translation.model = value;
    else
      translation.add(flag.meaning, flag.is_count ? plain_number(value) : value);
  }
}

Result<void> check_model(const Translation& translation, std::string_view program,
                         std::string hint) {
  if (!translation.model.empty()) return {};
  return bad_input("no model is named", std::string(program), std::move(hint));
}

void add_warnings(Translation& translation, const ReadFlags& flags, std::string_view program) {
  translation.unknown.insert(translation.unknown.end(), flags.unknown.begin(), flags.unknown.end());
  for (std::string& line : unknown_arguments(flags, program))
    translation.remarks.warnings.push_back(std::move(line));
  translation.remarks.add({{}, not_modelled(flags, program)});
}

Result<Translation> translate_server(const ServerProgram& server, const LaunchCommand& command) {
  const std::span<const Flag> table = server.flags();
  Result<std::vector<std::string>> words = with_config_file(command, table);
  if (!words) return tl::unexpected(words.error());
  if (server.words) words = server.words(std::move(*words));
  const Result<ReadFlags> flags =
      read_flags(*words, table, {.program = server.name, .unknown_pass = true});
  if (!flags) return tl::unexpected(flags.error());
  Result<Translation> translation = begin_serving(command, server.engine, server.ranks(*flags));
  if (!translation) return translation;
  ReadFlags variables = read_variables(command, server.prefix, server.variables().flags);
  if (!server.knows_all_variables) {
    variables.unknown.clear();
    add_warnings(*translation, variables, server.environment);
  }
  add_flags(variables, *translation, server.take);
  add_flags(*flags, *translation, server.take);
  if (!flags->operands.empty()) translation->model = flags->operands.front();
  if (flags->operands.size() > 1)
    return bad_input(fmt::format("one word too many: {}", flags->operands[1]), server.name);
  if (const auto named = check_model(*translation, server.name, server.named_model); !named)
    return tl::unexpected(named.error());
  add_warnings(*translation, *flags, server.name);
  if (server.knows_all_variables) add_warnings(*translation, variables, server.environment);
  translation->flags = table;
  return translation;
}

}  // namespace memtape::launch
