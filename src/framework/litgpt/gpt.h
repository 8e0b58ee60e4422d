// SPDX-License-Identifier: Apache-2.0
// litgpt's GPT (0.5.13, model.py; with adapters lora.py) as lightning.fabric runs it (2.6,
// fabric/wrappers.py): built on the GPU in the precision's dtype, its logits given as float32.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "family/pretrained.h"
#include "framework/litgpt/blocks.h"
#include "nn/layer_stack.h"

namespace memtape::litgpt {

class Gpt final : public family::PretrainedModel {
 public:
  /// Without `lora` it is litgpt.model.GPT. `autocasts`: precision bf16-mixed.
  Gpt(const GptConfig& config, const std::optional<Lora>& lora, DType dtype, bool autocasts);

  /// fabric.setup: module.to(dtype), which reaches the rotation's tables, too.
  void set_up(DType dtype);
  /// model.max_seq_length = length: the tables are made anew when their length changes.
  void set_max_seq_length(std::int64_t length);

  /// setup() of a quantized model puts bitsandbytes' StableEmbedding in the place of the token
  /// table: new memory, a norm behind it, both wanting gradients that no optimizer takes. The old
  /// table stays, a local.
  void stabilize_embedding();

  /// The loss of one turn of fit() (finetune/lora.py, finetune/full.py). Its logits live until the
  /// next turn has new ones.
  family::ModelOutput forward(const family::Batch& batch) override;
  /// As in a first turn.
  void forget_logits() { logits_.clear(); }
  /// validate() over two batches of these sizes: whole logits, and nothing kept but its locals from
  /// one batch to the next.
  void validate(const ghost::Dims& batch_sizes);

 private:
  Tensor hidden_states(const Tensor& input_ids);
  Tensor head_of(const Tensor& x);
  Tensor whole_logits(const Tensor& input_ids);
  std::vector<Tensor> chunked_logits(const Tensor& input_ids);
  void make_rope(std::int64_t length);

  const GptConfig config_;
  const std::optional<Lora> lora_;
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
  std::vector<Tensor> logits_;  ///< fit()'s local
};

}  // namespace memtape::litgpt
