// SPDX-License-Identifier: Apache-2.0
#include "answer/train_request.h"

#include <algorithm>
#include <array>

#include "answer/device_options.h"
#include "answer/release_options.h"
#include "model/config.h"
#include "workload/allocator_of_release.h"
#include "workload/dialect_words.h"
#include "workload/presets.h"
#include "workload/same_setting.h"
#include "workload/train_options.h"

namespace memtape::answer {
namespace {

constexpr std::size_t kLargestJson = std::size_t{1} << 20;

const std::string* value_of(const RawOptions& options, std::string_view name) {
  return last_value(options.values, name);
}

/// Whether the framework knows no layout but one GPU.
bool is_single(std::string_view framework) { return framework == "torch"; }

/// Options that the dialect at hand does not model, as one error that names the first.
Result<void> refuse_unmodelled(const RawOptions& options) {
  constexpr std::array<std::string_view, 17> kUnmodelled{
      "quantize", "quantization", "peft", "loss", "gpus", "dp",       "zero", "tp",     "sp",
      "pp",       "vpp",          "cp",   "ep",   "etp",  "schedule", "rank", "offload"};
  constexpr std::size_t kOfAny = 4;  // the first are no framework's
  constexpr std::array<std::string_view, 6> kNeutral{"1", "0", "none", "all", "torch", "{}"};
  const std::string* framework = value_of(options, "framework");
  const std::string dialect = framework ? *framework : "torch";
  const auto end = kUnmodelled.begin() + (is_single(dialect) ? kUnmodelled.size() : kOfAny);
  for (const auto& [name, value] : options.values) {
    if (dialect == "transformers" && (name == "peft" || name == "quantization")) continue;
    if (dialect == "litgpt" && name == "quantize") continue;
    if (std::find(kUnmodelled.begin(), end, name) == end) continue;
    const bool is_stage = name == "zero" && value == "1";
    if (is_stage || std::find(kNeutral.begin(), kNeutral.end(), value) == kNeutral.end())
      return unsupported("\"" + value + "\" is not modelled by --framework " + dialect, "--" + name,
                         name == "quantize" || name == "quantization" || name == "peft"
                             ? "--framework transformers"
                             : "one GPU");
  }
  return {};
}

/// JSON|FILE: the text of a file whose name was given in place of JSON.
Result<void> read_json_files(RawOptions& options, const Outside& outside) {
  for (auto& [name, value] : options.values) {
    const bool is_json = name == "peft" || name == "quantization" || name == "strategy" ||
                         name == "fsdp_config" || name == "deepspeed";
    if (!is_json || value.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    if (value[value.find_first_not_of(" \t\r\n")] == '{') continue;
    Result<std::string> text = outside.text(value, kLargestJson);
    if (!text) return tl::unexpected(text.error());
    if (const Result<Config> json = Config::parse(*text, value); !json)
      return tl::unexpected(json.error());
    value = std::move(*text);
  }
  return {};
}

DeviceSetup device_setup(ServeDevice device) {
  return {.gpu = std::move(device.gpu),
          .total_bytes = device.total_override,
          .context_bytes = device.context_override,
          .placement = device.placement,
          .allocator = device.allocator};
}

}  // namespace

Result<TrainRequest> train_request(const RawOptions& typed, const Outside& outside) {
  RawOptions options = typed;
  if (const auto read = read_json_files(options, outside); !read)
    return tl::unexpected(read.error());
  if (const auto once = check_said_once(options.typed); !once) return tl::unexpected(once.error());
  Result<std::vector<NamedValue>> values = with_presets(std::move(options.values));
  if (values) values = in_dialect_words(std::move(*values));
  if (!values) return tl::unexpected(values.error());
  options.values = std::move(*values);
  if (const auto fine = refuse_unmodelled(options); !fine) return tl::unexpected(fine.error());
  const Result<NamedReleases> releases = starting_releases(options.values, outside);
  if (!releases) return tl::unexpected(releases.error());
  const auto read = [named = *releases, left_out = options.remarks.not_modelled](
                        std::span<const NamedValue> other) -> Result<TrainRecipe> {
    const auto words = in_dialect_words({other.begin(), other.end()});
    if (!words) return tl::unexpected(words.error());
    Result<TrainRecipe> recipe = train_recipe(*words, named);
    if (recipe)
      recipe->not_modelled.insert(recipe->not_modelled.end(), left_out.begin(), left_out.end());
    return recipe;
  };
  Result<TrainRecipe> recipe = read(options.values);
  if (!recipe) return tl::unexpected(recipe.error());
  Result<ServeDevice> device = device_of(options.values, options.environment, outside);
  if (!device) return tl::unexpected(device.error());
  device->allocator.equal_blocks = equal_blocks_of(recipe->release);
  return TrainRequest{std::move(*recipe), device_setup(std::move(*device)),
                      std::move(options.values), read};
}

}  // namespace memtape::answer
