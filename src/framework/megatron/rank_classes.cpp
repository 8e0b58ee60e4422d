// SPDX-License-Identifier: Apache-2.0
// Which ranks run alike. Stages differ in their layers, in their ends and in how many micro-batches
// they have in flight; where none of that differs they are one program, reported under the number
// of the first of them. Ranks of one stage differ in what the distributed optimizer gives them: a
// slice of each bucket, which begins and ends somewhere within parameters. Equal pieces make equal
// tapes, whichever parameters of a kind they are cut from. On hundreds of replicas nearly every
// slice is cut differently, though each holds the same number of elements; then one of a stage
// stands for all (--rank runs the very rank).
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

/// The layers of a stage and what stands before and behind them.
StageProgram layers_of(const Arguments& a, std::int64_t pp) {
  StageProgram program;
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

/// Passes that a stage begins before its first backward: schedules.py, get_pp_rank_microbatches.
/// What all stages have of them beside is left out.
std::int64_t in_flight(const Arguments& a, std::int64_t pp) {
  const std::int64_t behind = a.pp - 1 - pp;
  return a.vpp > 1 ? behind : std::min(a.num_microbatches, behind);
}

/// What a stage's program depends on.
StageProgram program_of(const Arguments& a, std::int64_t pp) {
  StageProgram program = layers_of(a, pp);
  program.push_back(in_flight(a, pp));
  return program;
}

/// Whether the first rank of a tensor parallel group runs another program than the others: it loads
/// more of a batch where the stage reads one, and counts what all of them hold.
bool has_first_tensor_rank(const Arguments& a, std::int64_t pp) {
  if (!a.pretrain_loop) return false;
  if (a.program != "pretrain_gpt.py" || a.counts_zeros || !a.fused_kernels) return true;
  return std::ranges::any_of(chunks_of(a, pp), [](const ChunkPlace& chunk) {
    return chunk.first || chunk.last || chunk.mtp;
  });
}

/// By stage.
std::vector<bool> first_tensor_ranks(const Arguments& a) {
  std::vector<bool> found;
  for (std::int64_t pp = 0; pp < a.pp; ++pp) found.push_back(has_first_tensor_rank(a, pp));
  return found;
}

/// The places that tapes tell apart, and the one of each rank.
struct PlacesOfRanks {
  std::vector<Place> places;           ///< by the first rank there
  std::vector<std::uint32_t> of_rank;  ///< indices of `places`
};

/// A rank's place as one number: what of it the tape depends on.
std::uint64_t key_of(const Arguments& a, const Place& place, bool has_first) {
  const bool sharded = a.use_distributed_optimizer || a.layer_wise;
  const auto part = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  std::uint64_t key = part(place.pp);
  key = key << 22U | part(sharded ? place.shard[0] : 0);
  key = key << 22U | part(sharded && a.ep > 1 ? place.shard[1] : 0);
  return key << 1U | part(has_first && place.tp > 0 ? 1 : 0);
}

PlacesOfRanks places_of_ranks(const Arguments& a, const std::vector<bool>& has_first) {
  const Places places(a);
  PlacesOfRanks found;
  found.of_rank.reserve(static_cast<std::size_t>(a.gpus));
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  std::optional<std::uint64_t> last;  // neighbours of a tensor parallel group mostly share theirs
  for (std::int64_t rank = 0; rank < a.gpus; ++rank) {
    const Place place = places.of(rank);
    const std::uint64_t key = key_of(a, place, has_first[static_cast<std::size_t>(place.pp)]);
    if (key == last) {
      found.of_rank.push_back(found.of_rank.back());
      continue;
    }
    last = key;
    const auto next = static_cast<std::uint32_t>(found.places.size());
    const auto [at, is_new] = known.try_emplace(key, next);
    if (is_new) found.places.push_back(place);
    found.of_rank.push_back(at->second);
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

/// What the optimizer makes tensors of, in the order of the buffers: of each piece that is not empty
/// its buffer, what the optimizer asks about its parameter (MegatronOptimizer::add_main), its size.
Pieces held_pieces(const std::vector<ParamAndGradBuffer>& buffers, const Pieces& pieces) {
  Pieces held;
  auto piece = pieces.begin();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (const Parameter& parameter : buffers[i].parameters) {
      const std::int64_t elements = *piece++;
      if (elements <= 0) continue;
      const int counted = parameter.copy || parameter.replica ? 0 : 1;
      const int kind = counted + (parameter.decays ? 2 : 0) + (parameter.matrix ? 4 : 0);
      held.insert(held.end(), {static_cast<std::int64_t>(i), kind, elements});
    }
  }
  return held;
}

/// Some of the places, by their indices.
using Group = std::vector<std::uint32_t>;

/// The places of one program and one end of its tensor parallel group, told apart by their pieces.
class StageClasses {
 public:
  StageClasses(const Arguments& a, const std::vector<Place>& all, Group group)
      : a_(a), all_(all), group_(std::move(group)) {}

  /// `asked`: a place whose rank must be run itself, if any.
  std::vector<Group> classes(std::optional<std::uint32_t> asked) const {
    if (!sharded()) return {group_};
    const bool runs_one = asked && std::ranges::find(group_, *asked) != group_.end();
    Rank rank(a_, 0);
    const Chunks chunks = make_chunks(rank, all_[group_.front()].pp);
    const std::vector<ParamAndGradBuffer> buffers = buffers_of(rank, chunks);
    const std::map<Pieces, Group> cuts = by_pieces(buffers);
    if (cuts.size() > kMostCuts && !runs_one) return {group_};
    std::map<Pieces, Group> alike;
    for (const auto& [pieces, places] : cuts) {
      Group& same = alike[a_.layer_wise ? pieces : held_pieces(buffers, pieces)];
      same.insert(same.end(), places.begin(), places.end());
    }
    std::vector<Group> groups;
    for (auto& [pieces, group] : alike) groups.push_back(std::move(group));
    return groups;
  }

 private:
  bool sharded() const {
    return (a_.use_distributed_optimizer || a_.layer_wise) && group_.size() > 1;
  }

  std::map<Pieces, Group> by_pieces(const std::vector<ParamAndGradBuffer>& buffers) const {
    std::map<std::array<std::int64_t, 2>, Group> by_shard;
    for (const std::uint32_t place : group_) by_shard[all_[place].shard].push_back(place);
    std::map<Pieces, Group> found;
    for (const auto& [shard, places] : by_shard) {
      Group& same = found[pieces_of(a_, buffers, all_[places.front()])];
      same.insert(same.end(), places.begin(), places.end());
    }
    return found;
  }

  const Arguments& a_;
  const std::vector<Place>& all_;
  Group group_;
};

/// By stage: the first one of which `what` is the same.
std::vector<std::size_t> first_alike(const Arguments& a,
                                     StageProgram (*what)(const Arguments&, std::int64_t)) {
  std::map<StageProgram, std::size_t> known;
  std::vector<std::size_t> found;
  for (std::int64_t pp = 0; pp < a.pp; ++pp)
    found.push_back(known.try_emplace(what(a, pp), found.size()).first->second);
  return found;
}

/// The places by their program, each group in the order of ranks.
std::vector<Group> by_program(const Arguments& a, const std::vector<Place>& places,
                              const std::vector<bool>& has_first) {
  const std::vector<std::size_t> program = first_alike(a, program_of);
  std::vector<std::array<Group, 2>> found(program.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const auto pp = static_cast<std::size_t>(places[i].pp);
    found[program[pp]][has_first[pp] && places[i].tp > 0 ? 1 : 0].push_back(i);
  }
  std::vector<Group> groups;
  for (std::array<Group, 2>& ends : found)
    for (Group& group : ends)
      if (!group.empty()) groups.push_back(std::move(group));
  return groups;
}

/// The ranks of each group, the groups by their first.
std::vector<torch::RankClass> classes_of(const Arguments& a, const PlacesOfRanks& all,
                                         const std::vector<Group>& groups) {
  const std::vector<std::size_t> layers = first_alike(a, layers_of);
  std::vector<std::size_t> group_of(all.places.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const std::uint32_t place : groups[i]) group_of[place] = i;
  std::vector<torch::RankClass> found(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::int64_t pp = all.places[std::ranges::min(groups[i])].pp;
    found[i].stage = static_cast<int>(pp);
    found[i].layers_alike = static_cast<int>(layers[static_cast<std::size_t>(pp)]);
    found[i].in_flight = in_flight(a, pp);
  }
  for (std::size_t rank = 0; rank < all.of_rank.size(); ++rank)
    found[group_of[all.of_rank[rank]]].ranks.push_back(static_cast<int>(rank));
  std::ranges::sort(found, {}, [](const torch::RankClass& one) { return one.ranks.front(); });
  return found;
}

}  // namespace

Result<std::vector<torch::RankClass>> rank_classes(const TrainRecipe& recipe,
                                                   const Arguments& arguments) {
  const ghost::Session session({}, recipe.release);
  const std::vector<bool> has_first = first_tensor_ranks(arguments);
  const PlacesOfRanks all = places_of_ranks(arguments, has_first);
  std::optional<std::uint32_t> asked;
  if (recipe.layout.rank) asked = all.of_rank.at(static_cast<std::size_t>(*recipe.layout.rank));
  std::vector<Group> groups;
  for (Group& group : by_program(arguments, all.places, has_first))
    for (Group& one : StageClasses(arguments, all.places, std::move(group)).classes(asked))
      groups.push_back(std::move(one));
  return classes_of(arguments, all, groups);
}

}  // namespace memtape::megatron
