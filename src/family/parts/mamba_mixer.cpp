// SPDX-License-Identifier: Apache-2.0
#include "family/parts/mamba_mixer.h"

#include <array>
#include <utility>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/softplus.h"
#include "ghost/ops/views.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// apply_mask_to_padding_states
Tensor without_padding(const Tensor& hidden_states, const Tensor& attention_mask) {
  if (!attention_mask.defined()) return hidden_states;
  return hidden_states.mul(attention_mask.unsqueeze(-1)).to(hidden_states.dtype());
}

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
    ssm_state = discrete_A.select(2, index).mul(ssm_state).add(deltaB_u.select(2, index));
    scan_output = ssm_state.to(input_dtype).matmul(C.select(1, index).unsqueeze(-1));
    scan_outputs.push_back(scan_output.select(2, index));
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

/// The scan's arguments and what it gives, as locals of forward.
struct Scanned {
  Tensor output, final_state;
};

/// One token by the state that is held, which it changes; a prompt by the whole scan, whose last
/// state is kept. `d` is the mixer's D.
Scanned scan_or_update(SelectiveScan scan, const Tensor& d, LinearLayer* layer) {
  Scanned scanned;
  if (layer && layer->recurrent_states.defined() && scan.hidden_states.size(2) == 1) {
    scanned.output = StateUpdate{.hidden_states = scan.hidden_states.select(2, 0),
                                 .dt = scan.dt.select(2, 0),
                                 .A = scan.A,
                                 .B = scan.B.select(1, 0),
                                 .C = scan.C.select(1, 0),
                                 .D = d,
                                 .z = scan.z.select(2, 0),
                                 .dt_bias = scan.delta_bias}
                         .run(layer->recurrent_states)
                         .unsqueeze(-1);
    return scanned;
  }
  scan.D = d.to_float();
  scanned.output = scan.run();
  if (layer) scanned.final_state = scan.ssm_state;
  scan = {};
  if (layer) layer->update_recurrent_state(scanned.final_state);
  return scanned;
}

}  // namespace

Tensor rms_forward(const Tensor& x) {
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  return hidden_states.to(x.dtype());
}

WeightlessRMSNorm::WeightlessRMSNorm(const nn::Scope& scope, std::int64_t size) : Module(scope) {
  scope.buffer("weight", ghost::ones({size}, scope.dtype()));
}

Tensor WeightlessRMSNorm::forward(const Tensor& x) {
  const auto norm = [](const Tensor& states) {
    return states.mul(ghost::rsqrt(states.pow(2).mean(-1, true).add(1e-6)));
  };
  const Tensor normed = norm(x.to_float());
  return normed.to(x.dtype());
}

/// torch.arange(...)[None, :].expand(intermediate_size, -1).contiguous()
Tensor MambaMixer::rows_of_numbers(const MambaMixerConfig& c, DType dtype) {
  Tensor A = ghost::arange(c.state_size, dtype).unsqueeze(0);
  A = A.expand({c.intermediate_size, -1}).contiguous();
  return A;
}

void MambaMixer::init_weights() const {
  const ghost::ScopeGuard guard(node().scope);
  const bool jamba = config_.norms == ScanNorms::rms;
  const Tensor A = rows_of_numbers(config_, jamba ? DType::int64 : DType::float32);
  if (jamba) {
    ghost::zeros(A.sizes(), a_log_.dtype());  // torch.log(A)
    return;
  }
  ghost::log(A);
  const InitialTimeSteps steps(config_.intermediate_size, DType::float32);
}

/// What the fused kernel would be given, before it is found missing.
void MambaMixer::look_for_mamba_inner_fn() const {
  Tensor out_proj_bias;
  if (config_.use_bias) out_proj_bias = out_proj_.bias.to_float();
  const Tensor D = d_.to_float();
  const Tensor delta_bias = dt_proj_.bias.to_float();
}

void MambaMixer::norm_scan_inputs(Tensor& time_step, Tensor& B, Tensor& C) {
  if (config_.norms == ScanNorms::weightless && !dt_layernorm_) {
    B = rms_forward(B);
    C = rms_forward(C);
    time_step = rms_forward(time_step);
  }
  if (dt_layernorm_) {
    time_step = (*dt_layernorm_)(time_step);
    B = (*b_layernorm_)(B);
    C = (*c_layernorm_)(C);
  } else if (dt_norm_) {
    time_step = (*dt_norm_)(time_step);
    B = (*b_norm_)(B);
    C = (*c_norm_)(C);
  }
}

/// slow_forward, before the scan was a function of its own: time steps by the projection itself,
/// whose bias it adds.
Tensor MambaMixer::slow_forward(const Tensor& x, const Tensor& attention_mask) {
  const std::int64_t seq_len = x.size(1);
  const DType dtype = x.dtype();
  const Tensor projected_states = in_proj_(x).transpose(1, 2);
  std::vector<Tensor> halves = projected_states.chunk(2, 1);
  Tensor hidden_states = std::move(halves[0]);
  const Tensor gate = std::move(halves[1]);
  if (attention_mask.defined()) hidden_states = hidden_states.mul(attention_mask.unsqueeze(1));
  Tensor ssm_state =
      ghost::zeros({x.size(0), config_.intermediate_size, config_.state_size}, dtype);
  hidden_states = causal_conv1d(hidden_states, conv1d_, config_.activation);
  if (attention_mask.defined()) hidden_states = hidden_states.mul(attention_mask.unsqueeze(1));

  const Tensor ssm_parameters = x_proj_(hidden_states.transpose(1, 2));
  const std::array<std::int64_t, 3> parts{config_.time_step_rank, config_.state_size,
                                          config_.state_size};
  std::vector<Tensor> split = ssm_parameters.split(parts, -1);
  Tensor time_step = std::move(split[0]), B = std::move(split[1]), C = std::move(split[2]);
  norm_scan_inputs(time_step, B, C);
  Tensor discrete_time_step = dt_proj_(time_step);
  discrete_time_step = ghost::softplus(discrete_time_step).transpose(1, 2);
  const auto whole = [](const Tensor& tensor, int colons) {
    return ghost::indexed_by_colons(tensor, colons);
  };
  const Tensor A = ghost::exp(a_log_.to_float()).neg();
  const Tensor discrete_A = ghost::exp(
      whole(A, 2).unsqueeze(0).unsqueeze(2).mul(whole(discrete_time_step, 3).unsqueeze(3)));
  const Tensor discrete_B =
      whole(discrete_time_step, 3).unsqueeze(3).mul(whole(B, 3).unsqueeze(1).to_float());
  const Tensor deltaB_u = discrete_B.mul(whole(hidden_states, 3).unsqueeze(3).to_float());

  std::vector<Tensor> scan_outputs;
  Tensor scan_output;
  for (std::int64_t i = 0; i < seq_len; ++i) {
    ssm_state = whole(whole(discrete_A, 2).select(2, i), 1).mul(ssm_state);
    ssm_state = ssm_state.add(whole(whole(deltaB_u, 2).select(2, i), 1));
    const Tensor in_dtype = ssm_state.to(dtype);
    scan_output = in_dtype.matmul(whole(whole(C, 1).select(1, i), 1).unsqueeze(-1));
    scan_outputs.push_back(whole(scan_output, 2).select(2, i));
  }
  scan_output = ghost::stack_last(scan_outputs);
  scan_output = scan_output.add(hidden_states.mul(whole(d_, 1).unsqueeze(0).unsqueeze(2)));
  scan_output = scan_output.mul(config_.activation(gate));
  return out_proj_(scan_output.transpose(1, 2));
}

Tensor MambaMixer::forward(const Tensor& x, const Tensor& attention_mask) {
  if (!ghost::has(changes::kMambaScansByFunctions) && !KeyValueCache::linear_layer())
    return slow_forward(x, attention_mask);
  LinearLayer* const layer = KeyValueCache::linear_layer();
  const DType dtype = x.dtype();
  const Tensor hidden_states = without_padding(x, attention_mask);
  const Tensor projected_states = in_proj_(hidden_states).transpose(1, 2);
  const Tensor A = ghost::exp(a_log_.to_float()).neg();
  if (config_.norms != ScanNorms::rms && ghost::session().training && !layer)
    look_for_mamba_inner_fn();
  const std::vector<Tensor> halves = projected_states.chunk(2, 1);
  Tensor hidden_states_B_C = cached_conv1d(halves[0], layer, conv1d_, config_.activation);
  hidden_states_B_C = without_padding(hidden_states_B_C.transpose(1, 2), attention_mask);

  const std::array<std::int64_t, 3> parts{config_.time_step_rank, config_.state_size,
                                          config_.state_size};
  std::vector<Tensor> split = x_proj_(hidden_states_B_C).split(parts, -1);
  Tensor time_step = std::move(split[0]), B = std::move(split[1]), C = std::move(split[2]);
  norm_scan_inputs(time_step, B, C);
  time_step = dt_proj_.weight.matmul(time_step.transpose(1, 2));
  const Tensor time_proj_bias = dt_proj_.bias.to_float();
  const Scanned scanned = scan_or_update({.hidden_states = hidden_states_B_C.transpose(1, 2),
                                          .dt = time_step,
                                          .A = A,
                                          .B = B,
                                          .C = C,
                                          .D = {},
                                          .z = halves[1],
                                          .delta_bias = time_proj_bias},
                                         d_, layer);
  return out_proj_(scanned.output.transpose(1, 2).to(dtype));
}

}  // namespace memtape::family
