// SPDX-License-Identifier: Apache-2.0
// `memtape train MODEL`: resolve the model, read the options, predict, report.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "commands.h"
#include "predict/train.h"
#include "report/csv.h"
#include "report/explain.h"
#include "report/html.h"
#include "report/json.h"
#include "report/snapshot.h"
#include "report/text.h"
#include "sources/model_source.h"
#include "workload/train_options.h"

namespace memtape::cli {
namespace {

/// The last value given for an option, or nothing.
const std::string* value_of(const RawOptions& options, std::string_view name) {
  const auto found = std::find_if(options.values.rbegin(), options.values.rend(), [&](const auto& v) { return v.first == name; });
  return found == options.values.rend() ? nullptr : &found->second;
}

Result<std::optional<Bytes>> bytes_option(const RawOptions& options, std::string_view name) {
  const std::string* text = value_of(options, name);
  if (!text) return std::nullopt;
  Bytes bytes = 0;
  const auto [at, error] = std::from_chars(text->data(), text->data() + text->size(), bytes);
  if (error != std::errc() || at != text->data() + text->size() || bytes < 0)
    return memtape::bad_input("unusable value \"" + *text + "\"", "--" + std::string(name), "a whole number of bytes");
  return bytes;
}

/// PYTORCH_ALLOC_CONF, or the older PYTORCH_CUDA_ALLOC_CONF.
Result<AllocatorConfig> allocator_of_process() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"})
    if (const char* text = std::getenv(name)) return AllocatorConfig::parse(text);
  return AllocatorConfig{};
}

Result<DeviceSetup> device_setup(const RawOptions& options) {
  DeviceSetup device;
  if (const std::string* name = value_of(options, "gpu")) {
    Result<Gpu> gpu = find_gpu(*name);
    if (!gpu) return tl::unexpected(gpu.error());
    device.gpu = std::move(*gpu);
  }
  const auto total = bytes_option(options, "gpu-memory-bytes"), context = bytes_option(options, "context-bytes");
  if (!total) return tl::unexpected(total.error());
  if (!context) return tl::unexpected(context.error());
  device.total_bytes = *total;
  device.context_bytes = *context;
  if (const std::string* name = value_of(options, "driver-placement")) {
    const Result<DriverPlacement> placement = driver_placement_from_name(*name);
    if (!placement) return tl::unexpected(placement.error());
    device.placement = *placement;
  }
  const Result<AllocatorConfig> allocator = allocator_of_process();
  if (!allocator) return tl::unexpected(allocator.error());
  device.allocator = *allocator;
  return device;
}

/// Options that the dialect at hand does not model, as one error that names the first.
Result<void> refuse_unmodelled(const RawOptions& options) {
  constexpr std::array<std::string_view, 18> kLayout{"gpus", "dp", "zero", "tp", "sp", "pp", "vpp", "schedule", "cp", "ep",
                                                     "etp", "offload", "rank", "strategy", "quantize", "quantization", "peft",
                                                     "loss"};
  constexpr std::array<std::string_view, 5> kNeutral{"1", "0", "none", "all", "torch"};
  for (const auto& [name, value] : options.values) {
    if (std::find(kLayout.begin(), kLayout.end(), name) == kLayout.end()) continue;
    if (std::find(kNeutral.begin(), kNeutral.end(), value) == kNeutral.end())
      return unsupported("\"" + value + "\" is not modelled by --framework torch", "--" + name, "one GPU, plain PyTorch");
  }
  return {};
}

Result<void> write_file(const std::string& path, const std::string& bytes) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return memtape::bad_input("cannot be written", path);
  return {};
}

Result<void> write_files(const RawOptions& options, const TrainAnswer& answer) {
  if (!options.html.empty())
    if (const auto done = write_file(options.html, report::html(answer.prediction, *answer.trace)); !done) return done;
  if (!options.snapshot.empty()) return write_file(options.snapshot, report::snapshot(*answer.trace));
  return {};
}

void print(const RawOptions& options, const TrainAnswer& answer, Terminal& terminal) {
  const report::Style style{.colour = terminal.colour()};
  if (options.output.json) return terminal.print(report::json(answer.prediction));
  if (options.csv) return terminal.print(report::csv(*answer.trace));
  if (options.output.quiet) return terminal.print(report::quiet_text(answer.prediction));
  terminal.print(report::text(answer.prediction, answer.trace ? &*answer.trace : nullptr,
                              {.width = terminal.width(), .style = style}));
  if (options.output.explain)
    terminal.print("\n" + report::explain(answer.prediction, *answer.trace, {.width = terminal.width(), .style = style}));
}

Result<TrainAnswer> answer_of(const RawOptions& options) {
  if (const auto fine = refuse_unmodelled(options); !fine) return tl::unexpected(fine.error());
  const Result<TrainRecipe> recipe = train_recipe(options.values);
  if (!recipe) return tl::unexpected(recipe.error());
  const Result<DeviceSetup> device = device_setup(options);
  if (!device) return tl::unexpected(device.error());
  const auto source = sources::find_model_source(options.model, sources::HubSettings::of_process());
  if (!source) return tl::unexpected(source.error());
  if (!source->config)
    return unsupported("a checkpoint without a config.json says nothing about the step", source->where,
                       "put its config.json beside it");
  const ModelRequest model{.id = source->id, .config = *source->config, .header = source->header ? &*source->header : nullptr};
  const bool draws = !options.output.json && !options.output.quiet;
  const bool wants_trace = draws || !options.html.empty() || !options.snapshot.empty() || options.output.explain;
  Result<TrainAnswer> answer = predict_train(model, *recipe, *device, {.trace = wants_trace});
  if (answer)
    answer->prediction.warnings.insert(answer->prediction.warnings.begin(), source->warnings.begin(), source->warnings.end());
  return answer;
}

}  // namespace

int run_train(const RawOptions& options, Terminal& terminal) {
  const Result<TrainAnswer> answer = answer_of(options);
  if (!answer) return terminal.fail(answer.error());
  if (const Result<void> written = write_files(options, *answer); !written) return terminal.fail(written.error());
  print(options, *answer, terminal);
  return answer->prediction.fits.value_or(true) ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::cli
