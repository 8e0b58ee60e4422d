// SPDX-License-Identifier: Apache-2.0
// output_hidden_states=True (transformers 5.17, utils/output_capturing.py): what the first layer is
// given and what each layer gives lives as long as the outputs of the forward do. The head's input
// takes the place of the last layer's output.
#pragma once

#include <vector>

#include "family/pretrained.h"

namespace memtape::transformers::llama_factory {

class HiddenStates {
 public:
  explicit HiddenStates(family::PretrainedModel& model);

  /// model(batch, output_hidden_states=True); what was collected before is forgotten.
  family::ModelOutput forward(const family::Batch& batch);
  const ghost::Tensor& last() const { return collected_.back(); }
  void forget() { collected_.clear(); }

 private:
  /// The hooks of layers; a layer that is run again in the backward gives nothing.
  class Layers final : public nn::ForwardHooks {
   public:
    explicit Layers(HiddenStates& all) : all_(all) {}
    void before_forward(ghost::Tensor& input) override;
    void after_forward(ghost::Tensor& output) override;

   private:
    HiddenStates& all_;
  };
  /// The hooks of the head.
  class Head final : public nn::ForwardHooks {
   public:
    explicit Head(HiddenStates& all) : all_(all) {}
    void before_forward(ghost::Tensor& input) override;
    void after_forward(ghost::Tensor&) override {}

   private:
    HiddenStates& all_;
  };

  family::PretrainedModel& model_;
  std::vector<ghost::Tensor> collected_;
  bool collects_ = false;
  Layers layers_{*this};
  Head head_{*this};
};

}  // namespace memtape::transformers::llama_factory
