// SPDX-License-Identifier: Apache-2.0
// Attention of Inkling 2: heads clipped to a length, keys and values that pass short convolutions, a
// bias that each token mixes of learned profiles over distances, a sink that each token projects, and
// a gated output; mirroring transformers 5.24 models/inkling2/modeling_inkling2.py.
#pragma once

#include <optional>

#include "family/parts/attention_interface.h"
#include "family/parts/inkling2_config.h"
#include "nn/layers.h"

namespace memtape::family {

/// x * rsqrt(mean of squares) in float32: an RMS norm without a weight.
class Inkling2UnweightedRMSNorm : public nn::Module<Inkling2UnweightedRMSNorm> {
 public:
  explicit Inkling2UnweightedRMSNorm(const nn::Scope& scope) : Module(scope) {}
  Tensor forward(const Tensor& x);
};

/// A causal convolution in float32 with what goes in added, whatever the model's dtype.
class Inkling2ShortConvolution : public nn::Module<Inkling2ShortConvolution> {
 public:
  Inkling2ShortConvolution(const nn::Scope& scope, std::int64_t hidden_size, std::int64_t kernel);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
};

/// The same with taps that each token projects of `dynamic_input`, shared within a head.
class Inkling2DynamicShortConvolution : public nn::Module<Inkling2DynamicShortConvolution> {
 public:
  Inkling2DynamicShortConvolution(const nn::Scope& scope, const Inkling2Config& c,
                                  const Inkling2Heads& heads);
  Tensor forward(const Tensor& x, const Tensor& dynamic_input);

 private:
  std::int64_t num_heads_, kernel_;
  Tensor static_weight_;
  nn::Linear weight_proj_;
};

/// Inkling2ScaledL2Clip, or Inkling2LogScaledL2Clip where `log_scales`.
class Inkling2ScaledClip : public nn::Module<Inkling2ScaledClip> {
 public:
  Inkling2ScaledClip(const nn::Scope& scope, std::int64_t num_heads, std::int64_t width,
                     bool log_scales);
  Tensor forward(const Tensor& x, const Tensor& position_ids);

 private:
  bool log_scales_;
  Tensor scale_;
};

class Inkling2QueryProjection : public nn::Module<Inkling2QueryProjection> {
 public:
  Inkling2QueryProjection(const nn::Scope& scope, const Inkling2Config& c, std::int64_t layer);
  Tensor forward(const Tensor& x, const Tensor& position_ids);

 private:
  std::int64_t head_dim_;
  nn::Linear linear_;
  Inkling2ScaledClip norm_;
};

class Inkling2KeyValueProjection : public nn::Module<Inkling2KeyValueProjection> {
 public:
  Inkling2KeyValueProjection(const nn::Scope& scope, const Inkling2Config& c, std::int64_t layer,
                             bool is_key);
  Tensor forward(const Tensor& x);

 private:
  std::int64_t head_dim_;
  nn::Linear linear_;
  std::optional<Inkling2ShortConvolution> sconv_;
  std::optional<Inkling2DynamicShortConvolution> dynamic_sconv_;
  std::optional<Inkling2UnweightedRMSNorm> norm_;  ///< of values; keys are clipped
};

class Inkling2GatedOutputProjection : public nn::Module<Inkling2GatedOutputProjection> {
 public:
  Inkling2GatedOutputProjection(const nn::Scope& scope, const Inkling2Config& c,
                                const Inkling2Heads& heads);
  Tensor forward(const Tensor& attn_output, const Tensor& hidden_states);

 private:
  nn::Linear gate_proj_, linear_;
};

class Inkling2RelativePositionBias : public nn::Module<Inkling2RelativePositionBias> {
 public:
  Inkling2RelativePositionBias(const nn::Scope& scope, const Inkling2Config& c, std::int64_t layer);
  Tensor forward(const Tensor& x, const Tensor& relative_distance, const Tensor& position_ids);

 private:
  std::int64_t num_heads_, rel_extent_;
  nn::Linear linear_;
  Inkling2ScaledClip norm_;
  Tensor proj_;
};

/// eager_attention_forward, there is no other; what is not defined is left out.
struct Inkling2Bias {
  Tensor position_bias, sinks;
};
struct Inkling2Attended {
  Tensor attn_output, attn_weights;
};
Inkling2Attended inkling2_attend(const AttentionCall& call, const Tensor& query, const Tensor& key,
                                 const Tensor& value, const Tensor& attention_mask,
                                 const Inkling2Bias& bias);

class Inkling2Attention : public nn::Module<Inkling2Attention> {
 public:
  Inkling2Attention(const nn::Scope& scope, const Inkling2Config& c, std::int64_t layer);
  Tensor forward(const Tensor& x, const Tensor& key_hidden_states,
                 const Tensor& value_hidden_states, const Tensor& attention_mask,
                 const Tensor& relative_distance, const Tensor& position_ids);

 private:
  AttentionCall call_;
  Inkling2QueryProjection q_proj_;
  Inkling2KeyValueProjection k_proj_, v_proj_;
  Inkling2GatedOutputProjection o_proj_;
  nn::Linear sink_proj_;
  Inkling2RelativePositionBias relative_position_bias_;
};

}  // namespace memtape::family
