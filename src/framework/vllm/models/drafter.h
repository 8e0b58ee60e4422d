// SPDX-License-Identifier: Apache-2.0
// Drafter: the predictor of later tokens that a checkpoint brings beside its model
// (vllm/model_executor/models/*_mtp.py): token embeddings and the target's hidden states, brought
// to one width, through one decoder layer, to the target's head.
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
  virtual Drafted forward(const Tensor& input_ids, const Tensor& hidden) = 0;
  virtual Tensor compute_logits(const Tensor& hidden) = 0;
  /// load_eagle_model: the target's tables take the place of the drafter's own.
  virtual void share_tables(const ServedModel& target) = 0;
};

/// The predictor of an architecture (hf_config_override of vllm/config/speculative.py).
using DrafterFactory = std::unique_ptr<Drafter> (*)(const Place&);
Result<DrafterFactory> drafter_factory(const Config& config);

}  // namespace memtape::vllm
