// SPDX-License-Identifier: Apache-2.0
#include "predict/unmodelled_bounds.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "family/images_left_out.h"
#include "workload/train_recipe.h"

namespace memtape {

void widen_by_not_modelled(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank) {
  const std::size_t count = recipe.not_modelled.size();
  if (count == 0) return;
  const Bytes step = rank.peak.reserved - std::min(rank.steady.allocated, rank.peak.reserved);
  bounds.low_bytes -= step;
  bounds.high_bytes += step;
  bounds.causes.push_back(
      count == 1 ? std::string("what one setting does is not modelled: from what stays between "
                               "steps to twice what a step adds")
                 : fmt::format("what {} settings do is not modelled: from what stays between steps "
                               "to twice what a step adds",
                               count));
}

void open_by_not_bounded(Bounds& bounds, const TrainRecipe& recipe, const DeviceSetup& device) {
  std::vector<std::string> causes = recipe.not_bounded;
  if (!recipe.leaves_images_out) std::erase(causes, family::kImagesNotCut);
  // flash_attn (2.8, csrc/flash_attn/flash_api.cpp, mha_fwd): "only supports Ampere GPUs or newer".
  constexpr int kAmpere = 80;
  if (recipe.names_attention && recipe.attention == AttentionChoice::flash && device.gpu &&
      device.gpu->runs_cuda() && device.gpu->capability() < kAmpere)
    causes.push_back(
        fmt::format("FlashAttention 2 does not run on {}: what attends in its place is not said "
                    "(--attention sdpa or eager)",
                    device.gpu->name));
  if (causes.empty()) return;
  bounds.has_upper_end = false;
  std::ranges::move(causes, std::back_inserter(bounds.causes));
}

namespace {

/// Patches that become one token: Qwen's merge them by squares, Gemma 3's pool a picture of a fixed
/// size to so many tokens.
std::int64_t patches_of_token(const Config& config, const Config& vision, std::int64_t picture) {
  if (const std::int64_t tokens = config.count("mm_tokens_per_image", 0); tokens > 0 && picture > 0)
    return std::max<std::int64_t>(1, picture / tokens);
  const std::int64_t side =
      vision.count("spatial_merge_size", config.count("spatial_merge_size", 1));
  return std::max<std::int64_t>(1, side * side);
}

}  // namespace

void widen_by_images(Bounds& bounds, const Config& config, const TrainRecipe& recipe) {
  const Config vision = config.object("vision_config");
  if (!recipe.leaves_images_out || vision.keys().empty()) return;
  // In one layer queries, keys, values, their product, the norms and the MLP's inner states; of
  // attention without a kernel for its mask the scores in float32, with the mask and normalized.
  constexpr std::int64_t kStatesOfLayer = 8, kInnerStates = 3, kScores = 3;
  const std::int64_t hidden = vision.dimension({"hidden_size", "embed_dim"}, 1152);
  const std::int64_t inner = vision.dimension("intermediate_size", 4 * hidden);
  const std::int64_t layers = vision.layers({"num_hidden_layers", "depth"}, 27);
  const std::int64_t heads = vision.dimension({"num_attention_heads", "num_heads"}, 16);
  const std::int64_t side = vision.count("image_size", 0) / vision.dimension("patch_size", 14);
  const std::int64_t patches = recipe.micro_batch_size * recipe.sequence_length *
                               patches_of_token(config, vision, side * side);
  const std::int64_t attended = side > 0 ? std::min(patches, side * side) : patches;
  const std::int64_t kept = recipe.checkpointing == Checkpointing::none ? layers : 1;
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double states = real(layers) * real(hidden) +
                        real(kept) * real(kStatesOfLayer * hidden + kInnerStates * inner);
  const double scores = real(kScores * heads) * real(attended) * real(attended);
  constexpr double kMost = 1e17;  // whatever the configuration says, an integer holds it
  const Bytes most = static_cast<Bytes>(
      std::min(kMost, real(bytes_of(DType::bfloat16, 1)) * real(patches) * states +
                          real(bytes_of(DType::float32, 1)) * scores));
  bounds.high_bytes += most;
  bounds.causes.push_back(fmt::format(
      "the batch is text alone: one of images alone takes up to {} more", human_bytes(most)));
}

void widen_by_replicas(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank) {
  const std::int64_t others = recipe.layout.replicas - 1;
  if (others < 1 || recipe.checkpointing != Checkpointing::full_reentrant) return;
  const Bytes more = 2 * others * rank.parameter_bytes;
  bounds.high_bytes += more;
  bounds.causes.push_back(fmt::format(
      "replicas that compute a layer again at the same time take up to {} more on the first GPU",
      human_bytes(more)));
}

void widen_by_loading(Bounds& bounds, const TrainRecipe& recipe, std::int64_t parameters) {
  if (!recipe.loads_in_threads) return;
  const Bytes whole = bytes_of(DType::bfloat16, parameters);
  if (whole <= bounds.high_bytes) return;
  bounds.high_bytes = whole;
  bounds.causes.push_back(
      fmt::format("up to {} in 16 bits while the model is loaded", human_bytes(whole)));
}

}  // namespace memtape
