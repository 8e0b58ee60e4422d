// SPDX-License-Identifier: Apache-2.0
// EncoderOps: the ops that image encoders consist of under vLLM, whose tensors are [patches, width]
// whatever Python's shapes are. A tower's heads and inner widths are cut over the tensor ranks.
#pragma once

#include "framework/vllm/ops.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

class EncoderOps {
 public:
  explicit EncoderOps(const Runtime& runtime) : runtime(runtime), tp(runtime.tp()) {}

  Tensor make(std::int64_t rows, std::int64_t width, const char* name = "encoder") const {
    return kernel_output(name, {rows, width}, runtime.dtype());
  }
  Tensor in_float32(std::int64_t rows, std::int64_t width) const {
    return kernel_output("encoder", {rows, width}, DType::float32);
  }
  Tensor like(const Tensor& x) const { return make(x.size(0), x.size(1)); }

  /// ColumnParallelLinear and RowParallelLinear.
  Tensor column(const Tensor& x, std::int64_t width) const {
    return make(x.size(0), width / tp, "encoder_linear");
  }
  Tensor row(const Tensor& x, std::int64_t width) const {
    return all_reduce(runtime, make(x.size(0), width, "encoder_linear"));
  }
  /// With gather_output.
  Tensor gathered_column(const Tensor& x, std::int64_t width) const {
    Tensor part = column(x, width);
    return tp > 1 ? all_gather_last(runtime, part) : part;
  }

  Tensor layer_norm(const Tensor& x) const {
    Tensor out = like(x);
    const Tensor mean = in_float32(x.size(0), 1), deviation = in_float32(x.size(0), 1);
    return out;
  }

  /// flash_attn_varlen_func: the output, and the sums of the exponentials of each head.
  Tensor attend(std::int64_t rows, std::int64_t hidden, std::int64_t heads) const {
    Tensor out = make(rows, hidden / tp, "encoder_attention");
    const Tensor sums = in_float32(rows, heads / tp);
    return out;
  }

  const Runtime& runtime;
  const std::int64_t tp;
};

}  // namespace memtape::vllm
