// SPDX-License-Identifier: Apache-2.0
// Which ranks run alike. Ranks of one stage differ in what the distributed optimizer gives them: a
// slice of each bucket, which begins and ends somewhere within parameters. Equal pieces make equal
// tapes. On hundreds of replicas nearly every slice is cut differently, though each holds the same
// number of elements; then one of a stage stands for all (--rank runs the very rank).
#include <algorithm>
#include <map>
#include <unordered_map>

#include "framework/megatron/chunks.h"
#include "framework/megatron/place.h"
#include "framework/megatron/pretrain.h"

namespace memtape::megatron {
namespace {

/// More ways to cut a stage's buffers than this are not told apart.
constexpr std::size_t kMostCuts = 8;

using Pieces = std::vector<std::int64_t>;

/// Ranks that stand at the same place.
struct Alike {
  Place place;
  std::vector<int> ranks;
};

/// A rank's place as one number: what of it the tape depends on.
std::uint64_t key_of(const Arguments& a, const Place& place) {
  const bool sharded = a.use_distributed_optimizer;
  const auto part = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  std::uint64_t key = part(place.pp);
  key = key << 22U | part(sharded ? place.shard[0] : 0);
  key = key << 22U | part(sharded && a.ep > 1 ? place.shard[1] : 0);
  return key << 1U | part(a.pretrain_loop && place.tp > 0 ? 1 : 0);
}

std::vector<Alike> by_place(const Arguments& a) {
  const Places places(a);
  std::vector<Alike> found;
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (std::int64_t rank = 0; rank < a.gpus; ++rank) {
    const Place place = places.of(rank);
    const auto [at, is_new] = known.try_emplace(key_of(a, place), found.size());
    if (is_new) found.push_back({place, {}});
    found[at->second].ranks.push_back(static_cast<int>(rank));
  }
  return found;
}

/// How many elements of each parameter this place's optimizer holds.
Pieces pieces_of(const std::vector<ParamAndGradBuffer>& buffers, const Place& place) {
  Pieces pieces;
  for (const ParamAndGradBuffer& buffer : buffers) {
    const std::int64_t shard = place.shard[buffer.parameters.front().expert ? 1 : 0];
    for (const Range& held : shards(buffer.layout, buffer.options.ranks, shard))
      pieces.push_back(held.to - held.from);
  }
  return pieces;
}

void join(torch::RankClass& into, const std::vector<int>& ranks) {
  into.ranks.insert(into.ranks.end(), ranks.begin(), ranks.end());
  std::sort(into.ranks.begin(), into.ranks.end());
}

/// The places of one stage and one end of its tensor parallel group, told apart by their pieces.
class StageClasses {
 public:
  StageClasses(const Arguments& a, std::vector<const Alike*> places)
      : a_(a), places_(std::move(places)) {}

  /// `asked`: a rank that must be run itself, if any.
  std::vector<torch::RankClass> classes(std::optional<std::int64_t> asked) const {
    std::map<Pieces, torch::RankClass> found;
    const std::vector<ParamAndGradBuffer> buffers = make();
    for (const Alike* alike : places_) {
      torch::RankClass& one = found[sharded() ? pieces_of(buffers, alike->place) : Pieces{}];
      join(one, alike->ranks);
      one.stage = static_cast<int>(alike->place.pp);
    }
    std::vector<torch::RankClass> all;
    for (auto& [pieces, one] : found) all.push_back(std::move(one));
    const bool runs_one = asked && std::ranges::any_of(all, [&](const torch::RankClass& one) {
                            return std::ranges::binary_search(one.ranks, static_cast<int>(*asked));
                          });
    return all.size() <= kMostCuts || runs_one ? all : std::vector{merged(std::move(all))};
  }

 private:
  bool sharded() const { return a_.use_distributed_optimizer && places_.size() > 1; }

  std::vector<ParamAndGradBuffer> make() const {
    if (!sharded()) return {};
    Rank rank(a_, 0);
    const Chunks chunks = make_chunks(rank, places_.front()->place.pp);
    return buffers_of(a_, chunks);
  }

  /// One class, whose last rank is the one that is run: it comes first.
  static torch::RankClass merged(std::vector<torch::RankClass> all) {
    torch::RankClass one = std::move(all.front());
    for (std::size_t i = 1; i < all.size(); ++i)
      one.ranks.insert(one.ranks.end(), all[i].ranks.begin(), all[i].ranks.end());
    std::sort(one.ranks.begin(), one.ranks.end());
    return one;
  }

  const Arguments& a_;
  std::vector<const Alike*> places_;
};

}  // namespace

Result<std::vector<torch::RankClass>> rank_classes(const Config& config,
                                                   const TrainRecipe& recipe) {
  const Result<Arguments> arguments = read_arguments(config, recipe);
  if (!arguments) return tl::unexpected(arguments.error());
  const ghost::Session session{ghost::DeviceTraits{}};
  const std::vector<Alike> places = by_place(*arguments);
  std::map<std::pair<std::int64_t, bool>, std::vector<const Alike*>> stages;
  for (const Alike& alike : places)
    stages[{alike.place.pp, arguments->pretrain_loop && alike.place.tp > 0}].push_back(&alike);
  std::vector<torch::RankClass> found;
  for (auto& [stage, alike] : stages)
    for (torch::RankClass& one :
         StageClasses(*arguments, std::move(alike)).classes(recipe.layout.rank))
      found.push_back(std::move(one));
  return found;
}

}  // namespace memtape::megatron
