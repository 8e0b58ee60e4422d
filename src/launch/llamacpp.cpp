// SPDX-License-Identifier: Apache-2.0
// llama-server, llama-cli, llama-completion and llama-bench: the same words as `memtape serve MODEL
// --engine llamacpp`. What differs is how many sequences and rows of logits each program asks for
// (tools/server/server.cpp, tools/cli, tools/completion, tools/llama-bench).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "base/typed_number.h"
#include "framework/llamacpp/serve.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/serving.h"
#include "model/catalog.h"
#include "model/model_name.h"

namespace memtape::launch {
namespace {

constexpr auto kFlagsOfServer = served_flags<llamacpp::kEngine, data::llamacpp_flags>;

/// LLAMA_ARG_*: what a flag says where the command line does not (common_arg::get_value_from_env).
ReadFlags read_environment(const LaunchCommand& command) {
  const FlagTable table{kFlagsOfServer(), data::llamacpp_flags().variables};
  ReadFlags read;
  std::vector<std::string_view> names;
  for (const VariableOfFlag& row : table.variables) names.push_back(row.variable);
  for (const auto& [variable, value] : command.environment) {
    if (!variable.starts_with("LLAMA_ARG_")) continue;
    const bool negated = variable.starts_with("LLAMA_ARG_NO_");
    const std::string plain =
        negated ? "LLAMA_ARG_" + variable.substr(sizeof("LLAMA_ARG_NO_") - 1) : variable;
    const auto row =
        std::ranges::find(table.variables, std::string_view(plain), &VariableOfFlag::variable);
    if (row == table.variables.end()) {
      read.unknown.push_back({variable, nearest(variable, names), false});
      continue;
    }
    std::string name(row->flag);
    const auto flag_of = [&] { return std::ranges::find(table.flags, name, &Flag::name); };
    const bool off = value == "off" || value == "disabled" || value == "false" || value == "0";
    if (flag_of()->arity == Arity::none && (negated || off)) name = "--no-" + name.substr(2);
    const auto flag = flag_of();
    if (flag == table.flags.end()) continue;  // a switch without a negative, switched off
    read.given.push_back({&*flag, {value}});
  }
  return read;
}

/// "user/Model-GGUF:Q4_K_M" as the model it was made from, and its file type.
void take_hub_name(Translation& translation, std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  std::string_view repository = name.substr(0, colon);
  std::string type = file_type_named(colon < name.size() ? name.substr(colon + 1) : "Q4_K_M");
  for (const std::string_view ending : {"-GGUF", "-gguf"})
    if (repository.ends_with(ending)) repository.remove_suffix(ending.size());
  translation.model = repository.substr(repository.rfind('/') + 1);
  // "Qwen_Qwen3-32B": copies have the owner in their name.
  if (find_id(translation.model).empty())
    if (const PathModel owned = model_of_path(translation.model); !owned.id.empty())
      translation.model = owned.id;
  // Without a file of that type the first of the repository is taken: those of gpt-oss hold MXFP4.
  if (colon == name.size() && translation.model.starts_with("gpt-oss")) type = "MXFP4_MOE";
  translation.add("quantize", type);
  translation.remarks.warnings.push_back(
      fmt::format("the file of {} is not read: the answer is for {} as llama-quantize makes {} of "
                  "it (name the file with -m for its own tensors)",
                  name, translation.model, type));
}

/// What is said otherwise, or together with other flags.
bool take_llamacpp(const GivenFlag& given, Translation& translation) {
  const std::string_view option = given.flag->meaning;
  const std::string value = given.values.empty() ? std::string() : given.values.front();
  if (option == "hf-repo")
    take_hub_name(translation, value);
  else if (option == "load-mode")
    translation.add(value == "mmap" ? "mmap" : "no-mmap", "");
  else if (option == "flash-attn" && value.empty())
    translation.add(option, "on");
  else
    return option == "fit" || option == "hf-file" || option == "kv-unified-per-slot";
  return true;
}

/// --device: as many GPUs as it lists.
std::optional<std::int64_t> devices_of(const ReadFlags& flags) {
  const std::optional<std::string> devices = flags.value("device");
  if (!devices) return std::nullopt;
  if (*devices == "none") return 0;
  return 1 + std::ranges::count(*devices, ',');
}

/// llama.cpp's images are tagged with what they run on and with their build (docs/docker.md):
/// server-vulkan, server-cuda-b6209.
void add_image(Translation& translation, const LaunchCommand& command, std::int64_t devices) {
  const GivenSetting* const image = command.launcher_settings.find("image");
  if (!image || image->value.text.find("llama.cpp:") == std::string::npos) return;
  const std::string tag = image->value.text.substr(image->value.text.rfind(':') + 1);
  if (const std::size_t at = tag.rfind("-b"); at != tag.npos && at + 2 < tag.size())
    if (std::all_of(tag.begin() + static_cast<std::ptrdiff_t>(at) + 2, tag.end(),
                    [](char c) { return c >= '0' && c <= '9'; }))
      translation.add("engine-version", tag.substr(at + 1));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kDevices{
      {{"vulkan", "Vulkan"}, {"rocm", "ROCm"}, {"intel", "SYCL"}}};
  for (const auto& [word, prefix] : kDevices) {
    if (tag.find(word) == std::string::npos) continue;
    std::string names;
    for (std::int64_t i = 0; i < devices; ++i)
      names += fmt::format("{}{}{}", i > 0 ? "," : "", prefix, i);
    translation.add("device", names);
  }
}

/// --kv-unified-per-slot: a cache of so many tokens for each slot, where -c says nothing.
Result<void> add_cache_per_slot(Translation& translation, const ReadFlags& flags) {
  const std::optional<std::string> tokens = flags.value("kv-unified-per-slot");
  if (!tokens || flags.has("ctx-size")) return {};
  const std::string slots = flags.value("parallel").value_or("4");
  std::int64_t product = 1;
  for (const std::string& text : {*tokens, slots == "-1" ? std::string("4") : slots}) {
    const std::optional<std::int64_t> value = whole_number(text);
    if (!value || *value < 1 || *value > 1 << 24)
      return bad_input(fmt::format("unusable value \"{}\"", text), "--kv-unified-per-slot",
                       "a whole number of tokens");
    product *= *value;
  }
  translation.add("ctx-size", product);
  return {};
}

/// llama-cli runs one sequence; llama-completion has no limit on the rows of logits, so it reserves
/// a batch.
Result<void> begin_llamacpp(const LaunchCommand& command, const ReadFlags& flags,
                            Translation& translation) {
  if (command.program != "llama-server") translation.add("parallel", "1");
  if (command.program == "llama-completion") translation.add("n-outputs-max", "0");
  if (flags.value("fit").value_or("on") != "off") translation.add("fit-unsaid", "");
  add_image(translation, command,
            devices_of(flags).value_or(command.processes.granted.value_or(1)));
  return add_cache_per_slot(translation, flags);
}

}  // namespace

const ServerProgram kLlamacpp{.engine = "llamacpp",
                              .names_model = "-m FILE.gguf",
                              .is_python = false,
                              .flags = kFlagsOfServer,
                              .ranks = devices_of,
                              .begin = begin_llamacpp,
                              .take = take_llamacpp,
                              .variables = read_environment,
                              .environment = "llama.cpp's environment"};

}  // namespace memtape::launch
