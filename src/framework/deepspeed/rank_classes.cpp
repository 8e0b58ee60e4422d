// SPDX-License-Identifier: Apache-2.0
// Ranks of ZeRO 1 and 2 differ by what their partition holds: of which parameters how much. Two
// that hold as much of parameters of equal sizes are alike but for the layer they hold it of.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine.h"
#include "framework/deepspeed/flat_layout.h"
#include "framework/deepspeed/initialize.h"
#include "framework/torch/model_setup.h"

namespace memtape::deepspeed {
namespace {

/// Up to so many ranks each layer counts; beyond, those that differ by the layer alone are alike,
/// and at most so many are run: others are reported with one whose partition needs more.
constexpr std::int64_t kExactRanks = 64;
constexpr std::size_t kMostClasses = 32;

/// Sizes of the parameters that are trained, in order, by the optimizer's groups.
using GroupSizes = std::vector<std::vector<std::int64_t>>;
Result<GroupSizes> trained_sizes(const Config& config, const TrainRecipe& recipe,
                                 const SecondGroup& second_group) {
  ghost::Session session({}, recipe.release);
  const auto model = torch::build_model(config, recipe);
  if (!model) return tl::unexpected(model.error());
  GroupSizes sizes;
  for (const std::vector<Tensor>& group :
       parameter_groups(torch::trainable_parameters(**model), second_group(**model))) {
    std::vector<std::int64_t>& numels = sizes.emplace_back();
    for (const Tensor& p : group) numels.push_back(p.numel());
  }
  session.finished = true;
  return sizes;
}

/// What a partition holds.
struct Held {
  std::int64_t bytes = 0;  ///< of whole gradients in 16 bits and the largest piece in 64: for order
  std::vector<std::int64_t> pieces;
  bool operator<(const Held& other) const {
    return std::tie(other.bytes, pieces) < std::tie(bytes, other.pieces);
  }
};

class Partitions {
 public:
  Partitions(const std::vector<std::int64_t>& sizes, std::int64_t ranks, bool by_place)
      : sizes_(sizes), layout_(sizes, ranks, 1), by_place_(by_place) {}

  /// Adds what it holds of this group. Of the ranks in order: parameters before the rank's
  /// partition are passed for good.
  void add(std::int64_t rank, Held& held) {
    while (first_ < sizes_.size() &&
           layout_.start(first_) + sizes_[first_] <= rank * layout_.partition_size())
      ++first_;
    std::int64_t largest = 0;
    for (std::size_t i = first_; i < sizes_.size(); ++i) {
      const auto piece = layout_.piece(i, rank);
      if (!piece) break;
      if (by_place_) held.pieces.push_back(static_cast<std::int64_t>(i));
      held.pieces.push_back(sizes_[i]);
      held.pieces.push_back(piece->elements);
      held.bytes += 2 * sizes_[i];
      largest = std::max(largest, piece->elements);
    }
    held.bytes += 8 * largest;
    held.pieces.push_back(-1);
  }

 private:
  const std::vector<std::int64_t>& sizes_;
  FlatLayout layout_;
  bool by_place_;
  std::size_t first_ = 0;
};

/// At most kMostClasses, each led by the one that needs most of those it takes in.
std::vector<torch::RankClass> fewer(std::vector<torch::RankClass> classes) {
  if (classes.size() <= kMostClasses) return classes;
  std::vector<torch::RankClass> found(kMostClasses);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<int>& ranks = found[i * kMostClasses / classes.size()].ranks;
    ranks.insert(ranks.end(), classes[i].ranks.begin(), classes[i].ranks.end());
  }
  return found;
}

}  // namespace

Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const DsConfig& ds_config) {
  return rank_classes(config, recipe, ds_config,
                      [](family::PretrainedModel&) { return std::vector<ghost::Tensor>(); });
}

Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const DsConfig& ds_config,
                                                   const SecondGroup& second_group) {
  const std::int64_t ranks = recipe.layout.gpus;
  std::vector<torch::RankClass> found(1);
  if (ds_config.zero.stage != 1 && ds_config.zero.stage != 2) {
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      found.front().ranks.push_back(static_cast<int>(rank));
    return found;
  }
  if (recipe.layout.rank) {
    found.front().ranks = {static_cast<int>(*recipe.layout.rank)};
    return found;
  }
  const auto sizes = trained_sizes(config, recipe, second_group);
  if (!sizes) return tl::unexpected(sizes.error());
  std::vector<Partitions> groups;
  for (const std::vector<std::int64_t>& group : *sizes)
    groups.emplace_back(group, ranks, ranks <= kExactRanks);
  std::map<Held, torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Held held;
    for (Partitions& group : groups) group.add(rank, held);
    classes[held].ranks.push_back(static_cast<int>(rank));
  }
  found.clear();
  for (auto& [held, alike] : classes) found.push_back(std::move(alike));
  return fewer(std::move(found));
}

}  // namespace memtape::deepspeed
