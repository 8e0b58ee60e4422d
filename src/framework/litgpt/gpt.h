// SPDX-License-Identifier: Apache-2.0
// litgpt's GPT (0.5.13, model.py; with adapters lora.py, adapter.py and adapter_v2.py) as lightning.fabric runs it (2.6,
// fabric/wrappers.py). It is built on the GPU in the dtype of the precision, and returns its logits
// as float32.
#pragma once

#include <memory>
#include <vector>

#include "family/pretrained.h"
#include "framework/litgpt/blocks.h"
#include "framework/torch/train_loop.h"
#include "nn/layer_stack.h"

namespace memtape::litgpt {

class Gpt final : public family::PretrainedModel {
 public:
  /// Without adapters it is litgpt.model.GPT. `autocasts` means the precision bf16-mixed.
  Gpt(const GptConfig& config, const Adapters& adapters, DType dtype, bool autocasts);

  /// Runs within what a strategy has wrapped around the module.
  void run_within(torch::DrivenModel& wrapper) { wrapper_ = &wrapper; }
  /// fabric.setup: module.to(dtype), which also casts the rotation's tables.
  void set_up(DType dtype);
  /// model.max_seq_length = length. If the length changes, the tables are made anew.
  void set_max_seq_length(std::int64_t length);

  /// setup() of a quantized model replaces the token table by bitsandbytes' StableEmbedding: it
  /// takes new memory and has a norm behind it, and both require gradients that no optimizer takes.
  /// The old table stays alive in a local variable.
  void stabilize_embedding();

  /// The loss of one turn of fit() (finetune/full.py; finetune/lora.py and the adapters', with the
  /// head in chunks). Its logits live until the next turn makes new ones.
  family::ModelOutput forward(const family::Batch& batch) override;
  /// Forgets the logits, so that the next turn is like a first one.
  void forget_logits() { logits_.clear(); }
  /// validate() over two batches of these sizes. It makes whole logits, and only its locals live on
  /// from one batch to the next.
  void validate(const ghost::Dims& batch_sizes);

 private:
  Tensor hidden_states(const Tensor& input_ids);
  Tensor head_of(const Tensor& x);
  Tensor whole_logits(const Tensor& input_ids);
  std::vector<Tensor> chunked_logits(const Tensor& input_ids);
  void make_rope(std::int64_t length);
  void call(const std::function<torch::DrivenModel::Outputs()>& module);

  const GptConfig config_;
  const Parts parts_;
  const bool autocasts_;
  LoRALinear lm_head_;
  nn::Scope transformer_;
  nn::Embedding wte_;
  std::unique_ptr<nn::LayerNorm> wte_norm_;
  Tensor old_embedding_;
  nn::ModuleList<Block> h_;
  Norm ln_f_;
  Rope rope_;                   ///< [length, rope_n_elem]
  std::vector<Tensor> logits_;  ///< a local variable of fit()
  torch::DrivenModel* wrapper_ = nullptr;
};

}  // namespace memtape::litgpt
