// SPDX-License-Identifier: Apache-2.0
#include "plan/layer_cost.h"

#include <algorithm>
#include <numeric>

#include "framework/megatron/step_habits.h"
#include "framework/torch/train_loop.h"
#include "ghost/device_traits.h"
#include "predict/program.h"
#include "predict/step_play.h"
#include "predict/step_summary.h"
#include "time/train_setup.h"

namespace memtape::plan {
namespace {

/// The smallest numbers of layers between which a step grows by whole layers alone.
constexpr std::int64_t kFew = 2;

/// The measured step's highest level above what stays between steps for good, in requested bytes.
/// What modules keep of their last pass is a part of the step, though it may outlast it.
Bytes rise_of_step(const torch::TrainRun& run) {
  const Tape& tape = run.tape;
  const std::size_t first = first_event_of_step(tape, torch::kSteps - 1);
  Bytes level = 0, highest = 0;
  for (std::size_t at = 0; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind == EventKind::alloc) level += tape.requested[event.block];
    if (event.kind == EventKind::free) level -= tape.requested[event.block];
    if (at >= first) highest = std::max(highest, level);
  }
  const torch::StaticBytes& held = run.statics;
  return highest - held.parameter_bytes - held.buffer_bytes - held.gradient_bytes -
         held.optimizer_state_bytes;
}

/// Of the modules that are made again those that layers of the kind have, one bit each; 0 where
/// none is named.
int modules_of(std::string_view named, LayerCosts::Kind kind) {
  if (named.empty()) return 0;
  time::Recompute parts;
  parts.add_modules(named);
  const bool has_experts = kind == LayerCosts::Kind::experts;
  return 1 + 2 * parts.core_attention + 4 * parts.norms + 8 * parts.mla_up +
         16 * (parts.mlp && !has_experts) + 32 * (parts.moe && has_experts) +
         64 * (parts.moe_act && has_experts) + 128 * (parts.shared_experts && has_experts);
}

/// Where some layers are made again the others keep all.
Checkpointing of_those_that_keep(const Candidate& c) {
  return c.layers_again > 0 ? Checkpointing::none : c.checkpointing;
}

}  // namespace

std::optional<LayerCost> LayerCosts::of(const Candidate& c, Kind kind, Load load) const {
  const auto [at, is_new] = known_.try_emplace(key_of(c, kind, load));
  if (is_new) at->second = measured(c, kind, load);
  return at->second;
}

void LayerCosts::measure(std::span<const Candidate> candidates, std::span<const Kind> kinds,
                         const Workers& workers) const {
  struct Wanted {
    const Candidate* candidate;
    Kind kind;
    std::optional<LayerCost>* cost;
  };
  std::vector<Wanted> wanted;
  for (const Candidate& c : candidates)
    for (const Kind kind : kinds)
      if (const auto [at, is_new] = known_.try_emplace(key_of(c, kind, Load::as_asked)); is_new)
        wanted.push_back({&c, kind, &at->second});
  if (wanted.empty()) return;
  workers.share(wanted.size(), [&](std::size_t, std::size_t at) {
    *wanted[at].cost = measured(*wanted[at].candidate, wanted[at].kind, Load::as_asked);
  });
}

LayerCosts::Key LayerCosts::key_of(const Candidate& c, Kind kind, Load load) {
  const Sizes& s = c.sizes;
  return {
      s.tp, s.cp, s.ep, s.etp, s.micro_batch, of_those_that_keep(c), modules_of(c.modules, kind),
      kind, load};
}

std::optional<LayerCost> LayerCosts::measured(const Candidate& c, Kind kind, Load load) const {
  const std::optional<Step> few = step(c, kind, load, kFew), more = step(c, kind, load, kFew + 1);
  if (!few || !more || more->above < few->above) return std::nullopt;
  const std::int64_t of_layer = more->parameters - few->parameters;
  const Bytes kept = more->above - few->above;
  return LayerCost{of_layer, static_cast<double>(kept), few->parameters - kFew * of_layer,
                   static_cast<double>(std::max<Bytes>(0, few->above - kFew * kept))};
}

std::optional<LayerCosts::Step> LayerCosts::step(const Candidate& c, Kind kind, Load load,
                                                 std::int64_t layers) const {
  const Sizes& s = c.sizes;
  Config small = with_so_many_layers(job_.config, layers);
  if (small.has("first_k_dense_replace"))
    small = small.with_integer("first_k_dense_replace", kind == Kind::dense ? layers : 0);
  if (small.has("num_nextn_predict_layers"))
    small = small.with_integer("num_nextn_predict_layers", 0);
  TrainRecipe recipe = job_.recipe;
  LayoutRecipe& layout = recipe.layout;
  layout.tp = s.tp, layout.cp = s.cp;
  if (s.tp > 1) layout.sp = s.tp;
  if (job_.facts.experts > 0) layout.ep = s.ep, layout.etp = s.etp;
  layout.gpus = std::lcm(s.tp * s.cp, s.ep * s.etp);
  recipe.sequence_length = job_.sequence;
  recipe.micro_batch_size = s.micro_batch;
  recipe.checkpointing = of_those_that_keep(c);
  if (load == Load::twice) recipe.expert_load = {.imbalance = 2.0};
  recipe.gradient_accumulation = 1;
  recipe.global_batch_size.reset();
  if (!c.modules.empty()) {
    const std::string said = "{" + megatron::recompute_modules_member(c.modules) + "}";
    if (!recipe.framework->strategy(said, recipe)) return std::nullopt;
  }
  const auto run = run_program(small, recipe, job_.device);
  if (!run) return std::nullopt;
  return Step{run->statics.parameters, rise_of_step(*run)};
}

}  // namespace memtape::plan
