// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's space. What divides and what does not is asked of its own arguments
// (framework/megatron/arguments), once for each pair of sizes that depend on each other.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/dialects.h"
#include "framework/megatron/arguments.h"
#include "framework/megatron/layers_per_stage.h"
#include "framework/megatron/step_habits.h"
#include "plan/layer_cost.h"
#include "plan/spaces.h"
#include "workload/train_options.h"

namespace memtape::plan {
namespace {

constexpr auto kMegatronOrder = std::to_array<Axis>(
    {Axis::tp, Axis::cp, Axis::pp, Axis::vpp, Axis::ep, Axis::etp, Axis::dp, Axis::zero,
     Axis::micro_batch, Axis::checkpointing, Axis::modules, Axis::layers});
/// A ring of keys and values cuts a sequence into two pieces a rank; with fewer tokens than these
/// a piece would be less than a tile of the attention kernels (128 rows).
constexpr std::int64_t kMegatronLeastTokens = 256;
constexpr std::int64_t kMegatronMostMicroBatch = 16;
/// Messages that travel under the computation, as Megatron-LM's own examples and Megatron-Bridge's
/// recipes have it.
constexpr const char* kOverlap =
    R"("ddp": {"overlap_grad_reduce": true, "overlap_param_gather": true})";

class MegatronSpace : public Space {
 public:
  using Space::Space;

  std::span<const Axis> axes() const override { return kMegatronOrder; }

  std::vector<std::int64_t> values(Axis axis, const Candidate& c) const override {
    const Sizes& s = c.sizes;
    const bool has_experts = job_.facts.experts > 0;
    switch (axis) {
      case Axis::tp: return divisors(job_.gpus, job_.per_node);
      case Axis::cp:
        return divisors(job_.gpus / s.tp,
                        std::max<std::int64_t>(1, job_.sequence / kMegatronLeastTokens));
      case Axis::pp: return stages(job_.gpus / (s.tp * s.cp));
      case Axis::vpp: return chunks(s);
      case Axis::ep: return has_experts ? divisors(job_.facts.experts, job_.gpus / s.pp) : one();
      case Axis::etp:
        if (!has_experts || s.tp == 1) return {has_experts ? 1 : s.tp};
        return {1, s.tp};
      case Axis::dp: return {s.dp};
      case Axis::zero: return {s.dp * s.cp > 1 ? 1 : 0};
      case Axis::micro_batch: return micro_batches(job_, c, kMegatronMostMicroBatch);
      case Axis::checkpointing:
        return {number(Checkpointing::none), number(Checkpointing::selective),
                number(Checkpointing::full)};
      case Axis::modules:
        // Elsewhere they are tried where nothing made again does not fit.
        return keeps_all_at_first(c) ? std::vector<std::int64_t>{0} : selections(c);
      case Axis::layers: return {0};
      default: return one();
    }
  }

  std::string refuses(Axis axis, const Candidate& c) const override {
    const Sizes& s = c.sizes;
    switch (axis) {
      case Axis::tp: return asked({.tp = s.tp});
      case Axis::cp: return asked({.tp = s.tp, .cp = s.cp});
      case Axis::pp:
        if (job_.gpus % (s.tp * s.cp * s.pp) != 0)
          return fmt::format(
              "--tp {} x --cp {} x --pp {} do not divide --gpus {}: a multiple of {} would do",
              s.tp, s.cp, s.pp, job_.gpus, s.tp * s.cp * s.pp);
        // Virtual stages may divide what stages alone do not.
        return job_.pins.of(Axis::vpp) ? "" : splits_at_all(s.pp);
      case Axis::vpp: return asked({.pp = s.pp, .vpp = s.vpp});
      case Axis::ep: return refuses_experts(s, 1);
      case Axis::etp: return refuses_experts(s, s.etp);
      case Axis::dp:
        if (s.dp * s.tp * s.cp * s.pp == job_.gpus) return {};
        return fmt::format("--dp {} x --tp {} x --cp {} x --pp {} are not --gpus {}", s.dp, s.tp,
                           s.cp, s.pp, job_.gpus);
      case Axis::micro_batch: return refuses_micro_batch(c);
      case Axis::checkpointing: return refuses_checkpointing(c);
      case Axis::modules:
        if (c.modules.empty() || can_make_again(c)) return {};
        return fmt::format("the model has not all of the modules {}", c.modules);
      case Axis::layers: return refuses_layers(c);
      default: return {};
    }
  }

  NamedValues layout(const Candidate& c) const override {
    const Sizes& s = c.sizes;
    NamedValues options{{"framework", std::string(job_.recipe.framework->name)}};
    const auto add = [&](const char* name, std::int64_t n) {
      options.emplace_back(name, fmt::format("{}", n));
    };
    add("gpus", s.gpus);
    add("tp", s.tp);
    if (s.tp > 1) add("sp", s.tp);
    add("cp", s.cp);
    add("pp", s.pp);
    if (s.vpp > 1 && uneven(s).empty()) add("vpp", s.vpp);
    if (job_.facts.experts > 0) add("ep", s.ep);
    if (job_.facts.experts > 0) add("etp", s.etp);
    add("zero", s.zero);
    add("micro-batch-size", s.micro_batch);
    add("global-batch-size", job_.global_batch);
    add("sequence-length", job_.sequence);
    options.emplace_back("gradient-checkpointing", name(c.checkpointing));
    if (job_.half() != "bf16" && !job_.says("precision"))
      options.emplace_back("precision", job_.half());
    if (std::string said = strategy(c); !said.empty()) options.emplace_back("strategy", said);
    return options;
  }

  NamedValues habits() const override {
    if (job_.says("strategy")) return {};
    return {{"strategy", fmt::format("{{{}}}", kOverlap)}};
  }

  std::vector<Candidate> lighter(const Candidate& c, double lacking) const override {
    std::vector<Candidate> found;
    if (const auto with = with_layers_again(c, lacking)) found.push_back(*with);
    if (c.checkpointing != Checkpointing::none || !may_be(Checkpointing::selective)) return found;
    for (const std::string_view modules : dialect_of(c.framework).time.selections) {
      Candidate with = c;
      with.checkpointing = Checkpointing::selective;
      with.modules = modules;
      if (can_make_again(with)) found.push_back(with);
    }
    return found;
  }

  std::string_view left_out() const override {
    return "offloaded optimizers and activations, exchanges of tokens behind computation";
  }

  /// bf16 parameters, float32 gradients, and what the distributed optimizer holds of a parameter
  /// (docs/megatron.md: 6 + 12 / d); some stage holds at least its share.
  double floor(const Candidate& c) const override {
    const Sizes& s = c.sizes;
    const auto share = [&](std::int64_t parameters, std::int64_t parts, std::int64_t replicas) {
      return static_cast<double>(parameters) / static_cast<double>(parts) * bytes_each(s, replicas);
    };
    const std::int64_t experts = job_.facts.expert_parameters();
    const std::int64_t replicas = std::max<std::int64_t>(1, s.gpus / (s.ep * s.etp * s.pp));
    return (share(job_.facts.shared_parameters(), s.tp, s.dp * s.cp) +
            share(experts, s.ep * s.etp, replicas)) /
           static_cast<double>(s.pp);
  }

  double close_floor(const Candidate& c) const override {
    return fullest_stage(c, {.load = LayerCosts::Load::as_asked}).bytes;
  }

  void prepare(std::span<const Candidate> candidates, const Workers& workers) const override {
    costs_.measure(candidates, kinds(), workers);
  }

  std::optional<int> likely_stage(const Candidate& c) const override {
    return fullest_stage(c, {.load = LayerCosts::Load::as_asked}).stage;
  }

  /// What twice the share of tokens keeps, and, where the program does what is not modelled, as
  /// much again as a step adds (widen_by_routing, widen_by_not_modelled).
  double upper_floor(const Candidate& c) const override {
    const bool spreads = job_.facts.experts > 0 && c.sizes.ep > 1;
    const bool is_twice = spreads && job_.recipe.expert_load.is_balanced();
    return fullest_stage(c,
                         {.load = is_twice ? LayerCosts::Load::twice : LayerCosts::Load::as_asked,
                          .adds_step = !settled_.not_modelled.empty()})
        .bytes;
  }

 private:
  struct Sample {
    std::int64_t tp = 1, cp = 1, pp = 1, vpp = 1, ep = 1, etp = 1;
    auto operator<=>(const Sample&) const = default;
  };

  using Stages = std::vector<std::vector<std::int64_t>>;
  struct Asked {
    std::string refusal;
    Stages stage_layers;
    std::string uneven;  ///< the layout in letters, where stages are not all the same
  };

  static std::vector<std::int64_t> one() { return {1}; }

  bool may_be(Checkpointing wanted) const {
    const auto* pinned = job_.pins.of(Axis::checkpointing);
    return !pinned || std::ranges::find(*pinned, number(wanted)) != pinned->end();
  }

  /// Of a stage, or of a virtual one: no more can be made again.
  std::int64_t most_layers(const Sizes& s) const {
    std::int64_t most = 0;
    for (const auto& chunks : stages_of(s.pp, s.vpp))
      most = std::max(most, std::ranges::max(chunks));
    return most;
  }

  /// --recompute-method block. All layers again are full recomputation.
  std::string refuses_layers(const Candidate& c) const {
    if (c.layers_again == 0) return {};
    if (c.checkpointing != Checkpointing::full)
      return "--recompute-num-layers goes with --gradient-checkpointing full";
    if (job_.says("strategy")) return "--recompute-num-layers is said by --strategy, too";
    if (c.layers_again < most_layers(c.sizes)) return {};
    return fmt::format("--recompute-num-layers {} makes all of a stage's {} layers again: 0",
                       c.layers_again, most_layers(c.sizes));
  }

  /// With the fewest layers more made again that may free so many bytes, and by steps of a quarter,
  /// each of which is run, where they turn out to be too few.
  std::optional<Candidate> with_layers_again(const Candidate& c, double lacking) const {
    const bool is_some = c.checkpointing == Checkpointing::full && c.layers_again > 0;
    if (!is_some && c.checkpointing != Checkpointing::none) return std::nullopt;
    if (!may_be(Checkpointing::full) || job_.pins.of(Axis::layers)) return std::nullopt;
    Candidate with = c;
    with.checkpointing = Checkpointing::full;
    const double freed = std::max(1.0, freed_by_layer(c));
    const auto more = static_cast<std::int64_t>(std::min(lacking / freed, 1e6));
    with.layers_again += std::max({std::int64_t{1}, c.layers_again / 4, more});
    const auto room = static_cast<double>(job_.device_bytes);
    while (refuses_layers(with).empty() && close_floor(with) > room) ++with.layers_again;
    return refuses_layers(with).empty() ? std::optional(with) : std::nullopt;
  }

  /// What one more layer made again frees at the most, on the rank with the most in flight.
  double freed_by_layer(const Candidate& c) const {
    double kept = 0.0;
    for (const LayerCosts::Kind kind : kinds())
      if (const auto cost = costs_.of(c, kind, LayerCosts::Load::as_asked))
        kept = std::max(kept, cost->kept);
    const std::vector<std::int64_t> one_each(static_cast<std::size_t>(c.sizes.vpp), 1);
    return kept * layers_in_flight(c.sizes, 0, one_each);
  }

  std::vector<LayerCosts::Kind> kinds() const {
    std::vector<LayerCosts::Kind> found;
    if (job_.facts.experts > 0) found.push_back(LayerCosts::Kind::experts);
    if (job_.facts.expert_layers < job_.facts.layers) found.push_back(LayerCosts::Kind::dense);
    return found;
  }

  /// Whether such a layout without recomputation is a candidate, too.
  bool keeps_all_at_first(const Candidate& c) const {
    const auto* pinned = job_.pins.of(Axis::checkpointing);
    return c.checkpointing != Checkpointing::selective || !pinned ||
           std::ranges::find(*pinned, number(Checkpointing::none)) != pinned->end();
  }

  std::vector<std::int64_t> selections(const Candidate& c) const {
    const auto& all = dialect_of(c.framework).time.selections;
    std::vector<std::int64_t> found{0};
    for (std::size_t i = 0; i < all.size(); ++i) {
      Candidate with = c;
      with.modules = all[i];
      if (can_make_again(with)) found.push_back(static_cast<std::int64_t>(i) + 1);
    }
    return found;
  }

  /// Whether the model has the modules, in kernels of their own.
  bool can_make_again(const Candidate& c) const {
    if (c.checkpointing != Checkpointing::selective || job_.says("strategy")) return false;
    time::Recompute parts;
    parts.add_modules(c.modules);
    const ModelFacts& facts = job_.facts;
    const bool has_experts = facts.experts > 0;
    return (has_experts || !(parts.moe || parts.moe_act)) &&
           (facts.has_shared_experts || !parts.shared_experts) &&
           (facts.has_latent_attention || !parts.mla_up) &&
           (facts.expert_layers < facts.layers || !parts.mlp);
  }

  const std::string& uneven(const Sizes& s) const {
    return look_up({.pp = s.pp, .vpp = s.vpp}).uneven;
  }

  std::string strategy(const Candidate& c) const {
    if (job_.says("strategy")) return {};
    std::vector<std::string> members;
    if (c.sizes.zero == 1) members.emplace_back(kOverlap);
    if (const std::string& layout = uneven(c.sizes); !layout.empty())
      members.push_back(layout_member(layout));
    if (!c.modules.empty()) members.push_back(megatron::recompute_modules_member(c.modules));
    if (c.layers_again > 0) members.push_back(megatron::recompute_layers_members(c.layers_again));
    if (members.empty()) return {};
    return fmt::format("{{{}}}", fmt::join(members, ", "));
  }

  static std::string layout_member(std::string_view layout) {
    return fmt::format(R"("pipeline_model_parallel_layout": "{}")", layout);
  }

  const Stages& stages_of(std::int64_t pp, std::int64_t vpp) const {
    return look_up({.pp = pp, .vpp = vpp}).stage_layers;
  }

  /// 1F1B: a stage starts as many micro-batches as there are stages behind it before its first
  /// backward; interleaved it starts chunks, each for as many micro-batches as there are stages
  /// before the next (schedules.py, get_pp_rank_microbatches and get_model_chunk_id).
  static double layers_in_flight(const Sizes& s, std::int64_t stage,
                                 const std::vector<std::int64_t>& chunks) {
    const std::int64_t behind = s.pp - 1 - stage;
    if (s.vpp == 1)
      return static_cast<double>(chunks.front() * std::min(s.micro_batches, behind + 1));
    const std::int64_t started =
        std::min(s.micro_batches * s.vpp, behind * 2 + (s.vpp - 1) * s.pp + 1);
    std::int64_t layers = 0;
    for (std::int64_t pass = 0; pass < started; ++pass)
      layers += chunks[static_cast<std::size_t>(pass / s.pp % s.vpp)];
    return static_cast<double>(layers);
  }

  struct Counted {
    LayerCosts::Load load;
    bool adds_step = false;  ///< what an even share keeps counts once more
  };

  struct FullestStage {
    std::optional<int> stage;
    double bytes = 0.0;
  };

  /// Its layers, and what the micro-batches in flight keep of them.
  FullestStage fullest_stage(const Candidate& c, const Counted& counted) const {
    const Stages& stages = stages_of(c.sizes.pp, c.sizes.vpp);
    FullestStage fullest{.stage = {}, .bytes = floor(c)};
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      const double bytes = stage_floor(c, stages, static_cast<std::int64_t>(stage), counted);
      if (bytes > fullest.bytes) fullest = {static_cast<int>(stage), bytes};
    }
    return fullest;
  }

  struct Stage {
    std::int64_t layers = 0;
    double in_flight = 0.0;   ///< layers of micro-batches that keep what layers keep
    double made_again = 0.0;  ///< and those that keep their input alone
    double ends = 0.0;        ///< how much of embedding and head it has
    bool has_loss = false;
  };
  /// What stays, and what a step adds.
  struct Floor {
    double held = 0.0, rise = 0.0;
  };

  double rise_of(const Candidate& c, const LayerCost& cost, const Stage& stage) const {
    const double input = 2.0 * static_cast<double>(c.sizes.micro_batch * job_.sequence) *
                         static_cast<double>(job_.facts.hidden) /
                         static_cast<double>(c.sizes.cp * c.sizes.tp);
    return stage.in_flight * cost.kept + stage.made_again * input +
           (stage.has_loss ? cost.beside : 0.0);
  }

  /// As if all layers were of one kind.
  std::optional<Floor> floor_of(const Candidate& c, LayerCosts::Kind kind, const Stage& stage,
                                const Counted& counted) const {
    const Sizes& s = c.sizes;
    const auto even = costs_.of(c, kind, LayerCosts::Load::as_asked);
    if (!even) return std::nullopt;
    const bool has_experts = kind == LayerCosts::Kind::experts;
    const auto of_experts = has_experts
                                ? static_cast<double>(job_.facts.experts * 3 * job_.facts.hidden *
                                                      job_.facts.expert_ffn / (s.ep * s.etp))
                                : 0.0;
    const double others = std::max(0.0, static_cast<double>(even->parameters) - of_experts);
    const auto layers = static_cast<double>(stage.layers);
    Floor floor;
    floor.held = (layers * others + stage.ends * static_cast<double>(even->other_parameters)) *
                     bytes_each(s, s.dp * s.cp) +
                 layers * of_experts * bytes_each(s, s.gpus / (s.ep * s.etp * s.pp));
    const double rise = rise_of(c, *even, stage);
    floor.rise = counted.adds_step ? 2.0 * rise : rise;
    if (counted.load == LayerCosts::Load::twice && has_experts)
      if (const auto more = costs_.of(c, kind, counted.load))
        floor.rise += std::max(0.0, rise_of(c, *more, stage) - rise);
    return floor;
  }

  double stage_floor(const Candidate& c, const Stages& stages, std::int64_t at,
                     const Counted& counted) const {
    const Sizes& s = c.sizes;
    const auto& chunks = stages[static_cast<std::size_t>(at)];
    const bool has_loss = at + 1 == s.pp;
    const auto kept = [&c](std::int64_t n) {
      return std::max<std::int64_t>(0, n - c.layers_again);
    };
    std::vector<std::int64_t> keeping;
    std::ranges::transform(chunks, std::back_inserter(keeping), kept);
    const double in_flight = layers_in_flight(s, at, keeping);
    const Stage stage{.layers = std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}),
                      .in_flight = in_flight,
                      .made_again = layers_in_flight(s, at, chunks) - in_flight,
                      .ends = s.pp == 1 ? 1.0 : (at == 0 || has_loss ? 0.5 : 0.0),
                      .has_loss = has_loss};
    // Dense layers come first; where a stage has both kinds, the smaller counts for all.
    const std::int64_t dense_ones = job_.facts.layers - job_.facts.expert_layers;
    std::vector<LayerCosts::Kind> kinds;
    if (job_.facts.experts > 0 && (at > 0 || stage.layers > dense_ones))
      kinds.push_back(LayerCosts::Kind::experts);
    if (job_.facts.experts == 0 || (at == 0 && dense_ones > 0))
      kinds.push_back(LayerCosts::Kind::dense);
    std::optional<Floor> least;
    for (const LayerCosts::Kind kind : kinds) {
      const std::optional<Floor> one = floor_of(c, kind, stage, counted);
      if (!one) return 0.0;
      if (!least) least = *one;
      least->held = std::min(least->held, one->held);
      least->rise = std::min(least->rise, one->rise);
    }
    return least ? least->held + least->rise : 0.0;
  }

  /// Of a parameter: bf16 and a float32 gradient, and this rank's part of copy and states.
  double bytes_each(const Sizes& s, std::int64_t replicas) const {
    if (job_.recipe.lora) return 2.0;  // frozen, but for the adapters
    if (job_.says("strategy")) return 4.0;
    return 6.0 +
           (s.zero == 1 ? 12.0 / static_cast<double>(std::max<std::int64_t>(1, replicas)) : 12.0);
  }

  /// What Megatron's arguments say of these sizes, the others being as small as they can be.
  const std::string& asked(const Sample& sample) const { return look_up(sample).refusal; }

  const Asked& look_up(const Sample& sample) const {
    const auto [at, is_new] = asked_.try_emplace(sample);
    if (!is_new) return at->second;
    TrainRecipe recipe = job_.recipe;
    LayoutRecipe& layout = recipe.layout;
    layout.tp = sample.tp, layout.cp = sample.cp, layout.pp = sample.pp;
    if (sample.tp > 1) layout.sp = sample.tp;
    if (sample.vpp > 1) layout.vpp = sample.vpp;
    if (sample.ep > 1) layout.ep = sample.ep;
    if (job_.facts.experts > 0) layout.etp = sample.etp;
    layout.gpus = std::lcm(sample.tp * sample.cp, sample.ep * sample.etp) * sample.pp;
    recipe.sequence_length = job_.sequence;
    recipe.gradient_accumulation = sample.pp;  // enough for any schedule
    recipe.names_gradient_accumulation = true;
    recipe.global_batch_size.reset();
    Asked& found = at->second;
    auto arguments = megatron::read_arguments(job_.config, recipe);
    if (!arguments && sample.pp > 1 && !job_.says("strategy")) {
      found.uneven = megatron::layout_of_ends(job_.facts.layers, sample.pp * sample.vpp);
      const std::string said = "{" + layout_member(found.uneven) + "}";
      if (!found.uneven.empty() && recipe.framework->strategy(said, recipe))
        if (auto uneven = megatron::read_arguments(job_.config, recipe)) arguments = uneven;
    }
    if (!arguments)
      found.refusal = in_our_words(arguments.error().line());
    else
      found.stage_layers = arguments->stage_layers;
    return found;
  }

  /// Megatron-LM's sizes by the names that they go by here.
  static std::string in_our_words(std::string text) {
    constexpr auto kNames = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"--expert-tensor-parallel-size", "--etp"},
         {"--expert-model-parallel-size", "--ep"},
         {"--tensor-model-parallel-size", "--tp"},
         {"--pipeline-model-parallel-size", "--pp"},
         {"--context-parallel-size", "--cp"},
         {"--num-virtual-stages-per-pipeline-rank", "--vpp"}});
    for (const auto& [theirs, ours] : kNames)
      for (std::size_t at = 0; (at = text.find(theirs, at)) != std::string::npos; at += ours.size())
        text.replace(at, theirs.size(), ours);
    return text;
  }

  std::vector<std::int64_t> stages(std::int64_t most) const {
    std::vector<std::int64_t> found;
    for (std::int64_t pp = 1; pp <= std::min(most, job_.facts.layers + 2); ++pp)
      if (most % pp == 0 && splits_at_all(pp).empty()) found.push_back(pp);
    return found;
  }

  /// Whether layers lie on so many stages, with virtual ones or without.
  std::string splits_at_all(std::int64_t pp) const {
    std::string first = asked({.pp = pp});
    if (first.empty()) return {};
    for (std::int64_t vpp = 2; pp > 1 && vpp * pp <= job_.facts.layers + 2; ++vpp)
      if (asked({.pp = pp, .vpp = vpp}).empty()) return {};
    return first;
  }

  std::vector<std::int64_t> chunks(const Sizes& s) const {
    std::vector<std::int64_t> found{1};
    for (std::int64_t vpp = 2; s.pp > 1 && vpp * s.pp <= job_.facts.layers + 2; ++vpp)
      if (asked({.pp = s.pp, .vpp = vpp}).empty()) found.push_back(vpp);
    return found;
  }

  std::string refuses_experts(const Sizes& s, std::int64_t etp) const {
    if (job_.facts.experts == 0) return asked({.ep = s.ep});
    if (job_.gpus % (etp * s.ep * s.pp) != 0)
      return fmt::format(
          "--etp {} x --ep {} x --pp {} do not divide --gpus {}: a multiple of {} would do", etp,
          s.ep, s.pp, job_.gpus, etp * s.ep * s.pp);
    return asked({.tp = etp > 1 ? etp : 1, .ep = s.ep, .etp = etp});
  }

  /// get_forward_backward_func's interleaved schedule takes micro-batches in whole groups of the
  /// pipeline's length.
  std::string refuses_micro_batch(const Candidate& c) const {
    const Sizes& s = c.sizes;
    if (std::string why = refuses_batch(job_, c); !why.empty()) return why;
    if (s.vpp > 1 && s.micro_batches % s.pp != 0)
      return fmt::format(
          "--vpp {} takes micro-batches in groups of --pp {}, of which {} are not "
          "whole ones",
          s.vpp, s.pp, s.micro_batches);
    return {};
  }

  /// TransformerConfig: whole layers made again, or some modules.
  std::string refuses_checkpointing(const Candidate& c) const {
    if (c.checkpointing == Checkpointing::full_reentrant || c.checkpointing == Checkpointing::layer)
      return "--gradient-checkpointing of Megatron-LM is none, selective or full";
    return {};
  }

  /// What the program makes of the options for this model, whatever the layout.
  const TrainRecipe settled_ = dialect_of(job_.recipe).settle(job_.recipe, job_.config);
  mutable std::map<Sample, Asked> asked_;
  const LayerCosts costs_{job_};
};

}  // namespace

std::unique_ptr<Space> megatron_space(const Job& job) {
  return std::make_unique<MegatronSpace>(job);
}

}  // namespace memtape::plan
