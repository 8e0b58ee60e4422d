// SPDX-License-Identifier: Apache-2.0
// The text model of Mistral Small 4: DeepSeek-V3's latent attention with queries that are scaled by
// their position, and its experts with a softmax router; mirroring transformers 5.17
// models/mistral4/modular_mistral4.py.
#pragma once

#include "family/parts/deepseek.h"

namespace memtape::family {

struct Mistral4Config : DeepseekConfig {
  Mistral4Config(const Config& c, const ModelOptions& options);
};

class Mistral4Attention : public DeepseekV3Attention {
 public:
  Mistral4Attention(const nn::Scope& scope, const DeepseekConfig& c);
};

class Mistral4TopkRouter : public nn::Module<Mistral4TopkRouter> {
 public:
  Mistral4TopkRouter(const nn::Scope& scope, const DeepseekMoeConfig& c);
  Routing forward(const Tensor& hidden_states);

 private:
  DeepseekMoeConfig config_;
  Tensor weight_;
};

struct Mistral4Parts : MoeParts {
  using Settings = Mistral4Config;
  using DecoderLayer =
      PreNormDecoderLayer<Mistral4Attention, MaybeSparseMlp<DeepseekMoe<Mistral4TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

}  // namespace memtape::family
