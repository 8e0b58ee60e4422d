// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings (vllm/model_executor/layers/rotary_embedding): there is one table of cosines
// and sines for each distinct rope. It is computed in float32 on the device while the model is
// built, and kept as a buffer. The kernel rotates queries and keys in place.
#pragma once

#include <memory>

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// The config.rope_parameters of one kind of layer, as get_rope of vLLM reads them.
struct RopeParameters {
  std::string type = "default";
  double theta = 10000, factor = 1, partial_rotary_factor = 1;
  std::int64_t original_max_position = 0;
  bool has_mscale = false;
  bool has_sections = false;  ///< time, height and width turn parts of a head (MRotaryEmbedding)
  /// Made with dtype=torch.float32 and cast at its first use (gpt-oss).
  bool keeps_float32 = false;
  std::string key;  ///< all parameters as text; equal keys share one table

  /// `layer_type` chooses one of several, if the configuration has one for each type of layer.
  static RopeParameters read(const Config& config, const std::string& layer_type = {});
};

struct RopeShape {
  std::int64_t head_size = 0;
  std::int64_t rotary_dim = 0;  ///< 0: partial_rotary_factor decides
  std::int64_t max_position = 8192;
};

class RotaryEmbedding {
 public:
  RotaryEmbedding(const Place& place, const RopeShape& shape, const RopeParameters& parameters);
  /// Rotates both, in place if the kernel does so.
  void rotate(Tensor& query, Tensor& key);
  /// DeepSeek's yarn, computed by PyTorch ops (deepseek_scaling_rope.py, forward_static). It makes
  /// new tensors; the query's lives until it has been copied back into place.
  Tensor rotated_apart(const Tensor& query, const Tensor& key) const;
  bool is_deepseek() const { return is_deepseek_; }
  /// _ensure_cos_sin_cache_length of SGLang (rotary_embedding/base.py, yarn.py): makes a longer
  /// table of the old one and new rows, and frees the old one. Long ropes have no such function.
  void extend(std::int64_t positions);

 private:
  Tensor table(std::int64_t positions) const;
  Tensor long_rope(const RopeShape& shape, const RopeParameters& parameters);
  Tensor rotated_by_ops(const Tensor& x, const Tensor& cos, const Tensor& sin) const;

  Place place_;
  RopeShape shape_;
  Tensor table_;
  bool scales_ = false;  ///< cosines and sines are multiplied (yarn)
  bool is_long_rope_ = false, runs_long_ = false, rotates_float32_ = false, is_deepseek_ = false;
};

/// get_rope: layers with equal parameters share one rope.
std::shared_ptr<RotaryEmbedding> get_rope(const Place& place, RopeShape shape,
                                          const RopeParameters& parameters);

}  // namespace memtape::vllm
