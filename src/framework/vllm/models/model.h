// SPDX-License-Identifier: Apache-2.0
// ServedModel: a model class of vLLM (vllm/model_executor/models), built for one rank: its forward
// over one batch of tokens, and the logits of some rows. Families whose code in vLLM differs only
// in choices are tables of these; families whose code differs otherwise have classes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "framework/vllm/layers/norms.h"
#include "framework/vllm/layers/vocabulary.h"

namespace memtape::vllm {

class ServedModel {
 public:
  virtual ~ServedModel() = default;
  /// `input` holds token ids on the first stage. On other stages it holds what the stage before has
  /// sent.
  virtual Tensor forward(const Tensor& input_ids, const Stream& input) = 0;
  virtual Tensor compute_logits(const Tensor& hidden_states) = 0;
  /// make_empty_intermediate_tensors: the number of [tokens, hidden] tensors that pass between
  /// stages.
  virtual int intermediate_tensors() const { return 2; }
  virtual std::int64_t hidden_size() const = 0;
  /// What the last forward has kept of its stream for the drafter (Speculation::target_layers).
  virtual std::vector<Tensor> take_inner_states() { return {}; }
  /// What a drafter shares; nothing if this stage does not have it.
  virtual Tensor embedding_table() const { return {}; }
  virtual const ParallelLMHead* head() const { return nullptr; }
};

/// A block as the decoder layer sees it.
using Block = std::function<Tensor(const Tensor&)>;

template <class M>
Block block_of(std::shared_ptr<M> module) {
  return [module](const Tensor& x) { return (*module)(x); };
}

/// The layers of this stage (vllm/distributed/utils.py, get_pp_indices).
struct StageLayers {
  std::int64_t first = 0, last = 0;
};
StageLayers stage_layers(const Parallel& parallel, std::int64_t layers);

/// The model class that vLLM's registry has for an architecture.
using ModelFactory = std::unique_ptr<ServedModel> (*)(const Place&);
Result<ModelFactory> model_factory(const Config& config);

}  // namespace memtape::vllm
