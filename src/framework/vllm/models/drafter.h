// SPDX-License-Identifier: Apache-2.0
// Drafter: proposes tokens from the target's hidden states. It is either the predictor that a
// checkpoint brings beside its model (vllm/model_executor/models/*_mtp.py: token embeddings and the
// target's hidden states are brought to one width and go through one decoder layer to the target's
// head), or a head that has its own checkpoint (models/eagle.h).
#pragma once

#include <memory>

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

class Drafter {
 public:
  /// The tensor from which logits are made, and the one from which the next step starts.
  struct Drafted {
    Tensor for_logits, feedback;
  };

  virtual ~Drafter() = default;
  /// combine_hidden_states of what the target took out. It is undefined if the drafter reads the
  /// target's last hidden states.
  virtual Tensor combined(const std::vector<Tensor>&) { return {}; }
  virtual Drafted forward(const Tensor& input_ids, const Tensor& hidden) = 0;
  virtual Tensor compute_logits(const Tensor& hidden) = 0;
  /// load_eagle_model: the target's tables replace the drafter's own.
  virtual void share_tables(ServedModel& target) = 0;
};

/// The predictor of an architecture (hf_config_override of vllm/config/speculative.py).
using DrafterFactory = std::unique_ptr<Drafter> (*)(const Place&);
Result<DrafterFactory> drafter_factory(const Config& config);

}  // namespace memtape::vllm
