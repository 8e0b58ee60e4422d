// SPDX-License-Identifier: Apache-2.0
// The layers of torch.nn that families are built from. Parameters are allocated in torch's order:
// the weight, then the bias.
#pragma once

#include <cstdint>
#include <memory>

#include "nn/module.h"

namespace memtape::nn {

/// What replaces a projection's forward after peft or a quantizer has replaced the layer.
class ProjectionAdapter {
 public:
  virtual ~ProjectionAdapter() = default;
  virtual Tensor forward(Projection& base, const Tensor& x) = 0;
};

/// How a quantized projection multiplies, instead of its own product.
class ProjectionKernel {
 public:
  virtual ~ProjectionKernel() = default;
  virtual Tensor forward(Projection& layer, const Tensor& x) = 0;
  /// The dtype of the products, and of adapters when they are made.
  virtual DType compute_dtype() const = 0;
};

/// A product with a weight and optionally a bias: what Linear and Conv1D have in common.
class Projection : public Module<Projection> {
 public:
  virtual ~Projection() = default;
  Tensor forward(const Tensor& x) { return adapter ? adapter->forward(*this, x) : base_forward(x); }
  /// The layer's own product, whether or not it has an adapter.
  virtual Tensor base_forward(const Tensor& x) = 0;

  const std::int64_t in_features, out_features;
  Tensor weight, bias;
  std::unique_ptr<ProjectionAdapter> adapter;
  std::unique_ptr<ProjectionKernel> kernel;

 protected:
  Projection(const Scope& scope, std::int64_t in, std::int64_t out, const Tensor& made_weight);
};

class Linear final : public Projection {
 public:
  Linear(const Scope& scope, std::int64_t in_features, std::int64_t out_features, bool bias = true);
  Linear(const Scope& scope, std::int64_t in_features, std::int64_t out_features, bool bias,
         DType dtype);
  Tensor base_forward(const Tensor& x) override;
};

/// transformers' Conv1D (pytorch_utils.py): a Linear whose weight is [in, out]. Its arguments are
/// in Python's order.
class Conv1D final : public Projection {
 public:
  Conv1D(const Scope& scope, std::int64_t nf, std::int64_t nx);
  Tensor base_forward(const Tensor& x) override;
};

class Embedding : public Module<Embedding> {
 public:
  Embedding(const Scope& scope, std::int64_t count, std::int64_t dim);
  Tensor forward(const Tensor& indices);

  Tensor weight;
  bool output_requires_grad = false;  ///< a forward hook says output.requires_grad_(True)
  bool adds_noise = false;            ///< a forward hook adds zeros_like(output).uniform_()
};

/// Drops values in training only; with a rate of 0 it returns the tensor as it is.
class Dropout : public Module<Dropout> {
 public:
  Dropout(const Scope& scope, double rate) : Module(scope), rate_(rate) {}
  Tensor forward(const Tensor& x);

 private:
  double rate_;
};

/// Normalizes over the last dimension. Without elementwise_affine it has no parameters.
class LayerNorm : public Module<LayerNorm> {
 public:
  LayerNorm(const Scope& scope, std::int64_t width, bool bias = true,
            bool elementwise_affine = true);
  Tensor forward(const Tensor& x);

  Tensor weight, bias;
};

/// torch.nn.RMSNorm over the last dimension, which is one fused op. Families that spell the formula
/// out have a module of their own.
class RMSNorm : public Module<RMSNorm> {
 public:
  RMSNorm(const Scope& scope, std::int64_t width);
  Tensor forward(const Tensor& x);

  Tensor weight;
};

/// Replaces the weight of a projection.
void replace_weight(Projection& projection, const Tensor& weight);

/// The same for its bias.
void replace_bias(Projection& projection, const Tensor& bias);

/// Replaces the table of an embedding; its own table is freed.
void tie(Embedding& embedding, const Tensor& table);

/// Replaces the weight of `head` by `table`, as tie_weights does; the head's own memory is freed.
void tie(Linear& head, const Tensor& table);
/// The same for its bias.
void tie_bias(Linear& head, const Tensor& bias);

}  // namespace memtape::nn
