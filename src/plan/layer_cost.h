// SPDX-License-Identifier: Apache-2.0
// LayerCosts: what one more layer adds to a rank of Megatron-LM: its parameters, and what a
// micro-batch in flight keeps of it. Both are the differences between the steps of two small models
// that differ by one layer. A stage of a pipeline holds at least that much for each of its layers,
// and at its ends what the small models hold beside their layers.
// The same of a rank that gets twice its share of tokens is what the upper bound of a plan that
// spreads experts is made of (predict/routing_bounds.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/workers.h"
#include "plan/space.h"

namespace memtape::plan {

struct LayerCost {
  std::int64_t parameters = 0;  ///< of one layer, on a rank
  double kept = 0.0;            ///< bytes of a layer that a micro-batch keeps until its backward
  std::int64_t other_parameters = 0;  ///< of embedding and head
  double beside = 0.0;                ///< what a step holds at its peak beside `kept`
};

class LayerCosts {
 public:
  explicit LayerCosts(const Job& job) : job_(job) {}

  enum class Kind : std::uint8_t { dense, experts };
  enum class Load : std::uint8_t { as_asked, twice };
  /// Of layers that keep what they keep where only some are made again. Nothing, if such layers
  /// cannot be told apart from the rest of the step.
  std::optional<LayerCost> of(const Candidate& candidate, Kind kind, Load load) const;
  /// Measures side by side what is not known yet of layers that get as many tokens as is asked.
  void measure(std::span<const Candidate> candidates, std::span<const Kind> kinds,
               const Workers& workers) const;

 private:
  struct Key {
    std::int64_t tp, cp, ep, etp, micro_batch;
    Checkpointing checkpointing;
    int modules;  ///< those that such layers have
    Kind kind;
    Load load;
    auto operator<=>(const Key&) const = default;
  };
  struct Step {
    std::int64_t parameters = 0;
    Bytes above = 0;  ///< the peak of the measured step over what stays for good
  };

  static Key key_of(const Candidate& candidate, Kind kind, Load load);
  std::optional<LayerCost> measured(const Candidate& candidate, Kind kind, Load load) const;
  std::optional<Step> step(const Candidate& candidate, Kind kind, Load load,
                           std::int64_t layers) const;

  const Job& job_;
  mutable std::map<Key, std::optional<LayerCost>> known_;
};

}  // namespace memtape::plan
