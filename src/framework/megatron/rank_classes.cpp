// SPDX-License-Identifier: Apache-2.0
// Which ranks run alike. Stages differ in their layers, in their ends and in how many micro-batches
// they have in flight; where none of that differs they are one program, reported under the number
// of the first of them. Ranks of one stage differ in what the distributed optimizer gives them: a
// slice of each bucket, which begins and ends somewhere within parameters. Equal pieces make equal
// tapes. On hundreds of replicas nearly every slice is cut differently, though each holds the same
// number of elements; then one of a stage stands for all (--rank runs the very rank).
#include <algorithm>
#include <array>
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
using StageProgram = std::vector<std::int64_t>;

/// What a stage's program depends on.
StageProgram program_of(const Arguments& a, std::int64_t pp) {
  const bool turns = a.vpp > 1;  // interleaved: each rank has a table of its own
  StageProgram program{turns ? pp : std::min(a.num_microbatches, a.pp - 1 - pp)};
  for (const ChunkPlace& chunk : chunks_of(a, pp)) {
    program.push_back(chunk.first + 2 * chunk.last + 4 * chunk.mtp + 8 * chunk.final_norm);
    program.push_back(chunk.layers);
    const auto to = static_cast<std::size_t>(chunk.first_layer + chunk.layers);
    for (auto i = static_cast<std::size_t>(chunk.first_layer); i < to; ++i)
      program.push_back(!a.hybrid_layers.empty()  ? a.hybrid_layers[i]
                        : i < a.moe.layers.size() ? a.moe.layers[i]
                                                  : 0);
  }
  return program;
}

/// Ranks that stand at the same place.
struct Alike {
  Place place;
  std::vector<int> ranks;
};

/// A rank's place as one number: what of it the tape depends on.
std::uint64_t key_of(const Arguments& a, const Place& place) {
  const bool sharded = a.use_distributed_optimizer || a.layer_wise;
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
  known.reserve(static_cast<std::size_t>(std::min<std::int64_t>(a.gpus, 1 << 14)));
  for (std::int64_t rank = 0; rank < a.gpus; ++rank) {
    const Place place = places.of(rank);
    const auto [at, is_new] = known.try_emplace(key_of(a, place), found.size());
    if (is_new) found.push_back({place, {}});
    found[at->second].ranks.push_back(static_cast<int>(rank));
  }
  return found;
}

/// How many elements of each parameter this place's optimizer holds.
Pieces pieces_of(const Arguments& a, const std::vector<ParamAndGradBuffer>& buffers,
                 const Place& place) {
  if (a.layer_wise) return {place.shard[0], place.shard[1]};
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
}

/// The places of one program and one end of its tensor parallel group, told apart by their pieces.
class StageClasses {
 public:
  StageClasses(const Arguments& a, std::vector<const Alike*> places)
      : a_(a), places_(std::move(places)) {}

  /// `asked`: a rank that must be run itself, if any.
  std::vector<torch::RankClass> classes(std::optional<std::int64_t> asked) const {
    std::vector<torch::RankClass> all = by_pieces();
    for (torch::RankClass& one : all) std::ranges::sort(one.ranks);
    const bool runs_one = asked && std::ranges::any_of(all, [&](const torch::RankClass& one) {
                            return std::ranges::binary_search(one.ranks, static_cast<int>(*asked));
                          });
    return all.size() <= kMostCuts || runs_one ? all : std::vector{merged(std::move(all))};
  }

 private:
  bool sharded() const {
    return (a_.use_distributed_optimizer || a_.layer_wise) && places_.size() > 1;
  }

  std::vector<ParamAndGradBuffer> make() const {
    if (!sharded()) return {};
    Rank rank(a_, 0);
    const Chunks chunks = make_chunks(rank, places_.front()->place.pp);
    return buffers_of(rank, chunks);
  }

  std::vector<torch::RankClass> by_pieces() const {
    const int stage = static_cast<int>(places_.front()->place.pp);
    std::map<std::array<std::int64_t, 2>, std::vector<const Alike*>> by_shard;
    for (const Alike* alike : places_)
      by_shard[sharded() ? alike->place.shard : std::array<std::int64_t, 2>{}].push_back(alike);
    std::map<Pieces, torch::RankClass> found;
    const std::vector<ParamAndGradBuffer> buffers = make();
    for (const auto& [shard, alike] : by_shard) {
      torch::RankClass& one =
          found[sharded() ? pieces_of(a_, buffers, alike.front()->place) : Pieces{}];
      one.stage = stage;
      for (const Alike* each : alike) join(one, each->ranks);
    }
    std::vector<torch::RankClass> all;
    for (auto& [pieces, one] : found) all.push_back(std::move(one));
    return all;
  }

  /// One class, of which the first rank is run.
  static torch::RankClass merged(std::vector<torch::RankClass> all) {
    torch::RankClass one = std::move(all.front());
    for (std::size_t i = 1; i < all.size(); ++i) join(one, all[i].ranks);
    std::ranges::sort(one.ranks);
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
  std::vector<StageProgram> programs;
  for (std::int64_t pp = 0; pp < arguments->pp; ++pp)
    programs.push_back(program_of(*arguments, pp));
  std::map<std::pair<StageProgram, bool>, std::vector<const Alike*>> stages;
  for (const Alike& alike : places)
    stages[{programs[static_cast<std::size_t>(alike.place.pp)],
            arguments->pretrain_loop && alike.place.tp > 0}]
        .push_back(&alike);
  std::vector<torch::RankClass> found;
  for (auto& [stage, alike] : stages)
    for (torch::RankClass& one :
         StageClasses(*arguments, std::move(alike)).classes(recipe.layout.rank))
      found.push_back(std::move(one));
  std::ranges::sort(found, {}, [](const torch::RankClass& one) { return one.ranks.front(); });
  return found;
}

}  // namespace memtape::megatron
