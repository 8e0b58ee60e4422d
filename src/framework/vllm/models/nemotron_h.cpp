// SPDX-License-Identifier: Apache-2.0
// Nemotron-H (vllm/model_executor/models/nemotron_h.py): Mamba 2's mixers, attention without
// positions, plain MLPs, and experts without gates, which Nemotron 3 Super and Ultra run in a
// narrower latent.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/moe.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/hybrid.h"
#include "framework/vllm/models/single_block.h"
#include "framework/vllm/ops.h"
#include "model/layer_letters.h"
#include "release/engine_changes.h"

namespace memtape::vllm {
namespace {

struct SquaredMlpOptions {
  bool bias = false;
  bool reduce_results = true;
  bool is_replicated = false;  ///< disable_tp
};

/// NemotronHMLP: up, relu squared, down.
class SquaredMlp : public nn::Module<SquaredMlp> {
 public:
  SquaredMlp(const Place& place, std::int64_t hidden, std::int64_t width,
             const SquaredMlpOptions& options)
      : Module(place.scope()),
        up_(place / "up_proj", hidden, {width},
            {.cut = options.is_replicated ? Cut::replicated : Cut::column, .bias = options.bias}),
        down_(place / "down_proj", width, {hidden},
              {.cut = options.is_replicated ? Cut::replicated : Cut::row,
               .bias = options.bias,
               .reduce_results = options.reduce_results}) {}
  Tensor forward(const Tensor& input) {
    Tensor x = up_(input);
    x = kernel_output("relu_squared", x.sizes(), x.dtype());
    return down_(x);
  }

 private:
  Linear up_, down_;
};

/// GateLinear of layers/fused_moe/router/gate_linear.py, forced to compute in float32: Hopper and
/// the Blackwell of data centers multiply in the model's dtype into float32; other cards hold the
/// gate in float32.
MoeOptions gate_options(const Place& place, std::int64_t hidden) {
  const Settings& s = place.settings();
  constexpr int kHopper = 90, kBlackwell = 100, kAfterBlackwell = 110;
  const int capability = s.device.capability();
  const bool multiplies_into_float32 =
      s.release.has(changes::kVllmGatesByCard) &&
      (capability == kHopper || (capability >= kBlackwell && capability < kAfterBlackwell));
  MoeOptions options{
      .score_bias = true, .float32_logits = multiplies_into_float32, .gate_in = hidden};
  if (!multiplies_into_float32) options.gate_dtype = DType::float32;
  return options;
}

/// The experts that all tokens pass, as one MLP; empty where there are none.
std::shared_ptr<SquaredMlp> shared_mlp_of(const Place& place, std::int64_t hidden) {
  const Config& c = place.config();
  const std::int64_t count = c.count("n_shared_experts", 1);
  if (count == 0) return {};
  const std::int64_t width = c.dimension("moe_shared_expert_intermediate_size") * count;
  return std::make_shared<SquaredMlp>(
      place / "shared_experts", hidden, width,
      SquaredMlpOptions{.reduce_results = false,
                        .is_replicated = cuts_tokens(place.runtime().parallel())});
}

/// NemotronHMoE.
Block expert_block(const Place& place, std::int64_t hidden) {
  const Config& c = place.config();
  const auto latent = c.optional_dimension("moe_latent_size");
  ExpertShape shape(place.runtime(), c.dimension("n_routed_experts"),
                    c.dimension("num_experts_per_tok"), latent.value_or(hidden),
                    c.dimension("moe_intermediate_size"));
  shape.gated = false;
  RoutedTransforms transforms;
  const auto make_shared = [&](const Place& inner) -> MoeBlock::Shared {
    const auto mlp = shared_mlp_of(inner, hidden);
    if (latent) {
      const LinearOptions options{.cut = Cut::replicated, .bias = c.boolean("mlp_bias", false)};
      transforms.in = block_of(std::make_shared<Linear>(
          inner / "fc1_latent_proj", hidden, std::vector<std::int64_t>{*latent}, options));
      transforms.out = block_of(std::make_shared<Linear>(
          inner / "fc2_latent_proj", *latent, std::vector<std::int64_t>{hidden}, options));
    }
    if (!mlp) return {};
    return block_of(mlp);
  };
  auto moe = std::make_shared<MoeBlock>(place, shape, gate_options(place, hidden), make_shared);
  moe->transform(transforms);
  return block_of(moe);
}

}  // namespace

std::unique_ptr<ServedModel> make_nemotron_h(const Place& place) {
  const Config& c = place.config();
  MambaShape s = mamba2_shape(c, c.dimension("hidden_size"));
  s.state_dtype = state_dtype(place, c.text("mamba_ssm_cache_dtype", "float32"));
  const std::string letters = layer_letters(c);
  const auto block = [s, letters](const Place& mixer, std::int64_t index) -> Block {
    const Config& config = mixer.config();
    switch (letters[static_cast<std::size_t>(index)]) {
      case 'M': return block_of(std::make_shared<MambaMixer2>(mixer, s));
      case 'E': return expert_block(mixer, s.hidden);
      case '-':
        return block_of(std::make_shared<SquaredMlp>(
            mixer, s.hidden, config.dimension("intermediate_size"),
            SquaredMlpOptions{.bias = config.boolean("mlp_bias", false)}));
      default:
        return block_of(std::make_shared<AttentionBlock>(mixer, s.hidden, config_heads(mixer),
                                                         AttentionBlockOptions{.rope = false}));
    }
  };
  return make_single_block_decoder(place, SingleBlockNames{"model", "embed_tokens"},
                                   static_cast<std::int64_t>(letters.size()), block);
}

}  // namespace memtape::vllm
