// SPDX-License-Identifier: Apache-2.0
// Layers of Inkling 2: what goes into attention and experts is attended out of the sums of earlier
// blocks of layers; where layers run again, messages of the pass before are mixed in. Mirrors
// transformers 5.24 models/inkling2/modeling_inkling2.py and
// models/inkling2_loop/modeling_inkling2_loop.py.
#pragma once

#include <optional>
#include <vector>

#include "family/parts/inkling2_attention.h"
#include "family/parts/rms_norms.h"
#include "family/parts/several_inputs_layer.h"

namespace memtape::family {

class Inkling2TopKRouter : public nn::Module<Inkling2TopKRouter> {
 public:
  Inkling2TopKRouter(const nn::Scope& scope, const Inkling2Config& c);
  Routing forward(const Tensor& x);

 private:
  std::int64_t top_k_;
  nn::Activation score_fn_;
  Tensor weight_, e_score_correction_bias_;
};

class Inkling2SparseMoeBlock : public nn::Module<Inkling2SparseMoeBlock> {
 public:
  Inkling2SparseMoeBlock(const nn::Scope& scope, const Inkling2Config& c);
  Tensor forward(const Tensor& x);

 private:
  Experts experts_;
  Inkling2TopKRouter gate_;
};

/// Inkling2BlockAttentionResidual, a result for each of its learned queries.
class Inkling2BlockResidual : public nn::Module<Inkling2BlockResidual> {
 public:
  Inkling2BlockResidual(const nn::Scope& scope, const Inkling2Config& c, std::int64_t queries = 1);
  std::vector<Tensor> forward(const Tensor& block_states, const Tensor& partial_block_states);

 private:
  Tensor query_;
  Inkling2UnweightedRMSNorm norm_;
};

/// Inkling2LoopMessageAttentionResidual: the messages for one of the layers that run again.
class Inkling2MessageResidual : public nn::Module<Inkling2MessageResidual> {
 public:
  Inkling2MessageResidual(const nn::Scope& scope, const Inkling2Config& c);
  Tensor forward(const Tensor& block_states, const Tensor& partial_block_states,
                 std::int64_t loop_layer);

 private:
  Tensor made_, query_;
  Inkling2UnweightedRMSNorm norm_;
};

class Inkling2MessageGate : public nn::Module<Inkling2MessageGate> {
 public:
  Inkling2MessageGate(const nn::Scope& scope, const Inkling2Config& c);
  Tensor forward(const Tensor& x, const Tensor& message);

 private:
  Inkling2UnweightedRMSNorm norm_;
  nn::Linear down_proj_, forget_gate_proj_, message_gate_proj_;
};

/// The four kinds of decoder layers: sliding or not, looped or not.
class Inkling2DecoderLayer : public LayerOfSeveralInputs<Inkling2DecoderLayer> {
 public:
  Inkling2DecoderLayer(const nn::Scope& scope, const Inkling2Config& c, nn::ListIndex layer);
  /// `messages` is undefined but in the later passes of a looped layer.
  Tensor forward(const Tensor& x, const Tensor& block_states, const Tensor& messages,
                 const Tensor& attention_mask, const Tensor& relative_distance,
                 const Tensor& position_ids);

 private:
  struct Norms {
    Norms(const nn::Scope& scope, const Inkling2Config& c, bool slides);
    std::optional<Olmo2RMSNorm> input, query, key, value, post_attention;
  };
  struct Gates {
    Gates(const nn::Scope& scope, const Inkling2Config& c);
    Inkling2MessageGate query, key, value, mlp;
  };
  /// What goes into the three projections, and what a sliding layer makes it of.
  struct Inputs {
    Tensor hidden_states, query, key, value;
    std::vector<Tensor> messages;
  };
  Inputs inputs_of(const Tensor& x, const Tensor& block_states, const Tensor& messages);
  Tensor attend(const Inputs& inputs, DType dtype, const Tensor& attention_mask,
                const Tensor& relative_distance, const Tensor& position_ids);

  bool begins_block_;
  std::optional<Inkling2BlockResidual> attention_input_;
  std::optional<Inkling2BlockResidual> mlp_input_;
  std::optional<Inkling2Attention> self_attn_;
  std::optional<Inkling2SparseMoeBlock> mlp_;
  std::optional<Norms> norms_;
  std::optional<Inkling2ShortConvolution> post_attention_convolution_, post_mlp_convolution_;
  std::optional<Gates> gates_;  ///< of a looped layer
};

}  // namespace memtape::family
