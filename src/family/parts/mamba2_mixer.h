// SPDX-License-Identifier: Apache-2.0
// Mamba 2's mixer on torch's own ops, as transformers runs it if the kernels of mamba-ssm and
// causal-conv1d are not installed. The scan goes chunk by chunk, over products that are summed at
// once. Mirrors transformers 5.17 models/mamba2/modeling_mamba2.py and
// models/nemotron_h/modeling_nemotron_h.py, which share it.
#pragma once

#include <optional>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "family/masks/masking.h"
#include "family/pretrained.h"
#include "nn/activations.h"
#include "nn/convolution.h"
#include "nn/layers.h"

namespace memtape::family {

/// How the gate acts on the scan's output: MambaRMSNormGated, FalconH1RMSNormGated with the norm
/// behind or before the gate, or only a product.
enum class MixerGate { mamba, before_norm, behind_norm, alone };

struct Mamba2MixerConfig {
  std::int64_t hidden_size, intermediate_size, num_heads, head_dim, state_size, n_groups,
      conv_kernel, chunk_size;
  std::int64_t norm_group_size;  ///< of the gated norm
  bool use_bias, use_conv_bias;
  nn::Activation activation;
  /// Whether A_log gets its values before out_proj is made, as in Nemotron-H.
  bool initializes_early = false;
  std::optional<bool> use_out_bias = {};  ///< out_proj's, where it isn't use_bias
  MixerGate gate = MixerGate::mamba;
  bool keeps_convolved = true;  ///< torch_forward names what is split into x, B and C
  /// Zamba 2's torch_forward: time steps have no upper bound, and states are products in the order
  /// of heads.
  bool scans_by_heads = false;
  bool is_multiplied = false;  ///< Falcon-H1: what goes in, and its projection by a vector

  std::int64_t conv_dim() const { return intermediate_size + 2 * n_groups * state_size; }
  std::int64_t projection_size() const { return intermediate_size + conv_dim() + num_heads; }
};

/// Checks which settings must divide which.
void check_mixer(const Config& c, const char* heads_key, const Mamba2MixerConfig& mixer);
/// The group size over which a gated norm takes the variance if the mixer has no norm of its own.
std::int64_t gated_norm_group_size(const Mamba2MixerConfig& mixer);

/// The mixer of Bamba and of the hybrids after it, whose keys begin with "mamba_".
Mamba2MixerConfig bamba_mixer_config(const Config& c, std::int64_t hidden_size,
                                     std::int64_t intermediate_size, nn::Activation activation);

/// Gives A_log the values of _init_weights in the model's dtype: torch.log(torch.arange(1,
/// num_heads + 1)).
void init_decays(const Mamba2MixerConfig& mixer, DType dtype);

/// MambaRMSNormGated, or Zamba2RMSNormGated if it has several groups; also FalconH1RMSNormGated.
class GatedRMSNorm : public nn::Module<GatedRMSNorm> {
 public:
  GatedRMSNorm(const nn::Scope& scope, std::int64_t size, std::int64_t group_size,
               MixerGate gate = MixerGate::mamba);
  Tensor forward(const Tensor& x, const Tensor& gate);

 private:
  Tensor forward_falcon_h1(const Tensor& x, const Tensor& gate);

  std::int64_t group_size_;
  MixerGate gate_;
  Tensor weight_;
};

class Mamba2Mixer : public nn::Module<Mamba2Mixer> {
 public:
  Mamba2Mixer(const nn::Scope& scope, const Mamba2MixerConfig& config);
  Tensor forward(const Tensor& x, const Tensor& attention_mask);

  /// init_mamba2_weights, which runs once more when the model is complete.
  void init_weights() const;
  /// Calls register_buffer("mup_vector", ...) of the model around it.
  void register_mup_vector(const Tensor& mup_vector);
  const Tensor& out_proj_weight() const { return out_proj_.weight; }

 private:
  /// One token: time steps [B, H], and x, B and C [B, 1, ...].
  struct Step {
    Tensor hidden_states, B, C, dt, A;
    Tensor z = {};  ///< a gate alone, where one token goes through
  };
  Tensor update_state(Step step, LinearLayer& layer) const;
  /// The scan's output and its last state, which the frame of forward keeps alive until it returns.
  struct Scanned {
    Tensor output, final_state;
  };
  Scanned scan_chunks(const Step& whole, LinearLayer* layer) const;
  /// Locals of torch_forward.
  struct TorchFrame {
    Tensor input_states;
    std::vector<Tensor> split = {};  ///< gate, x with B and C, time steps
    Tensor hidden_states_B_C = {}, hidden_states = {}, A = {}, B = {}, C = {}, dt = {},
           D_residual = {};
    std::int64_t pad_size = 0;
  };
  TorchFrame discretized(const Tensor& x);
  /// Its locals from the states of the chunks on.
  struct TorchStates {
    Tensor B_decay, states, previous_states, decay_chunk, new_states;
  };
  TorchStates chunk_states(const TorchFrame& frame, const Tensor& A_cumsum,
                           const Tensor& decay_states) const;
  Tensor torch_forward(const Tensor& x);

  Mamba2MixerConfig config_;
  nn::Scope scope_;
  nn::Convolution conv1d_;
  nn::Linear in_proj_;
  Tensor dt_bias_, decays_, a_log_;
  GatedRMSNorm norm_;
  Tensor d_;
  nn::Linear out_proj_;
  Tensor mup_vector_;
};

/// causal_conv1d_fn: convolves each channel of [B, C, S] with the tokens before it, and applies
/// `activation`.
Tensor causal_conv1d(const Tensor& hidden_states, const nn::Convolution& conv1d,
                     const nn::Activation& activation);

/// The same for one more token after those that a layer's state holds (causal_conv1d_update).
Tensor causal_conv1d_update(const Tensor& hidden_states, LinearLayer& layer,
                            const nn::Convolution& conv1d, const nn::Activation& activation);

/// The convolution of a mixer with or without a cache; it updates the state of the cache.
Tensor cached_conv1d(Tensor hidden_states, LinearLayer* layer, const nn::Convolution& conv1d,
                     const nn::Activation& activation);

/// Whether a pass adds one token to a sequence that `layer` has seen.
inline bool is_one_more_token(const LinearLayer* layer, std::int64_t tokens) {
  return layer && layer->has_previous_state() && tokens == 1;
}

/// The first time steps of a mixer: the inverse softplus of random steps between two bounds. Both
/// tensors live until the caller has copied them.
struct InitialTimeSteps {
  InitialTimeSteps(std::int64_t count, DType dtype);
  Tensor dt, inv_dt;
};

/// create_recurrent_attention_mask: the mask, if it hides some token of `queries`.
Tensor create_recurrent_attention_mask(const Tensor& attention_mask, std::int64_t queries);

/// What the layers of a hybrid get: positions, and a mask for each kind of layer.
struct HybridInputs {
  Tensor position_ids, full_attention, linear_attention;
};
HybridInputs hybrid_inputs(const MaskRequest& request, const Tensor& inputs_embeds,
                           Tensor position_ids);

}  // namespace memtape::family
