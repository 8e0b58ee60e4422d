// SPDX-License-Identifier: Apache-2.0
// vLLM's linear layers (vllm/model_executor/layers/linear.py): column and row parallel, merged and
// replicated. A layer knows its shape on this rank; its LinearMethod, chosen by the quantization,
// makes the weights, processes them after loading, and forms the product.
#pragma once

#include <memory>
#include <numeric>

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

class Linear;

/// LinearMethodBase of a scheme; one object may serve many layers.
class LinearMethod {
 public:
  virtual ~LinearMethod() = default;
  virtual void create_weights(Linear& layer) const = 0;
  virtual void process_weights(Linear&) const {}
  virtual Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const = 0;
  /// Weights are made on the meta device and quantized while they are loaded.
  virtual bool is_online() const { return false; }
  /// The activation before the layer is quantized by its own kernel (fused_act_quant.py).
  virtual bool takes_quantized_input(const Linear&) const { return false; }
};

/// How a layer is cut over the ranks of tensor parallelism.
enum class Cut : std::uint8_t { column, row, replicated };

struct LinearOptions {
  Cut cut = Cut::column;
  bool bias = false;
  bool reduce_results = true;    ///< of a row-parallel layer
  bool quantized = true;         ///< false: the model passes quant_config=None
  bool skip_bias_add = false;    ///< the bias is returned to the caller
  std::optional<DType> dtype{};  ///< params_dtype, where it is not the model's
};

class Linear : public nn::Module<Linear> {
 public:
  /// `outs` are the sizes of the merged matrices over all ranks.
  Linear(const Place& place, std::int64_t in, std::vector<std::int64_t> outs,
         const LinearOptions& options);
  Tensor forward(const Tensor& x);
  bool takes_quantized_input() const { return method_->takes_quantized_input(*this); }

  Runtime& runtime() const { return place_.runtime(); }
  const Place& place() const { return place_; }
  std::int64_t out() const { return std::accumulate(outs.begin(), outs.end(), std::int64_t{0}); }

  std::int64_t in;                 ///< on this rank
  std::vector<std::int64_t> outs;  ///< on this rank, by matrix
  std::int64_t full_in, full_out;
  Weights weights;
  Tensor bias;
  DType dtype;
  bool is_row_parallel;  ///< with more than one rank

 private:
  Place place_;
  LinearOptions options_;
  std::shared_ptr<const LinearMethod> method_;
};

/// Heads of an attention layer on this rank; keys' and values' heads are repeated where there are
/// more ranks than heads.
struct Heads {
  Heads(const Runtime& runtime, std::int64_t heads, std::int64_t kv_heads, std::int64_t size);
  std::int64_t total, total_kv;  ///< over all ranks
  std::int64_t query, kv;        ///< on this rank
  std::int64_t size;
  std::int64_t q_size() const { return query * size; }
  std::int64_t kv_size() const { return kv * size; }
};

/// QKVParallelLinear.
std::unique_ptr<Linear> qkv_linear(const Place& place, std::int64_t hidden, const Heads& heads,
                                   const LinearOptions& options);

}  // namespace memtape::vllm
