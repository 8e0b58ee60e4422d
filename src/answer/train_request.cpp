// SPDX-License-Identifier: Apache-2.0
#include "answer/train_request.h"

#include "allocator/allocator_of_release.h"
#include "answer/device_options.h"
#include "answer/release_options.h"
#include "framework/dialects.h"
#include "framework/train_arguments.h"
#include "model/config.h"
#include "option/agreement.h"

namespace memtape::answer {
namespace {

constexpr std::size_t kLargestJson = std::size_t{1} << 20;

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

Result<TrainRequest> read_train_request(const RawOptions& typed, const Outside& outside) {
  RawOptions options = typed;
  if (const auto read = read_json_files(options, outside); !read)
    return tl::unexpected(read.error());
  if (const auto once = option::agree(all_train_options(), options.typed); !once)
    return tl::unexpected(once.error());
  Result<NamedValues> values = in_dialect_words(std::move(options.values));
  if (!values) return tl::unexpected(values.error());
  options.values = std::move(*values);
  const Result<const Framework*> framework = framework_named(options.values);
  if (!framework) return tl::unexpected(framework.error());
  if (const auto fine = check_modelled(options.values, **framework); !fine)
    return tl::unexpected(fine.error());
  const Result<NamedReleases> releases = starting_releases(options.values, outside);
  if (!releases) return tl::unexpected(releases.error());
  const auto read = [named = *releases, left_out = options.remarks.not_modelled,
                     open = options.remarks.not_bounded](
                        std::span<const NamedValue> other) -> Result<TrainRecipe> {
    const auto words = in_dialect_words({other.begin(), other.end()});
    if (!words) return tl::unexpected(words.error());
    Result<TrainRecipe> recipe = train_recipe(*words, frameworks(), named);
    if (recipe) {
      recipe->not_modelled.insert(recipe->not_modelled.end(), left_out.begin(), left_out.end());
      recipe->not_bounded.insert(recipe->not_bounded.end(), open.begin(), open.end());
    }
    return recipe;
  };
  Result<TrainRecipe> recipe = read(options.values);
  if (!recipe) return tl::unexpected(recipe.error());
  Result<DeviceSetup> device = device_of(options.values, options.environment, outside);
  if (!device) return tl::unexpected(device.error());
  device->allocator.equal_blocks = equal_blocks_of(recipe->release);
  return TrainRequest{std::move(*recipe), std::move(*device), std::move(options.values), read};
}

}  // namespace

Result<TrainRequest> train_request(const RawOptions& typed, const Outside& outside) {
  Result<TrainRequest> request = read_train_request(typed, outside);
  if (request || !request.error().where.starts_with("--")) return request;
  const std::string* place = last_value(typed.places, request.error().where.substr(2));
  if (place && !place->empty()) request.error().where = *place;
  return request;
}

}  // namespace memtape::answer
