// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/linear_4bit.h"

#include "framework/transformers/gemm_4bit.h"
#include "framework/transformers/quantized_bias.h"
#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/unary.h"

namespace memtape::transformers {

/// Per-block maxima as float32 numbers again.
ghost::Tensor dequantize_4bit(const QuantState& state, const ghost::Dims& sizes) {
  ghost::Tensor absmax = state.absmax;
  if (state.offset.defined()) absmax = ghost::empty(absmax.sizes(), DType::float32);
  return ghost::empty(sizes, state.dtype);
}

namespace {

using ghost::Dims;
using ghost::Gradients;
using ghost::Tensor;

constexpr std::int64_t kWeightBlockSize = 64, kNestedBlockSize = 256, kWeightMapSize = 256,
                       kCodeSize = 16;

std::int64_t blocks_of(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

Tensor parameter(const Dims& sizes, DType dtype) {
  return ghost::empty(sizes, dtype, Category::parameter);
}

/// get_4bit_type: the 16 values, divided by their largest.
Tensor make_code() {
  Tensor data = parameter({kCodeSize}, DType::float32);
  const Tensor absolute = ghost::abs(data);
  const Tensor largest = ghost::empty({}, DType::float32);
  return data;
}

/// quantize_blockwise of the maxima, less their mean, in blocks of 256.
void quantize_maxima(QuantState& state, Tensor& absmax, Tensor& dynamic_map) {
  state.offset = absmax.mean(0);
  ghost::session().set_category(state.offset, Category::parameter);
  const Tensor centred = absmax.sub(state.offset);
  if (!dynamic_map.defined()) dynamic_map = parameter({kWeightMapSize}, DType::float32);
  state.nested_absmax = parameter({blocks_of(absmax.numel(), kNestedBlockSize)}, DType::float32);
  state.absmax = parameter({absmax.numel()}, DType::uint8);
  state.nested_code = parameter({kWeightMapSize}, DType::float32);
}

/// _dequant_linear_fallback
Tensor dequantized_linear(const Tensor& a, const nn::Projection& layer, const QuantState& state,
                          const Tensor& bias) {
  Tensor unpacked, absmax = state.absmax;
  if (state.offset.defined()) {
    unpacked = ghost::empty(absmax.sizes(), DType::float32);
    absmax = unpacked.add(state.offset);
  }
  const Tensor weight = ghost::empty({layer.out_features, layer.in_features}, a.dtype());
  return ghost::linear(a, weight, bias);
}

/// F.linear(A, F.dequantize_4bit(B, quant_state).to(A.dtype).t(), bias)
Tensor always_dequantized_linear(const Tensor& a, const nn::Projection& layer,
                                 const QuantState& state, const Tensor& bias) {
  Tensor weight = dequantize_4bit(state, {layer.out_features, layer.in_features});
  weight = weight.to(a.dtype());
  return ghost::linear(a, weight, bias);
}

Tensor gemm_4bit(const Tensor& a, const nn::Projection& layer, const QuantState& state,
                 const Tensor& bias) {
  if (!uses_gemm_4bit_kernel(ghost::session().device, a.dtype(), a.numel() / layer.in_features,
                             layer.out_features, layer.in_features))
    return dequantized_linear(a, layer, state, bias);
  const Tensor packed = a.contiguous();
  return ghost::empty(a.sizes().leading().with(layer.out_features), a.dtype());
}

/// MatMul4Bit.backward: the weight is dequantized again; it has no use for the input.
struct MatMul4Bit final : ghost::Node {
  MatMul4Bit(const nn::Projection& projection, const QuantState& quant_state)
      : Node("MatMul4Bit"), layer(projection), state(quant_state) {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = bias_gradient(in[0]);
    if (!wants(0)) return;
    Tensor weight = dequantize_4bit(state, {layer.out_features, layer.in_features});
    weight = weight.to(in[0].dtype());  // before the product, the first is gone
    out[0] = in[0].matmul(weight);
  }
  /// Python's ctx holds the input until the whole graph goes, with the loss; a graph of shorter
  /// samples, as those behind the longest are.
  void release() override { kept_input.reset(); }
  const nn::Projection& layer;
  const QuantState& state;
  Tensor kept_input;  ///< ctx.tensors of old releases: it goes with the whole graph
};

Tensor matmul_4bit(const Tensor& a, const nn::Projection& layer, const QuantState& state,
                   const Products4Bit& products) {
  const Tensor& bias = layer.bias;
  const ghost::Op op("gemm_4bit", {});
  const auto node = ghost::function_node<MatMul4Bit>({&a, &bias}, layer, state);
  if (node && products.keep_inputs) node->kept_input = a;
  const ghost::GradMode no_grad(false);
  Tensor out = products.always_dequantize ? always_dequantized_linear(a, layer, state, bias)
                                          : gemm_4bit(a, layer, state, bias);
  if (node) set_history(out, node);
  return out;
}

}  // namespace

std::pair<Tensor, QuantState> quantize_4bit(const Tensor& weight, Packing4Bit packing,
                                            Tensor& dynamic_map) {
  const std::int64_t count = weight.numel();
  QuantState state;
  state.dtype = weight.dtype();
  Tensor absmax = parameter({blocks_of(count, kWeightBlockSize)}, DType::float32);
  const std::int64_t packed_in_one = 2 * bytes_of(packing.storage, 1);
  Tensor packed = parameter({(count + 1) / packed_in_one, 1}, packing.storage);
  state.code = make_code();
  if (packing.nested)
    quantize_maxima(state, absmax, dynamic_map);
  else
    state.absmax = absmax;
  return {std::move(packed), std::move(state)};
}

void take_packed_weight(const Tensor& weight, const Tensor& packed) {
  ghost::TensorImpl& impl = weight.impl();
  impl.storage = packed.impl().storage;
  impl.sizes = packed.sizes();
  impl.strides = packed.strides();
  impl.dtype = packed.dtype();
  impl.requires_grad = false;
}

Tensor Linear4Bit::dequantized_weight(const nn::Projection& layer) const {
  return dequantize_4bit(state_, {layer.out_features, layer.in_features});
}

std::vector<Tensor> Linear4Bit::copied_state() const {
  std::vector<Tensor> copies;
  for (const Tensor* t :
       {&state_.absmax, &state_.code, &state_.offset, &state_.nested_absmax, &state_.nested_code})
    if (t->defined()) copies.push_back(t->clone());
  return copies;
}

Tensor Linear4Bit::forward(nn::Projection& layer, const Tensor& input) {
  const DType input_dtype = input.dtype();
  const Tensor x = input.to(compute_dtype_);
  cast_bias(layer.bias, x.dtype());
  return matmul_4bit(x, layer, state_, products_).to(input_dtype);
}

}  // namespace memtape::transformers
