// SPDX-License-Identifier: Apache-2.0
// The layers of torch.nn that families are built of. Parameters are allocated in torch's order: weight, then bias.
#pragma once

#include <cstdint>
#include <memory>

#include "nn/module.h"

namespace memtape::nn {

/// What stands in for a Linear's forward when peft or a quantizer has replaced the layer.
class LinearAdapter {
 public:
  virtual ~LinearAdapter() = default;
  virtual Tensor forward(Linear& base, const Tensor& x) = 0;
};

class Linear : public Module<Linear> {
 public:
  Linear(const Scope& scope, std::int64_t in_features, std::int64_t out_features, bool bias = true);
  Tensor forward(const Tensor& x);
  /// The layer's own product, adapter or not.
  Tensor base_forward(const Tensor& x);

  Tensor weight, bias;
  std::unique_ptr<LinearAdapter> adapter;
};

class Embedding : public Module<Embedding> {
 public:
  Embedding(const Scope& scope, std::int64_t count, std::int64_t dim);
  Tensor forward(const Tensor& indices);

  Tensor weight;
};

/// Over the last dimension; elementwise_affine.
class LayerNorm : public Module<LayerNorm> {
 public:
  LayerNorm(const Scope& scope, std::int64_t width, bool bias = true);
  Tensor forward(const Tensor& x);

  Tensor weight, bias;
};

/// torch.nn.RMSNorm over the last dimension: the fused op (families that spell the formula out have their own module).
class RMSNorm : public Module<RMSNorm> {
 public:
  RMSNorm(const Scope& scope, std::int64_t width);
  Tensor forward(const Tensor& x);

  Tensor weight;
};

/// Replaces `head`'s weight by `table`'s, as tie_weights does: the head's own memory goes.
void tie(Linear& head, const Tensor& table);

}  // namespace memtape::nn
