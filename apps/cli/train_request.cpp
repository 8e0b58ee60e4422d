// SPDX-License-Identifier: Apache-2.0
#include "train_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "sources/files.h"
#include "workload/train_options.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kLargestJson = std::size_t{1} << 20;

/// The last value given for an option, or nothing.
const std::string* value_of(const RawOptions& options, std::string_view name) {
  const auto found = std::find_if(options.values.rbegin(), options.values.rend(),
                                  [&](const auto& v) { return v.first == name; });
  return found == options.values.rend() ? nullptr : &found->second;
}

Result<std::optional<Bytes>> bytes_option(const RawOptions& options, std::string_view name) {
  const std::string* text = value_of(options, name);
  if (!text) return std::nullopt;
  Bytes bytes = 0;
  const auto [at, error] = std::from_chars(text->data(), text->data() + text->size(), bytes);
  if (error != std::errc() || at != text->data() + text->size() || bytes < 0)
    return memtape::bad_input("unusable value \"" + *text + "\"", "--" + std::string(name),
                              "a whole number of bytes");
  return bytes;
}

/// PYTORCH_ALLOC_CONF, or the older PYTORCH_CUDA_ALLOC_CONF.
/// What a launch command sets goes before this process' own.
Result<AllocatorConfig> allocator_of_process(const RawOptions& options) {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    for (const auto& [variable, value] : options.environment)
      if (variable == name) return AllocatorConfig::parse(value);
    if (const char* text = std::getenv(name)) return AllocatorConfig::parse(text);
  }
  return AllocatorConfig{};
}

Result<DeviceSetup> device_setup(const RawOptions& options) {
  DeviceSetup device;
  if (const std::string* name = value_of(options, "gpu")) {
    Result<Gpu> gpu = find_gpu(*name);
    if (!gpu) return tl::unexpected(gpu.error());
    device.gpu = std::move(*gpu);
  }
  const auto total = bytes_option(options, "gpu-memory-bytes"),
             context = bytes_option(options, "context-bytes");
  if (!total) return tl::unexpected(total.error());
  if (!context) return tl::unexpected(context.error());
  device.total_bytes = *total;
  device.context_bytes = *context;
  if (const std::string* name = value_of(options, "driver-placement")) {
    const Result<DriverPlacement> placement = driver_placement_from_name(*name);
    if (!placement) return tl::unexpected(placement.error());
    device.placement = *placement;
  }
  const Result<AllocatorConfig> allocator = allocator_of_process(options);
  if (!allocator) return tl::unexpected(allocator.error());
  device.allocator = *allocator;
  return device;
}

/// Options that the dialect at hand does not model, as one error that names the first.
Result<void> refuse_unmodelled(const RawOptions& options) {
  constexpr std::array<std::string_view, 18> kLayout{
      "gpus", "dp",  "zero",    "tp",   "sp",       "pp",       "vpp",          "schedule", "cp",
      "ep",   "etp", "offload", "rank", "strategy", "quantize", "quantization", "peft",     "loss"};
  constexpr std::array<std::string_view, 5> kNeutral{"1", "0", "none", "all", "torch"};
  const std::string* framework = value_of(options, "framework");
  const bool trainer = framework && *framework == "transformers";
  for (const auto& [name, value] : options.values) {
    if (trainer && (name == "peft" || name == "quantization")) continue;
    if (std::find(kLayout.begin(), kLayout.end(), name) == kLayout.end()) continue;
    if (std::find(kNeutral.begin(), kNeutral.end(), value) == kNeutral.end())
      return unsupported("\"" + value + "\" is not modelled by --framework " +
                             std::string(trainer ? "transformers" : "torch"),
                         "--" + name, "one GPU");
  }
  return {};
}

/// JSON|FILE: the text of a file whose name was given in place of JSON.
Result<void> read_json_files(RawOptions& options) {
  for (auto& [name, value] : options.values) {
    if ((name != "peft" && name != "quantization") ||
        value.find_first_not_of(" \t\r\n") == std::string::npos)
      continue;
    if (value[value.find_first_not_of(" \t\r\n")] == '{') continue;
    Result<std::string> text = sources::read_text_file(value, kLargestJson);
    if (!text) return tl::unexpected(text.error());
    value = std::move(*text);
  }
  return {};
}

}  // namespace

Result<TrainRequest> train_request(const RawOptions& typed) {
  RawOptions options = typed;
  if (const auto read = read_json_files(options); !read) return tl::unexpected(read.error());
  if (const auto fine = refuse_unmodelled(options); !fine) return tl::unexpected(fine.error());
  Result<TrainRecipe> recipe = train_recipe(options.values);
  if (!recipe) return tl::unexpected(recipe.error());
  Result<DeviceSetup> device = device_setup(options);
  if (!device) return tl::unexpected(device.error());
  return TrainRequest{std::move(*recipe), std::move(*device)};
}

}  // namespace memtape::cli
