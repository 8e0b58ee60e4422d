// SPDX-License-Identifier: Apache-2.0
// Drafter: what proposes tokens from the target's hidden states: the predictor that a checkpoint
// brings beside its model (vllm/model_executor/models/*_mtp.py: token embeddings and the target's
// hidden states, brought to one width, through one decoder layer, to the target's head), or a head
// that is a checkpoint of its own (models/eagle.h).
#pragma once

#include <memory>

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

class Drafter {
 public:
  /// What logits are made of, and what the next step starts from.
  struct Drafted {
    Tensor for_logits, feedback;
  };

  virtual ~Drafter() = default;
  /// combine_hidden_states of what the target took out; undefined where its last ones are read.
  virtual Tensor combined(const std::vector<Tensor>&) { return {}; }
  virtual Drafted forward(const Tensor& input_ids, const Tensor& hidden) = 0;
  virtual Tensor compute_logits(const Tensor& hidden) = 0;
  /// load_eagle_model: the target's tables take the place of the drafter's own.
  virtual void share_tables(ServedModel& target) = 0;
};

/// The predictor of an architecture (hf_config_override of vllm/config/speculative.py).
using DrafterFactory = std::unique_ptr<Drafter> (*)(const Place&);
Result<DrafterFactory> drafter_factory(const Config& config);

}  // namespace memtape::vllm
