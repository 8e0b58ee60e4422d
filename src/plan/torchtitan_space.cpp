// SPDX-License-Identifier: Apache-2.0
// torchtitan's space: shards, replicas, tensor and context parallel ranks, experts, checkpointing;
// pipelines of the lengths that the asker names, since runs of them are long.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "framework/dialects.h"
#include "plan/spaces.h"
#include "workload/train_options.h"

namespace memtape::plan {
namespace {

constexpr auto kTitanOrder =
    std::to_array<Axis>({Axis::tp, Axis::cp, Axis::pp, Axis::vpp, Axis::ep, Axis::dp,
                         Axis::sharding, Axis::micro_batch, Axis::checkpointing});
/// A ring of keys and values cuts a sequence into two pieces a rank; with fewer tokens than these
/// a piece would be less than a tile of the attention kernels (128 rows).
constexpr std::int64_t kTitanLeastTokens = 256;
constexpr std::int64_t kTitanMostMicroBatch = 16;

class TorchtitanSpace : public Space {
 public:
  using Space::Space;

  std::span<const Axis> axes() const override { return kTitanOrder; }

  std::vector<std::int64_t> values(Axis axis, const Candidate& c) const override {
    const Sizes& s = c.sizes;
    switch (axis) {
      case Axis::tp: return divisors(job_.gpus, job_.per_node);
      case Axis::cp:
        return divisors(job_.gpus / s.tp,
                        std::max<std::int64_t>(1, job_.sequence / kTitanLeastTokens));
      case Axis::vpp: return chunks(c);
      case Axis::ep:
        if (job_.facts.experts == 0) return {1};
        return divisors(job_.facts.experts, job_.gpus / (s.tp * s.pp));
      case Axis::dp: return {s.dp};
      case Axis::sharding:
        if (job_.gpus > job_.per_node && !job_.says("strategy"))
          return {number(Sharding::fsdp), number(Sharding::hybrid)};
        return {number(Sharding::fsdp)};
      case Axis::micro_batch: return micro_batches(job_, c, kTitanMostMicroBatch);
      case Axis::checkpointing:
        return {number(Checkpointing::none), number(Checkpointing::selective),
                number(Checkpointing::full)};
      default: return {1};
    }
  }

  std::string refuses(Axis axis, const Candidate& c) const override {
    const Sizes& s = c.sizes;
    switch (axis) {
      case Axis::tp:
        if (job_.half() != "bf16") return "torchtitan's products run in bf16, which the GPU lacks";
        if (job_.facts.heads % s.tp == 0 && job_.facts.kv_heads % s.tp == 0) return {};
        return fmt::format("--tp {} does not divide {} heads of queries and {} of keys", s.tp,
                           job_.facts.heads, job_.facts.kv_heads);
      case Axis::cp:
        if (job_.gpus % (s.tp * s.cp) == 0 && job_.sequence % (2 * s.cp * s.tp) == 0) return {};
        return fmt::format("--tp {} x --cp {} do not divide --gpus {}, or twice them {} tokens",
                           s.tp, s.cp, job_.gpus, job_.sequence);
      case Axis::pp:
        if (job_.gpus % (s.tp * s.cp * s.pp) != 0)
          return fmt::format("--tp {} x --cp {} x --pp {} do not divide --gpus {}", s.tp, s.cp,
                             s.pp, job_.gpus);
        return job_.pins.of(Axis::vpp) ? "" : asked(s.pp, 1);
      case Axis::vpp: return asked(s.pp, s.vpp);
      case Axis::ep:
        if (s.ep == 1 || (job_.facts.experts > 0 && job_.facts.experts % s.ep == 0)) return {};
        return fmt::format("--ep {} does not divide {} experts", s.ep, job_.facts.experts);
      case Axis::dp:
        if (s.dp * s.tp * s.cp * s.pp == job_.gpus) return {};
        return fmt::format("--dp {} x --tp {} x --cp {} x --pp {} are not --gpus {}", s.dp, s.tp,
                           s.cp, s.pp, job_.gpus);
      case Axis::sharding: return refuses_sharding(c);
      case Axis::micro_batch: return refuses_micro_batch(c);
      default: return {};
    }
  }

  NamedValues layout(const Candidate& c) const override {
    const Sizes& s = c.sizes;
    NamedValues options{{"framework", std::string(job_.recipe.framework->name)}};
    const auto add = [&](const char* option, std::int64_t n) {
      options.emplace_back(option, fmt::format("{}", n));
    };
    add("gpus", s.gpus);
    if (s.tp > 1) add("tp", s.tp);
    if (s.cp > 1) add("cp", s.cp);
    if (s.pp > 1) add("pp", s.pp);
    if (s.ep > 1) add("ep", s.ep);
    // A pipeline cuts the local batch itself.
    add("micro-batch-size", s.pp > 1 ? s.micro_batch * s.micro_batches : s.micro_batch);
    add("global-batch-size", job_.global_batch);
    add("sequence-length", job_.sequence);
    options.emplace_back("gradient-checkpointing", name(c.checkpointing));
    if (!job_.says("strategy")) options.emplace_back("strategy", strategy(c));
    return options;
  }

  std::string_view left_out() const override {
    return "pipelines that --pp does not name, shards over parts of a node, offloading";
  }

  /// float32 parameters, gradients and two states, cut by all that cut them; experts the same.
  double floor(const Candidate& c) const override {
    const auto parts = static_cast<double>(
        c.sharding == Sharding::hybrid ? job_.per_node : std::max<std::int64_t>(1, job_.gpus));
    if (job_.says("strategy")) return 0.0;
    const auto parameters = static_cast<double>(job_.facts.parameters);
    return 16.0 * parameters / parts + (c.sizes.pp > 1 ? held_by_stage(c, parameters) : 0.0);
  }

 private:
  std::string strategy(const Candidate& c) const {
    const Sizes& s = c.sizes;
    // Mixtures are not modelled compiled.
    std::string said = job_.facts.experts > 0 ? R"({"compile": false)" : R"({"compile": true)";
    if (s.pp > 1)
      said += fmt::format(
          R"(, "pipeline_parallel_schedule": "{}", "pipeline_parallel_microbatch_size": {})",
          s.vpp > 1 ? "Interleaved1F1B" : "1F1B", s.micro_batch);
    if (s.vpp > 1)
      said += fmt::format(R"(, "pipeline_parallel_layers_per_stage": {})", layers_each(s));
    if (c.sharding == Sharding::hybrid)
      said += fmt::format(R"(, "data_parallel_replicate_degree": {})", job_.gpus / job_.per_node);
    return said + "}";
  }

  /// Embedding and output count as a layer each (pipeline_llm, first_ and last_stage_less_layers).
  std::int64_t layers_each(const Sizes& s) const {
    return (job_.facts.layers + 2 + s.pp * s.vpp - 1) / (s.pp * s.vpp);
  }

  /// A stage's parameters in 16 bits stay whole over a step, and its gradients (pipeline_llm). The
  /// first one keeps of every layer at least its input for each micro-batch in flight; if nothing
  /// is made again, what attention and the MLP multiply, too.
  double held_by_stage(const Candidate& c, double parameters) const {
    const Sizes& s = c.sizes;
    const bool keeps_all = c.checkpointing == Checkpointing::none;
    const double tokens =
        static_cast<double>(s.micro_batch * job_.sequence) / static_cast<double>(s.cp * s.tp);
    const double kept = (keeps_all ? 12.0 : 2.0) * tokens * static_cast<double>(job_.facts.hidden) *
                        static_cast<double>(job_.facts.layers) / static_cast<double>(s.pp);
    const double dense = job_.facts.experts > 0 ? 0.0 : 4.0 * parameters;
    return dense / static_cast<double>(s.tp * s.pp) +
           kept * static_cast<double>(std::min(s.micro_batches, s.pp));
  }

  std::vector<std::int64_t> chunks(const Candidate& c) const {
    std::vector<std::int64_t> found{1};
    for (const std::int64_t vpp : divisors((job_.facts.layers + 2) / c.sizes.pp, job_.facts.layers))
      if (vpp > 1 && c.sizes.pp > 1 && asked(c.sizes.pp, vpp).empty()) found.push_back(vpp);
    return found;
  }

  /// What the job says of a pipeline, with enough micro-batches for any schedule.
  const std::string& asked(std::int64_t pp, std::int64_t vpp) const {
    const auto [at, is_new] = asked_.try_emplace({pp, vpp});
    if (is_new && pp * vpp > 1) at->second = refuses_pipeline(pp, vpp);
    return at->second;
  }

  std::string refuses_pipeline(std::int64_t pp, std::int64_t vpp) const {
    if (job_.says("strategy"))
      return "--pp beside --strategy is not searched: memtape train has it";
    if (pp == 1) return fmt::format("--vpp {} needs --pp of 2 or more", vpp);
    Candidate c;
    c.framework = job_.recipe.framework;
    c.sizes.gpus = c.sizes.pp = pp;
    c.sizes.vpp = vpp;
    c.sizes.micro_batches = pp * vpp;
    TrainRecipe recipe = job_.recipe;
    recipe.layout.gpus = pp;
    recipe.layout.pp = pp;
    recipe.micro_batch_size = c.sizes.micro_batches;
    if (const auto read = recipe.framework->strategy(strategy(c), recipe); !read)
      return read.error().line();
    const Dialect& dialect = dialect_of(recipe);
    const auto plan = dialect.plan(job_.config, dialect.settle(recipe, job_.config));
    return plan ? std::string() : plan.error().line();
  }

  std::string refuses_micro_batch(const Candidate& c) const {
    const Sizes& s = c.sizes;
    if (std::string why = refuses_batch(job_, c); !why.empty()) return why;
    const std::int64_t rounds = std::max<std::int64_t>(1, s.micro_batches / s.pp);
    if (s.vpp > 1 ? s.micro_batches % rounds == 0 : s.micro_batches >= s.pp) return {};
    return fmt::format("{} micro-batches do not fill a pipeline of --pp {}", s.micro_batches, s.pp);
  }

  std::string refuses_sharding(const Candidate& c) const {
    const Sizes& s = c.sizes;
    if (c.sharding == Sharding::fsdp) return {};
    if (c.sharding != Sharding::hybrid)
      return fmt::format("--sharding {} is not planned for torchtitan: full or hybrid",
                         name(c.sharding));
    const std::int64_t replicas = job_.gpus / job_.per_node;
    if (job_.gpus % job_.per_node == 0 && replicas > 1 && s.dp % replicas == 0) return {};
    return fmt::format("--sharding hybrid: {} nodes do not divide {} data ranks", replicas, s.dp);
  }

  mutable std::map<std::pair<std::int64_t, std::int64_t>, std::string> asked_;
};

}  // namespace

std::unique_ptr<Space> torchtitan_space(const Job& job) {
  return std::make_unique<TorchtitanSpace>(job);
}

}  // namespace memtape::plan
