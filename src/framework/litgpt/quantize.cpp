// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/quantize.h"

#include <utility>

#include "framework/transformers/linear_4bit.h"

namespace memtape::litgpt {

std::vector<ghost::Tensor> quantize_linear(nn::Linear& layer, const Quantize& how) {
  const ghost::GradMode no_grad(false);
  const ghost::Tensor w = layer.weight.to(DType::float16);
  ghost::Tensor dynamic_map;
  std::vector<ghost::Tensor> first;
  if (!how.before_0_5) {
    const auto [replaced, state] =
        transformers::quantize_4bit(w, {.nested = how.double_quant}, dynamic_map);
    first = {state.code, state.absmax, state.offset, state.nested_absmax, state.nested_code};
  }
  auto [packed, state] = transformers::quantize_4bit(w, {.nested = how.double_quant}, dynamic_map);
  transformers::take_packed_weight(layer.weight, packed);
  layer.kernel = std::make_unique<transformers::Linear4Bit>(
      std::move(state), how.compute_dtype,
      transformers::Products4Bit{.always_dequantize = true, .keep_inputs = how.before_0_5});
  return first;
}

}  // namespace memtape::litgpt
