// SPDX-License-Identifier: Apache-2.0
#include "launch/serving.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/typed_number.h"
#include "formats/config_words.h"
#include "launch/programs.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// As many GPUs as `ranks`, which must not be more than are visible.
Result<Translation> begin_serving(const LaunchCommand& command, std::string_view engine,
                                  std::optional<std::int64_t> ranks) {
  Translation translation = begin_translation(command, Translation::Command::serve);
  translation.engine = engine;
  const std::optional<std::int64_t> visible = command.visible_gpus();
  if (ranks && visible && *ranks > *visible)
    return bad_input(
        fmt::format("{} ranks on {} visible GPU{}", *ranks, *visible, *visible == 1 ? "" : "s"),
        command.path, "more devices in CUDA_VISIBLE_DEVICES, or smaller parallel sizes");
  const std::optional<std::int64_t> gpus = ranks ? ranks : visible;
  if (gpus && *gpus > 0) translation.add("gpus", *gpus);
  if (const GivenSetting* image = command.launcher_settings.find("image"))
    if (const auto release = release_of_image(image->value.text, engine))
      translation.add("engine-version", *release);
  return translation;
}

/// An Error for a flag that is in no table: the server itself stops at it.
Result<void> check_known(const ServerProgram& server, std::string_view name,
                         const ReadFlags& flags) {
  if (flags.unknown.empty()) return {};
  const auto& [typed, nearest, took] = flags.unknown.front();
  std::string name_of = typed;
  std::ranges::replace(name_of, '_', '-');
  std::string hint(meaning_of(fmt::format("{}/{}", server.engine, name_of), data::meant_flags()));
  if (hint.empty() && !nearest.empty()) hint = fmt::format("did you mean {}?", nearest);
  return bad_input(fmt::format("unknown argument {}", typed), std::string(name), std::move(hint));
}

/// The model as a word, or none at all.
Result<void> take_words(const ServerProgram& server, std::string_view name, const ReadFlags& flags,
                        Translation& translation) {
  const std::size_t most = server.is_python ? 1 : 0;
  if (server.passes_words) return {};
  if (flags.operands.size() > most)
    return bad_input(fmt::format("one word too many: {}", flags.operands[most]), std::string(name));
  if (!flags.operands.empty()) translation.model = flags.operands.front();
  return {};
}

}  // namespace

std::optional<std::int64_t> product_of(const ReadFlags& flags,
                                       std::initializer_list<std::string_view> sizes) {
  constexpr std::int64_t kMost = 4096;
  std::int64_t product = 1;
  for (const std::string_view size : sizes) {
    const std::optional<std::string> text = flags.value(size);
    if (!text) continue;
    const std::optional<std::int64_t> value = whole_number(*text);
    if (!value || *value < 1 || *value > kMost) return std::nullopt;
    product *= *value;
  }
  return product;
}

std::vector<Flag> as_served_by(const ServeEngine& engine, std::span<const Flag> flags) {
  std::vector<Flag> named(flags.begin(), flags.end());
  for (Flag& flag : named)
    if (flag.effect == Effect::modelled && flag.meaning.empty())
      if (const auto* served = find_flag(engine.flags, flag.name)) flag.meaning = served->name();
  return named;
}

void add_flags(const ReadFlags& flags, Translation& translation, TakeFlag take) {
  for (const GivenFlag& given : flags.given) {
    const Flag& flag = *given.flag;
    if (flag.effect != Effect::modelled || (take && take(given, translation))) continue;
    std::string value = given.values.empty() ? std::string() : given.values.front();
    if (flag.arity == Arity::many) value = fmt::format("{}", fmt::join(given.values, ","));
    if (flag.meaning == "model")
      translation.model = value;
    else if (const auto count = flag.is_count ? typed_count(value) : std::nullopt)
      translation.add(flag.meaning, *count);
    else
      translation.add(flag.meaning, value);
  }
}

Result<void> check_model(const Translation& translation, std::string_view program,
                         std::string hint) {
  if (!translation.model.empty()) return {};
  return bad_input("no model is named", std::string(program), std::move(hint));
}

void add_warnings(Translation& translation, const ReadFlags& flags, std::string_view program) {
  translation.remarks.add(remarks_of(flags, program));
}

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

Result<Translation> translate(const ServerProgram& server, const LaunchCommand& command) {
  const std::string_view name = server.name.empty() ? command.program : server.name;
  const std::span<const Flag> table = server.flags();
  Result<std::vector<std::string>> words = command.arguments;
  if (server.is_python) words = with_config_file(command.arguments, table, *command.files);
  if (!words) return tl::unexpected(words.error());
  if (server.words) words = server.words(std::move(*words));
  const Result<ReadFlags> typed = read_flags(*words, table,
                                             {.program = name,
                                              .prefixes = server.is_python,
                                              .attached_values = server.is_python,
                                              .truths = server.is_python,
                                              .unknown_pass = true});
  if (!typed) return tl::unexpected(typed.error());
  if (const auto known = check_known(server, name, *typed); !known)
    return tl::unexpected(known.error());
  const ReadFlags variables = server.variables ? server.variables(command) : ReadFlags{};
  ReadFlags all = variables;
  all.given.insert(all.given.end(), typed->given.begin(), typed->given.end());
  Result<Translation> translation =
      begin_serving(command, server.engine, server.ranks ? server.ranks(all) : std::nullopt);
  if (!translation) return translation;
  if (server.begin)
    if (const auto begun = server.begin(command, all, *translation); !begun)
      return tl::unexpected(begun.error());
  add_flags(all, *translation, server.take);
  if (const auto taken = take_words(server, name, *typed, *translation); !taken)
    return tl::unexpected(taken.error());
  if (const auto named =
          check_model(*translation, name, fmt::format("{} {}", name, server.names_model));
      !named)
    return tl::unexpected(named.error());
  for (const char* flag : {"--served-model-name", "--alias", "-a"})
    if (const auto called = typed->value(flag)) translation->served_name = *called;
  add_warnings(*translation, *typed, name);
  add_warnings(*translation, variables, server.environment);
  translation->flags = table;
  for (const GivenFlag& given : typed->given) translation->typed.emplace_back(given.flag->name);
  return translation;
}

}  // namespace memtape::launch
