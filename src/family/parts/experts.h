// SPDX-License-Identifier: Apache-2.0
// Mixture of experts: the settings, the experts and the routers that families share, mirroring
// transformers 5.17 integrations/moe.py and models/{mixtral,qwen2_moe}/modeling_*.py.
//
// By default a model gets the experts implementation "grouped_mm" (modeling_utils.py,
// get_correct_experts_implementation), on every device and in every dtype; if torch's grouped_mm
// needs a newer device, transformers' own loop replaces it. generate() changes to "batched_mm"
// after the prefill; a configuration may ask for that in training, too. In both, no size depends on
// how the tokens are spread over the experts. "eager" runs the experts that got tokens one after
// the other (experts_eager.cpp): there the sizes of each expert depend on the number of its tokens.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "family/parts/decoder_config.h"
#include "family/parts/looped_experts.h"
#include "ghost/given.h"
#include "nn/layers.h"

namespace memtape::family {

/// The defaults of a configuration_FAMILY.py, and the names that it uses.
struct MoeDefaults {
  Keys experts_key = "num_experts";
  std::int64_t num_experts = 64, num_experts_per_tok = 8;
  Keys intermediate_key = "moe_intermediate_size";
  std::int64_t intermediate_size = 1408;
  Keys experts_per_tok_key = "num_experts_per_tok";
};

enum class ExpertsImplementation { eager, batched_mm, grouped_mm };

struct MoeConfig : DecoderConfig {
  MoeConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
            const MoeDefaults& moe);

  std::int64_t num_experts, num_experts_per_tok, moe_intermediate_size;
  bool norm_topk_prob, output_router_logits;
  ExpertsImplementation experts_implementation = ExpertsImplementation::grouped_mm;
  ExpertLoad expert_load;
  std::optional<LoopBefore5> loop;  ///< none: the experts were tensors, or it is not modelled
};

/// What a router returns.
struct Routing {
  Tensor logits, weights, indices;
};

/// Collects the logits of every router while a model's forward runs, as capture_outputs does
/// (utils/output_capturing.py).
class RouterLogits {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::router_logits;
  explicit RouterLogits(bool wanted);

  /// Adds logits for the running model, if it wants them.
  static void record(const Tensor& logits);
  /// Ends the collection when the model returns: what layers compute again in backward is not
  /// collected.
  const std::vector<Tensor>& stop();

 private:
  std::vector<Tensor> collected_;
  std::optional<ghost::Given<RouterLogits>> given_;
};

/// Qwen2MoeTopKRouter: takes a softmax in float32 and the k largest, normalized to a sum of 1 if
/// the configuration says so. Mixtral always normalizes, and keeps the weights in float32.
class TopKRouter : public nn::Module<TopKRouter> {
 public:
  enum class Style { mixtral, qwen2 };
  TopKRouter(const nn::Scope& scope, const MoeConfig& c, Style style);
  Routing forward(const Tensor& hidden_states);

 private:
  std::int64_t top_k_, hidden_dim_;
  bool normalizes_;
  Style style_;
  Tensor weight_;
  std::optional<nn::Linear> linear_;  ///< in its place, see is_linear_router
};

/// Whether the routers of these settings are layers of their own, as before transformers 5.0; those
/// of DeepSeek-V3's kind never were.
bool is_linear_router(const MoeConfig& c);

/// What use_experts_implementation is told about a family's experts.
struct ExpertsLayout {
  using ApplyGate = Tensor (*)(const Tensor& gate_up_out, const nn::Activation& act_fn);
  /// _default_apply_gate: act_fn(gate) * up of the two halves.
  static Tensor default_apply_gate(const Tensor& gate_up_out, const nn::Activation& act_fn);

  bool transposed = false;  ///< weights of [experts, in, out] instead of [experts, out, in]
  bool has_bias = false;
  bool has_gate = true;         ///< else up_proj alone, and the activation function after it
  std::int64_t input_size = 0;  ///< 0: hidden_size
  ApplyGate apply_gate = default_apply_gate;
};

/// MixtralExperts: the weights of all experts in two tensors.
class Experts : public nn::Module<Experts> {
 public:
  Experts(const nn::Scope& scope, const MoeConfig& c, const ExpertsLayout& layout = {});
  /// Returns [T, H] for hidden states [T, H] and the k experts and weights of each token.
  Tensor forward(const Tensor& hidden_states, const Tensor& top_k_index,
                 const Tensor& top_k_weights);

 private:
  struct Linear {
    Tensor weight, bias;
  };
  Tensor eager_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                       const Tensor& top_k_weights);
  Tensor grouped_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                         const Tensor& top_k_weights);
  Tensor grouped_forward_by_argsort(const Tensor& hidden_states, const Tensor& top_k_index,
                                    const Tensor& top_k_weights);
  Tensor batched_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                         const Tensor& top_k_weights);
  /// The weights are as a checkpoint stores them, in eight bits or fewer (experts_packed.cpp).
  bool are_packed() const;
  Tensor packed_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                        const Tensor& top_k_weights);
  Tensor packed_batched_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                                const Tensor& top_k_weights);
  Tensor packed_grouped_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                                const Tensor& top_k_weights);
  Tensor microscaled_forward(const Tensor& hidden_states, const Tensor& top_k_index);
  Tensor batched_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) const;
  Tensor grouped_linear(const Tensor& input, const Linear& linear, const Tensor& selected_biases,
                        const Tensor& offsets) const;
  Linear make_linear(const nn::Scope& scope, const char* name, std::int64_t in,
                     std::int64_t out) const;
  Tensor activated(const Tensor& up_out) const;

  std::int64_t num_experts_;
  ExpertsImplementation implementation_;
  ExpertLoad load_;
  ExpertsLayout layout_;
  std::optional<LoopedExperts> looped_;  ///< in place of the tensors
  Linear gate_up_, down_;
  nn::Activation act_fn_;
};

}  // namespace memtape::family
