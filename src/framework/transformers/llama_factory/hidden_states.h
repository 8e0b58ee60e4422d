// SPDX-License-Identifier: Apache-2.0
// output_hidden_states=True (transformers 5.17, utils/output_capturing.py): the input of the first
// layer and the output of each layer live as long as the outputs of the forward. The input of the
// head replaces the output of the last layer.
#pragma once

#include <vector>

#include "family/pretrained.h"

namespace memtape::transformers::llama_factory {

class HiddenStates {
 public:
  explicit HiddenStates(family::PretrainedModel& model);

  /// model(batch, output_hidden_states=True). What was collected before is dropped.
  family::ModelOutput forward(const family::Batch& batch);
  const ghost::Tensor& last() const { return collected_.back(); }
  void forget() { collected_.clear(); }

 private:
  /// The hooks of the layers. They ignore a layer that runs again in backward.
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
