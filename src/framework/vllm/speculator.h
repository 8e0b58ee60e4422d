// SPDX-License-Identifier: Apache-2.0
// Speculator: a proposer of tokens that has weights (vllm/v1/worker/gpu/spec_decode). It is loaded
// after the model, shares tables with it, and proposes in the profile run, too. Drafters read the
// target's hidden states (target_dependent_ar/speculator.py); a draft model is a model like any
// other (standalone_ar/speculator.py).
#pragma once

#include <memory>

#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/models/drafter.h"
#include "framework/vllm/runner_state.h"

namespace memtape::vllm {

/// The modules that make up a proposer. A proposer with its own checkpoint has its own
/// configuration.
struct SpeculatorPlan {
  DrafterFactory make_drafter = nullptr;
  ModelFactory make_model = nullptr;
  std::shared_ptr<const Config> config{};  ///< null: the target's
  std::unique_ptr<Quantization> quantization{};
  bool has_weights() const { return make_drafter || make_model; }
};
Result<SpeculatorPlan> plan_speculator(const Config& target, const Settings& settings);

class Speculator {
 public:
  /// `target` is the place of the target's modules.
  Speculator(const SpeculatorPlan& plan, const Place& target);
  void share_tables(ServedModel& target);
  /// The proposal in the profile run: the first token comes from the whole batch, the others from
  /// one token of each request. `inner_states` are the target's; they are alive as long as this
  /// runs.
  void propose(const RunnerState& runner, std::int64_t tokens, std::int64_t requests,
               const std::vector<Tensor>& inner_states);

 private:
  void draft(const RunnerState& runner, std::int64_t tokens, std::int64_t requests);
  void draft_alone(const RunnerState& runner, std::int64_t tokens, std::int64_t requests);

  const Settings& settings_;
  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<ServedModel> model_;
};

}  // namespace memtape::vllm
