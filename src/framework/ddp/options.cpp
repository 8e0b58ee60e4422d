// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/options.h"

#include <array>

#include "base/text.h"
#include "framework/torch/strategy.h"

namespace memtape::ddp {
namespace {

constexpr auto kKnown = std::to_array<std::string_view>(
    {"bucket_cap_mb", "gradient_as_bucket_view", "static_graph", "find_unused_parameters",
     "broadcast_buffers", "init_sync", "comm_hook", "device_ids", "check_reduction"});

/// default_hooks of torch.distributed.algorithms.ddp_comm_hooks.
Result<std::optional<DType>> compression_of(const std::optional<std::string>& hook) {
  constexpr auto kHooks = std::to_array<std::string_view>(
      {"allreduce_hook", "fp16_compress_hook", "bf16_compress_hook"});
  if (!hook || *hook == "allreduce_hook") return std::nullopt;
  if (*hook == "fp16_compress_hook") return DType::float16;
  if (*hook == "bf16_compress_hook") return DType::bfloat16;
  return unsupported("\"" + *hook + "\" is not modelled", "--strategy: comm_hook",
                     suggestion(*hook, kHooks));
}

}  // namespace

Result<Options> read_options(const TrainRecipe& recipe) {
  const Result<Config> json = torch::read_data_parallel_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  Options options;
  options.bucket_cap_mb = json->optional_number("bucket_cap_mb");
  options.gradient_as_bucket_view = json->boolean("gradient_as_bucket_view", false);
  options.static_graph = json->boolean("static_graph", false);
  options.find_unused_parameters = json->boolean("find_unused_parameters", false);
  options.broadcast_buffers = json->boolean("broadcast_buffers", true);
  options.init_sync = json->boolean("init_sync", true);
  const auto compressed = compression_of(json->optional_text("comm_hook"));
  if (!compressed) return tl::unexpected(compressed.error());
  options.compressed = *compressed;
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (!(options.bucket_cap_mb.value_or(25.0) > 0.0 && options.bucket_cap_mb.value_or(25.0) < 1e9))
    return bad_input("unusable value", "--strategy: bucket_cap_mb", "a positive number of MiB");
  return options;
}

}  // namespace memtape::ddp
