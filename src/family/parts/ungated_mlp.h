// SPDX-License-Identifier: Apache-2.0
// UngatedMlp: up, an activation, down (NemotronMLP of transformers 5.17
// models/nemotron/modeling_nemotron.py, which others inherit).
#pragma once

#include "family/parts/decoder_config.h"
#include "nn/layers.h"

namespace memtape::family {

class UngatedMlp : public nn::Module<UngatedMlp> {
 public:
  UngatedMlp(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
        act_fn_(c.hidden_act) {}
  Tensor forward(const Tensor& x) { return down_proj_(act_fn_(up_proj_(x))); }

 private:
  nn::Linear up_proj_, down_proj_;
  nn::Activation act_fn_;
};

}  // namespace memtape::family
