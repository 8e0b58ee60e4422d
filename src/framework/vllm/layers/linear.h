// SPDX-License-Identifier: Apache-2.0
// vLLM's linear layers (vllm/model_executor/layers/linear.py): column and row parallel, merged and
// replicated ones. A layer knows its shape on this rank. The quantization chooses its LinearMethod,
// which makes the weights, processes them after loading, and computes the product.
#pragma once

#include <memory>
#include <numeric>

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

class Linear;

/// The LinearMethodBase of a scheme. One object may serve many layers.
class LinearMethod {
 public:
  virtual ~LinearMethod() = default;
  virtual void create_weights(Linear& layer) const = 0;
  virtual void process_weights(Linear&) const {}
  virtual Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const = 0;
  /// Whether the weights are processed once they are loaded, before those of all layers are.
  virtual bool processes_while_loading(const Linear&) const { return false; }
  /// Whether the kernel of the activation before the layer can quantize the layer's input
  /// (fused_act_quant.py).
  virtual bool takes_quantized_input(const Linear&) const { return false; }
};

/// How a layer is divided over the ranks of tensor parallelism.
enum class Cut : std::uint8_t { column, row, replicated };

struct LinearOptions {
  Cut cut = Cut::column;
  bool bias = false;
  bool reduce_results = true;    ///< for a row-parallel layer
  bool quantized = true;         ///< false: the model passes quant_config=None
  bool skip_bias_add = false;    ///< the bias is returned to the caller
  std::optional<DType> dtype{};  ///< the params_dtype, if it is not the model's
};

class Linear : public nn::Module<Linear> {
 public:
  /// `outs` are the sizes of the merged matrices, summed over all ranks.
  Linear(const Place& place, std::int64_t in, std::vector<std::int64_t> outs,
         const LinearOptions& options);
  Tensor forward(const Tensor& x);
  bool takes_quantized_input() const { return method_->takes_quantized_input(*this); }

  Runtime& runtime() const { return place_.runtime(); }
  const Place& place() const { return place_; }
  std::int64_t out() const { return std::accumulate(outs.begin(), outs.end(), std::int64_t{0}); }

  std::int64_t in;                 ///< that of this rank
  std::vector<std::int64_t> outs;  ///< for each matrix, on this rank
  std::int64_t full_in, full_out;
  Weights weights;
  Tensor bias;
  DType dtype;
  bool is_row_parallel;  ///< it is row parallel over more than one rank

 private:
  Place place_;
  LinearOptions options_;
  std::shared_ptr<const LinearMethod> method_;
};

/// The heads of an attention layer on this rank. If there are more ranks than heads of keys and
/// values, these are repeated.
struct Heads {
  Heads(const Runtime& runtime, std::int64_t heads, std::int64_t kv_heads, std::int64_t size);
  std::int64_t total, total_kv;  ///< the sum over all ranks
  std::int64_t query, kv;        ///< those on this rank
  std::int64_t size;
  std::int64_t q_size() const { return query * size; }
  std::int64_t kv_size() const { return kv * size; }
};

/// QKVParallelLinear.
std::unique_ptr<Linear> qkv_linear(const Place& place, std::int64_t hidden, const Heads& heads,
                                   const LinearOptions& options);

}  // namespace memtape::vllm
