// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/options.h"

#include <array>
#include <string>

#include "base/text.h"
#include "framework/fsdp2/optimizer_over_shards.h"
#include "framework/torch/strategy.h"

namespace memtape::torch_cp {
namespace {

constexpr auto kKnown = std::to_array<std::string_view>({"rotate", "fsdp2", "loss"});
constexpr auto kRotations = std::to_array<std::string_view>({"allgather", "alltoall"});
constexpr std::string_view kLoss = "cross_entropy(logits.flatten(0,1).float())";

Result<Rotation> read_rotation(const Config& json) {
  const std::string name = json.text("rotate", "allgather");
  for (const std::string_view known : kRotations)
    if (name == known) return name == "allgather" ? Rotation::all_gather : Rotation::all_to_all;
  return bad_input("unknown rotation \"" + name + "\"", "--strategy: rotate",
                   suggestion(name, kRotations));
}

/// fully_shard with bf16 in the forward: ring attention's flash kernel takes no fp32.
fsdp2::Options low_precision(const Layout& mesh) {
  fsdp2::Options options;
  options.mixed_precision.param_dtype = DType::bfloat16;
  options.mixed_precision.reduce_dtype = DType::float32;
  options.mesh = mesh;
  return options;
}

/// An object of fully_shard's options, true for bf16 over fp32, false or null for none. Not said:
/// true where the parameters are held in fp32.
Result<std::optional<fsdp2::Options>> read_fsdp2(const Config& json, const TrainRecipe& recipe) {
  const Layout mesh({{"shard", recipe.layout.gpus}});
  const std::string said = json.has("fsdp2") ? json.json("fsdp2") : "";
  if (said == "true") return low_precision(mesh);
  if (said == "false" || said == "null") return std::nullopt;
  if (said.empty()) {
    const bool in_fp32 = recipe.parameter_dtype() == DType::float32 && !recipe.autocasts();
    return in_fp32 ? std::optional(low_precision(mesh)) : std::nullopt;
  }
  const auto options = fsdp2::read_options(json.object("fsdp2"), mesh);
  if (!options) return tl::unexpected(options.error());
  return *options;
}

}  // namespace

Result<Options> read_options(const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  if (const Result<void> fine = torch::check_axes(layout, {"cp"}); !fine)
    return tl::unexpected(fine.error());
  if (const auto cp = torch::remaining_axis(layout, "cp", layout.cp, 1); !cp)
    return tl::unexpected(cp.error());
  const Result<Config> json = torch::read_strategy(recipe, kKnown);
  if (!json) return tl::unexpected(json.error());
  Options options;
  const auto rotate = read_rotation(*json);
  if (!rotate) return tl::unexpected(rotate.error());
  options.rotate = *rotate;
  const auto fsdp2 = read_fsdp2(*json, recipe);
  if (!fsdp2) return tl::unexpected(fsdp2.error());
  options.fsdp2 = *fsdp2;
  if (options.fsdp2)
    if (const auto fine = fsdp2::check_optimizer_over_shards(recipe); !fine)
      return tl::unexpected(fine.error());
  if (const std::string loss = json->text("loss", std::string(kLoss)); loss != kLoss)
    return unsupported("the loss \"" + loss + "\" is not modelled", "--strategy: loss",
                       std::string(kLoss));
  if (const Result<void> fine = json->check(); !fine) return tl::unexpected(fine.error());
  if (recipe.attention == AttentionChoice::eager)
    return bad_input("context_parallel takes the place of sdpa alone", "--attention", "sdpa");
  if (recipe.sequence_length % (2 * layout.gpus) != 0)
    return bad_input(std::to_string(recipe.sequence_length) + " tokens are no " +
                         std::to_string(2 * layout.gpus) + " equal stretches",
                     "--sequence-length", "a multiple of twice the GPUs");
  return options;
}

}  // namespace memtape::torch_cp
