// SPDX-License-Identifier: Apache-2.0
// Mamba and FalconMamba on torch's own ops, as transformers runs them where the kernels of
// mamba-ssm and causal-conv1d are not installed: the scan is a loop over the tokens. FalconMamba
// has norms without weights on what the scan is given. Mirrors transformers 5.17
// models/mamba/modeling_mamba.py and models/falcon_mamba/modeling_falcon_mamba.py.
#include "family/mamba.h"

#include <array>
#include <optional>
#include <vector>

#include "family/activations.h"
#include "family/families.h"
#include "family/mamba2_mixer.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/softplus.h"

namespace memtape::family {
namespace {

struct MambaMixerConfig {
  std::int64_t hidden_size, intermediate_size, state_size, conv_kernel, time_step_rank;
  bool use_bias, use_conv_bias;
  nn::Activation activation;
  bool has_norms;  ///< on time steps, B and C (FalconMamba)
};

struct MambaConfig {
  MambaConfig(const Config& c, bool falcon)
      : vocab_size(c.dimension("vocab_size", 50280)),
        hidden_size(c.dimension("hidden_size", 768)),
        num_hidden_layers(c.layers("num_hidden_layers", 32)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        residual_in_fp32(c.boolean("residual_in_fp32", true)),
        mixer{.hidden_size = hidden_size,
              .intermediate_size = c.dimension("expand", 2) * hidden_size,
              .state_size = c.dimension("state_size", 16),
              .conv_kernel = c.dimension("conv_kernel", 4),
              .time_step_rank = time_step_rank(c),
              .use_bias = c.boolean("use_bias", false),
              .use_conv_bias = c.boolean("use_conv_bias", true),
              .activation = activation(c, "hidden_act", "silu"),
              .has_norms = falcon} {}

  static Tensor mixer_mask(const Tensor& attention_mask) { return attention_mask; }

  std::int64_t vocab_size, hidden_size, num_hidden_layers;
  bool tie_word_embeddings, residual_in_fp32;
  MambaMixerConfig mixer;

 private:
  /// A number, or "auto": a sixteenth of the hidden size.
  std::int64_t time_step_rank(const Config& c) const {
    if (!c.has("time_step_rank") || c.json("time_step_rank") == "\"auto\"")
      return ceil_div(hidden_size, std::int64_t{16});
    return c.dimension("time_step_rank");
  }
};

/// apply_mask_to_padding_states
Tensor without_padding(const Tensor& hidden_states, const Tensor& attention_mask) {
  if (!attention_mask.defined()) return hidden_states;
  return hidden_states.mul(attention_mask.unsqueeze(-1)).to(hidden_states.dtype());
}

/// FalconMambaWeightlessRMSNorm: its weight is a buffer that nothing reads.
class WeightlessRMSNorm : public nn::Module<WeightlessRMSNorm> {
 public:
  WeightlessRMSNorm(const nn::Scope& scope, std::int64_t size) : Module(scope) {
    scope.buffer("weight", ghost::ones({size}, scope.dtype()));
  }
  Tensor forward(const Tensor& x) {
    const Tensor normed = norm(x.to_float());
    return normed.to(x.dtype());
  }

 private:
  static Tensor norm(const Tensor& x) {
    return x.mul(ghost::rsqrt(x.pow(2).mean(-1, true).add(1e-6)));
  }
};

/// What mamba_selective_scan is given: [B, I, S] and [B, I, S], [I, N], and twice [B, S, N].
struct SelectiveScan {
  Tensor hidden_states, dt, A, B, C, D, z, delta_bias;
  Tensor ssm_state = {};

  Tensor run();
};

Tensor SelectiveScan::run() {
  const DType input_dtype = hidden_states.dtype();
  const std::int64_t seq_len = hidden_states.size(2);
  dt = dt.add(delta_bias.to(dt.dtype()).unsqueeze(-1));
  dt = ghost::softplus(dt);

  const Tensor discrete_A = ghost::exp(A.unsqueeze(0).unsqueeze(2).mul(dt.unsqueeze(3)));
  const Tensor discrete_B = dt.unsqueeze(3).mul(B.unsqueeze(1).to_float());
  const Tensor deltaB_u = discrete_B.mul(hidden_states.unsqueeze(3).to_float());

  ssm_state = ghost::zeros({hidden_states.size(0), hidden_states.size(1), A.size(-1)}, input_dtype);
  std::vector<Tensor> scan_outputs;
  Tensor scan_output;
  for (std::int64_t index = 0; index < seq_len; ++index) {
    ssm_state = discrete_A.select(2).mul(ssm_state).add(deltaB_u.select(2));
    scan_output = ssm_state.to(input_dtype).matmul(C.select(1).unsqueeze(-1));
    scan_outputs.push_back(scan_output.select(2));
  }
  scan_output = ghost::stack_last(scan_outputs);
  scan_output = scan_output.add(hidden_states.mul(D.unsqueeze(0).unsqueeze(2)));
  return scan_output.mul(ghost::silu(z));
}

/// What mamba_selective_state_update is given: one token of each sequence.
struct StateUpdate {
  Tensor hidden_states, dt, A, B, C, D, z, dt_bias;

  Tensor run(const Tensor& state);
};

Tensor StateUpdate::run(const Tensor& state) {
  const DType input_dtype = hidden_states.dtype();
  dt = dt.add(dt_bias.to(dt.dtype()));
  dt = ghost::softplus(dt);
  const Tensor dA = ghost::exp(dt.to_float().unsqueeze(-1).mul(A));
  const Tensor dB = dt.to_float().unsqueeze(-1).mul(B.to_float().unsqueeze(1));
  const Tensor dBx = dB.mul(hidden_states.to_float().unsqueeze(-1));
  const Tensor ssm_state = state.mul(dA).add(dBx);
  Tensor out = ssm_state.to(C.dtype()).matmul(C.unsqueeze(-1)).squeeze(-1);
  out = out.add(hidden_states.mul(D));
  out = out.mul(ghost::silu(z));
  return out.to(input_dtype);
}

class MambaMixer : public nn::Module<MambaMixer> {
 public:
  MambaMixer(const nn::Scope& scope, const MambaMixerConfig& c)
      : Module(scope),
        config_(c),
        conv1d_(scope / "conv1d", Dims{c.intermediate_size, 1, c.conv_kernel}, c.use_conv_bias),
        in_proj_(scope / "in_proj", c.hidden_size, 2 * c.intermediate_size, c.use_bias),
        x_proj_(scope / "x_proj", c.intermediate_size, c.time_step_rank + 2 * c.state_size, false),
        dt_proj_(scope / "dt_proj", c.time_step_rank, c.intermediate_size, true),
        a_log_(scope.parameter("A_log", {c.intermediate_size, c.state_size})),
        d_(scope.parameter("D", {c.intermediate_size})),
        out_proj_(scope / "out_proj", c.intermediate_size, c.hidden_size, c.use_bias) {
    if (!c.has_norms) return;
    dt_layernorm_.emplace(scope / "dt_layernorm", c.intermediate_size);
    b_layernorm_.emplace(scope / "b_layernorm", c.state_size);
    c_layernorm_.emplace(scope / "c_layernorm", c.state_size);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask);

  /// init_mamba_weights.
  void init_weights() const {
    const ghost::ScopeGuard guard(node().scope);
    Tensor A = ghost::arange(config_.state_size, DType::float32).unsqueeze(0);
    A = A.expand({config_.intermediate_size, -1}).contiguous();
    ghost::plain_unary("log", A);
    const InitialTimeSteps steps(config_.intermediate_size, DType::float32);
  }

 private:
  /// The scan's arguments and what it gives, as locals of forward.
  struct Scanned {
    Tensor output, final_state;
  };
  Scanned scan(SelectiveScan scan, LinearLayer* layer) const;

  /// What the fused kernel would be given, before it is found missing.
  void look_for_mamba_inner_fn() const {
    Tensor out_proj_bias;
    if (config_.use_bias) out_proj_bias = out_proj_.bias.to_float();
    const Tensor D = d_.to_float();
    const Tensor delta_bias = dt_proj_.bias.to_float();
  }

  MambaMixerConfig config_;
  nn::Convolution conv1d_;
  nn::Linear in_proj_, x_proj_, dt_proj_;
  Tensor a_log_, d_;
  nn::Linear out_proj_;
  std::optional<WeightlessRMSNorm> dt_layernorm_, b_layernorm_, c_layernorm_;
};

/// One token by the state that is held, which it changes; a prompt by the whole scan, whose last
/// state is kept.
MambaMixer::Scanned MambaMixer::scan(SelectiveScan scan, LinearLayer* layer) const {
  Scanned scanned;
  if (is_one_more_token(layer, scan.hidden_states.size(2))) {
    scanned.output = StateUpdate{.hidden_states = scan.hidden_states.select(2),
                                 .dt = scan.dt.select(2),
                                 .A = scan.A,
                                 .B = scan.B.select(1),
                                 .C = scan.C.select(1),
                                 .D = d_,
                                 .z = scan.z.select(2),
                                 .dt_bias = scan.delta_bias}
                         .run(layer->recurrent_states)
                         .unsqueeze(-1);
    return scanned;
  }
  scan.D = d_.to_float();
  scanned.output = scan.run();
  if (layer) scanned.final_state = scan.ssm_state;
  scan = {};
  if (layer) layer->update_recurrent_state(scanned.final_state);
  return scanned;
}

Tensor MambaMixer::forward(const Tensor& x, const Tensor& attention_mask) {
  LinearLayer* const layer = KeyValueCache::linear_layer();
  const DType dtype = x.dtype();
  const Tensor hidden_states = without_padding(x, attention_mask);
  const Tensor projected_states = in_proj_(hidden_states).transpose(1, 2);
  const Tensor A = ghost::exp(a_log_.to_float()).neg();
  if (ghost::session().training && !layer) look_for_mamba_inner_fn();
  const std::vector<Tensor> halves = projected_states.chunk(2, 1);
  Tensor hidden_states_B_C = cached_conv1d(halves[0], layer, conv1d_, config_.activation);
  hidden_states_B_C = without_padding(hidden_states_B_C.transpose(1, 2), attention_mask);

  const std::array<std::int64_t, 3> parts{config_.time_step_rank, config_.state_size,
                                          config_.state_size};
  std::vector<Tensor> split = x_proj_(hidden_states_B_C).split(parts, -1);
  Tensor time_step = std::move(split[0]), B = std::move(split[1]), C = std::move(split[2]);
  if (config_.has_norms) {
    time_step = (*dt_layernorm_)(time_step);
    B = (*b_layernorm_)(B);
    C = (*c_layernorm_)(C);
  }
  time_step = dt_proj_.weight.matmul(time_step.transpose(1, 2));
  const Tensor time_proj_bias = dt_proj_.bias.to_float();
  const Scanned scanned = scan({.hidden_states = hidden_states_B_C.transpose(1, 2),
                                .dt = time_step,
                                .A = A,
                                .B = B,
                                .C = C,
                                .D = {},
                                .z = halves[1],
                                .delta_bias = time_proj_bias},
                               layer);
  return out_proj_(scanned.output.transpose(1, 2).to(dtype));
}

}  // namespace

ModelPointer build_mamba(const Config& c, const ModelOptions& options) {
  return build_checked<MambaForCausalLM<MambaMixer, MambaConfig>>(c, MambaConfig(c, false),
                                                                  options);
}

ModelPointer build_falcon_mamba(const Config& c, const ModelOptions& options) {
  return build_checked<MambaForCausalLM<MambaMixer, MambaConfig>>(c, MambaConfig(c, true), options);
}

}  // namespace memtape::family
