// SPDX-License-Identifier: Apache-2.0
// torchtitan's space: shards, replicas, tensor and context parallel ranks, experts, checkpointing.
// Its pipelines are not searched.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plan/spaces.h"
#include "workload/train_options.h"

namespace memtape::plan {
namespace {

constexpr auto kTitanOrder =
    std::to_array<Axis>({Axis::tp, Axis::cp, Axis::pp, Axis::ep, Axis::dp, Axis::sharding,
                         Axis::micro_batch, Axis::checkpointing});
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
      case Axis::ep:
        if (job_.facts.experts == 0) return {1};
        return divisors(job_.facts.experts, job_.gpus / s.tp);
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
        return s.pp == 1 ? "" : "--pp of torchtitan is not searched: memtape train answers one";
      case Axis::ep:
        if (s.ep == 1 || (job_.facts.experts > 0 && job_.facts.experts % s.ep == 0)) return {};
        return fmt::format("--ep {} does not divide {} experts", s.ep, job_.facts.experts);
      case Axis::dp:
        if (s.dp * s.tp * s.cp == job_.gpus) return {};
        return fmt::format("--dp {} x --tp {} x --cp {} are not --gpus {}", s.dp, s.tp, s.cp,
                           job_.gpus);
      case Axis::sharding: return refuses_sharding(c);
      case Axis::micro_batch: return refuses_batch(job_, c);
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
    if (s.ep > 1) add("ep", s.ep);
    add("micro-batch-size", s.micro_batch);
    add("global-batch-size", job_.global_batch);
    add("sequence-length", job_.sequence);
    options.emplace_back("gradient-checkpointing", name(c.checkpointing));
    if (job_.says("strategy")) return options;
    const std::string replicas =
        c.sharding == Sharding::hybrid
            ? fmt::format(R"(, "data_parallel_replicate_degree": {})", job_.gpus / job_.per_node)
            : "";
    // Mixtures are not modelled compiled.
    const char* compiles = job_.facts.experts > 0 ? "false" : "true";
    options.emplace_back("strategy", fmt::format(R"({{"compile": {}{}}})", compiles, replicas));
    return options;
  }

  std::string_view left_out() const override {
    return "pipelines, shards over parts of a node, offloading";
  }

  /// float32 parameters, gradients and two states, cut by all that cut them; experts the same.
  double floor(const Candidate& c) const override {
    const auto parts = static_cast<double>(
        c.sharding == Sharding::hybrid ? job_.per_node : std::max<std::int64_t>(1, job_.gpus));
    return job_.says("strategy") ? 0.0 : 16.0 * static_cast<double>(job_.facts.parameters) / parts;
  }

 private:
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
};

}  // namespace

std::unique_ptr<Space> torchtitan_space(const Job& job) {
  return std::make_unique<TorchtitanSpace>(job);
}

}  // namespace memtape::plan
