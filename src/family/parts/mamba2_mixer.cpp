// SPDX-License-Identifier: Apache-2.0
#include "family/parts/mamba2_mixer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "family/parts/config_checks.h"
#include "family/parts/forward_arguments.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/convolution.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/einsum.h"
#include "ghost/ops/expm1.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/padding.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/scan.h"
#include "ghost/ops/softplus.h"
#include "ghost/ops/triangular.h"
#include "ghost/ops/views.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// torch.tril(torch.ones(size, size, dtype=torch.bool), diagonal).
Tensor lower_triangle(std::int64_t size, int diagonal) {
  return ghost::tril(ghost::ones({size, size}, DType::boolean), diagonal);
}

/// The argument is gone where its name is given to something else.
Tensor segment_sum(const In& given) {
  Tensor input_tensor = *given;
  given.release();
  const std::int64_t chunk_size = input_tensor.size(-1);
  input_tensor = input_tensor.unsqueeze(-1).expand(input_tensor.sizes().with(chunk_size));
  Tensor mask = lower_triangle(chunk_size, -1);
  input_tensor = ghost::masked_fill(input_tensor, ghost::bitwise_not(mask), 0);
  Tensor tensor_segsum = ghost::cumsum(input_tensor, -2);
  mask = lower_triangle(chunk_size, 0);
  tensor_segsum = ghost::masked_fill(tensor_segsum, ghost::bitwise_not(mask), ghost::kLowest);
  return tensor_segsum;
}

/// [B, S, ...] to [B, chunks, chunk, ...], padded at the end.
Tensor reshape_into_chunks(const Tensor& input, std::int64_t pad_size, std::int64_t chunk_size) {
  const Tensor padded = ghost::pad(input, 1, 0, pad_size);
  Dims sizes = padded.sizes();
  sizes[1] = -1;
  sizes.insert(2, chunk_size);
  return padded.reshape(sizes);
}

/// mamba2_chunk_scan's arguments, and its locals of the same names.
struct ChunkScan {
  Tensor hidden_states, dt, A, B, C;
  Tensor D, dt_bias;
  std::int64_t chunk_size;
  Tensor D_residual = {}, final_state = {};
  std::int64_t sequence_length = 0;

  Tensor run();

 private:
  Tensor run_by_einsum(const Tensor& A_cumsum, std::int64_t pad_size);
  void discretize(std::int64_t pad_size);
  void chunk(std::int64_t pad_size);
};

/// Time steps, and x, A, B and C of every head in float32.
void ChunkScan::discretize(std::int64_t pad_size) {
  const std::int64_t repeats = hidden_states.size(2) / B.size(2);
  dt = dt.add(dt_bias.to(dt.dtype()));
  dt = ghost::softplus(dt);
  dt = ghost::clamp(dt, {.min = 0, .max = ghost::kLimit});
  hidden_states = hidden_states.to_float();
  B = ghost::repeat_interleave(B.to_float(), repeats, 2);
  C = ghost::repeat_interleave(C.to_float(), repeats, 2);
  D_residual = D.unsqueeze(-1).mul(ghost::pad(hidden_states, 1, 0, pad_size));
  hidden_states = hidden_states.mul(dt.unsqueeze(-1).to_float());
  A = A.to(hidden_states.dtype()).mul(dt.to_float());
}

/// The four as chunks: a list of all of them is made before the names are given to its items.
void ChunkScan::chunk(std::int64_t pad_size) {
  Tensor hidden_chunks = reshape_into_chunks(hidden_states, pad_size, chunk_size);
  Tensor A_chunks = reshape_into_chunks(A, pad_size, chunk_size);
  Tensor B_chunks = reshape_into_chunks(B, pad_size, chunk_size);
  C = reshape_into_chunks(C, pad_size, chunk_size);
  hidden_states = std::move(hidden_chunks);
  A = std::move(A_chunks);
  B = std::move(B_chunks);
}

Tensor ChunkScan::run() {
  const std::int64_t batch_size = hidden_states.size(0), num_heads = hidden_states.size(2),
                     head_dim = hidden_states.size(3);
  sequence_length = hidden_states.size(1);
  const std::int64_t pad_size = (chunk_size - sequence_length % chunk_size) % chunk_size;
  discretize(pad_size);
  chunk(pad_size);
  A = A.permute({0, 3, 1, 2});
  const Tensor A_cumsum = ghost::cumsum(A, -1);

  if (ghost::has(changes::kChunkScanByEinsum)) return run_by_einsum(A_cumsum, pad_size);

  const Tensor L = ghost::exp(segment_sum(A));
  const Tensor G = C.unsqueeze(3).mul(B.unsqueeze(2)).sum(-1);
  const Tensor M = G.unsqueeze(-1).mul(L.permute({0, 2, 3, 4, 1}).unsqueeze(-1)).sum(-1);
  const Tensor Y_diag = M.unsqueeze(-1).mul(hidden_states.unsqueeze(2)).sum(3);

  const Tensor decay_states =
      ghost::exp(A_cumsum.slice(-1, chunk_size - 1, chunk_size).sub(A_cumsum));
  const Tensor B_decay = B.mul(decay_states.permute({0, -2, -1, 1}).unsqueeze(-1));
  Tensor states = B_decay.unsqueeze(-2).mul(hidden_states.unsqueeze(-1)).sum(2);

  const Tensor previous_states = ghost::zeros_like(states.slice(1, 0, 1));
  states = ghost::cat({previous_states, states}, 1);
  const Tensor decay_chunk =
      ghost::exp(segment_sum(ghost::pad_last(A_cumsum.select(3, -1), 1, 0))).transpose(1, 3);
  const Tensor new_states = decay_chunk.unsqueeze(-1).unsqueeze(-1).mul(states.unsqueeze(2)).sum(1);
  states = new_states.slice(1, 0, -1);
  final_state = new_states.select(1, -1);

  const Tensor state_decay_out = ghost::exp(A_cumsum);
  const Tensor C_times_states = C.unsqueeze(-2).mul(states.unsqueeze(2));
  const Tensor Y_off =
      C_times_states.sum(-1).mul(state_decay_out.permute({0, 2, 3, 1}).unsqueeze(-1));

  Tensor output = Y_diag.add(Y_off);
  output = output.reshape({batch_size, -1, num_heads, head_dim});
  output = output.add(D_residual);
  if (pad_size > 0) output = output.slice(1, 0, sequence_length);
  return output;
}

/// The same from the scan's second line on, with contractions in the place of products and sums.
Tensor ChunkScan::run_by_einsum(const Tensor& A_cumsum, std::int64_t pad_size) {
  const Tensor L = ghost::exp(segment_sum(A));
  const Tensor G = ghost::einsum("bclhn,bcshn->bclsh", C, B);
  const Tensor M = G.mul(L.permute({0, 2, 3, 4, 1}));
  const Tensor Y_diag = ghost::einsum("bclsh,bcshp->bclhp", M, hidden_states);

  const Tensor decay_states =
      ghost::exp(A_cumsum.slice(-1, chunk_size - 1, chunk_size).sub(A_cumsum));
  const Tensor B_decay = B.mul(decay_states.permute({0, -2, -1, 1}).unsqueeze(-1));
  Tensor states = ghost::einsum("bclhn,bclhp->bchpn", B_decay, hidden_states);

  const Tensor previous_states = ghost::zeros_like(states.slice(1, 0, 1));
  states = ghost::cat({previous_states, states}, 1);
  const Tensor decay_chunk =
      ghost::exp(segment_sum(ghost::pad_last(A_cumsum.select(3, -1), 1, 0))).transpose(1, 3);
  const Tensor new_states = ghost::einsum("bzch,bzhpn->bchpn", decay_chunk, states);
  states = new_states.slice(1, 0, -1);
  final_state = new_states.select(1, -1);

  const Tensor state_decay_out = ghost::exp(A_cumsum);
  const Tensor C_times_states = ghost::einsum("bclhn,bchpn->bclhp", C, states);
  const Tensor Y_off = C_times_states.mul(state_decay_out.permute({0, 2, 3, 1}).unsqueeze(-1));

  Tensor output = Y_diag.add(Y_off).contiguous();
  output = output.reshape({hidden_states.size(0), -1, Y_off.size(3), Y_off.size(4)});
  output = output.add(D_residual);
  if (pad_size > 0) output = output.slice(1, 0, sequence_length);
  return output;
}

/// Where out_proj goes: what is before it may be given its values first.
nn::Scope out_proj_scope(const nn::Scope& scope, const Mamba2MixerConfig& c) {
  if (c.initializes_early && ghost::has(changes::kMambaScansByFunctions))
    ghost::log(ghost::arange(c.num_heads, DType::float32));
  return scope / "out_proj";
}

/// torch.arange(1, num_heads + 1), a local of __init__ whose logarithm becomes A_log.
Tensor decays(const nn::Scope& scope, const Mamba2MixerConfig& c) {
  const ghost::ScopeGuard guard(scope.node().scope);
  if (!c.initializes_early || ghost::has(changes::kMambaScansByFunctions)) return {};
  return ghost::arange(c.num_heads, DType::int64);
}

}  // namespace

void check_mixer(const Config& c, const char* heads_key, const Mamba2MixerConfig& mixer) {
  check_divides(c, "n_groups", mixer.n_groups, mixer.num_heads);
  if (mixer.num_heads * mixer.head_dim != mixer.intermediate_size)
    c.fail(heads_key, "times head_dim must be " + std::to_string(mixer.intermediate_size));
}

std::int64_t gated_norm_group_size(const Mamba2MixerConfig& mixer) {
  const bool by_group = ghost::has(changes::kGatedNormOfGroups);
  return by_group ? mixer.intermediate_size / std::max<std::int64_t>(mixer.n_groups, 1)
                  : mixer.intermediate_size;
}

Mamba2MixerConfig bamba_mixer_config(const Config& c, std::int64_t hidden_size,
                                     std::int64_t intermediate_size, nn::Activation activation) {
  Mamba2MixerConfig mixer{.hidden_size = hidden_size,
                          .intermediate_size = intermediate_size,
                          .num_heads = c.dimension("mamba_n_heads", 128),
                          .head_dim = 0,
                          .state_size = c.dimension("mamba_d_state", 256),
                          .n_groups = c.dimension("mamba_n_groups", 1),
                          .conv_kernel = c.dimension("mamba_d_conv", 4),
                          .chunk_size = c.dimension("mamba_chunk_size", 256),
                          .norm_group_size = 0,
                          .use_bias = c.boolean("mamba_proj_bias", false),
                          .use_conv_bias = c.boolean("mamba_conv_bias", true),
                          .activation = activation,
                          .initializes_early = true};
  const bool given = c.has("mamba_d_head") && c.json("mamba_d_head") != "\"auto\"";
  mixer.head_dim = given ? c.dimension("mamba_d_head")
                         : std::max<std::int64_t>(mixer.intermediate_size / mixer.num_heads, 1);
  check_mixer(c, "mamba_n_heads", mixer);
  mixer.norm_group_size = gated_norm_group_size(mixer);
  return mixer;
}

GatedRMSNorm::GatedRMSNorm(const nn::Scope& scope, std::int64_t size, std::int64_t group_size,
                           MixerGate gate)
    : Module(scope),
      group_size_(group_size),
      gate_(gate),
      weight_(gate == MixerGate::alone ? Tensor() : scope.parameter("weight", {size})) {}

Tensor GatedRMSNorm::forward_falcon_h1(const Tensor& x, const Tensor& gate) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x;
  if (gate_ == MixerGate::before_norm)
    hidden_states = hidden_states.mul(ghost::silu(gate.to_float()));
  hidden_states = hidden_states.to_float();
  const Dims sizes = hidden_states.sizes();
  hidden_states = hidden_states.view(sizes.leading().with(-1).with(group_size_));
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  hidden_states = weight_.view({-1, group_size_}).mul(hidden_states);
  hidden_states = hidden_states.view(sizes);
  if (gate_ == MixerGate::behind_norm)
    hidden_states = hidden_states.mul(ghost::silu(gate.to_float()));
  return hidden_states.to(input_dtype);
}

Tensor GatedRMSNorm::forward(const Tensor& x, const Tensor& gate) {
  if (gate_ == MixerGate::alone) return x.mul(ghost::silu(gate));
  if (gate_ != MixerGate::mamba) return forward_falcon_h1(x, gate);
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  hidden_states = hidden_states.mul(ghost::silu(gate.to_float()));
  const Dims sizes = hidden_states.sizes();
  Tensor hidden_states_group = hidden_states.view(sizes.leading().with(-1).with(group_size_));
  const Tensor variance = hidden_states_group.pow(2).mean(-1, true);
  hidden_states_group = hidden_states_group.mul(ghost::rsqrt(variance.add(1e-6)));
  hidden_states = hidden_states_group.view(sizes);
  return weight_.mul(hidden_states.to(input_dtype));
}

Mamba2Mixer::Mamba2Mixer(const nn::Scope& scope, const Mamba2MixerConfig& c)
    : Module(scope),
      config_(c),
      scope_(scope),
      conv1d_(scope / "conv1d", Dims{c.conv_dim(), 1, c.conv_kernel}, c.use_conv_bias),
      in_proj_(scope / "in_proj", c.hidden_size, c.projection_size(), c.use_bias),
      dt_bias_(scope.parameter("dt_bias", {c.num_heads})),
      decays_(decays(scope, c)),
      a_log_(scope.parameter("A_log", {c.num_heads})),
      norm_(scope / "norm", c.intermediate_size, c.norm_group_size, c.gate),
      d_(scope.parameter("D", {c.num_heads})),
      out_proj_(out_proj_scope(scope, c), c.intermediate_size, c.hidden_size,
                c.use_out_bias.value_or(c.use_bias)) {
  decays_.reset();
}

void Mamba2Mixer::register_mup_vector(const Tensor& mup_vector) {
  const ghost::ScopeGuard guard(node().scope);
  mup_vector_ = mup_vector.clone();
  scope_.buffer("mup_vector", mup_vector_);
}

Tensor causal_conv1d(const Tensor& hidden_states, const nn::Convolution& conv1d,
                     const nn::Activation& activation) {
  const Tensor weight = conv1d.weight.squeeze(1);
  const std::int64_t seq_len = hidden_states.size(-1), padding = weight.size(-1) - 1;
  if (!ghost::has(changes::kMambaScansByFunctions)) {
    const Tensor out = ghost::depthwise_conv1d(hidden_states, conv1d.weight, conv1d.bias, padding);
    return activation(ghost::indexed_by_colons(out, 2).slice(-1, 0, seq_len));
  }
  Tensor out = ghost::depthwise_conv1d(hidden_states.to(weight.dtype()), weight.unsqueeze(1),
                                       conv1d.bias, padding)
                   .slice(-1, 0, seq_len);
  out = activation(out);
  return out.to(hidden_states.dtype());
}

Tensor causal_conv1d_update(const Tensor& hidden_states, LinearLayer& layer,
                            const nn::Convolution& conv1d, const nn::Activation& activation) {
  const Tensor weight = conv1d.weight.squeeze(1);
  const std::int64_t seq_len = hidden_states.size(-1);
  const Tensor hidden_states_new =
      ghost::cat({layer.conv_states, hidden_states}, -1).to(weight.dtype());
  Tensor out = ghost::depthwise_conv1d(hidden_states_new, weight.unsqueeze(1), conv1d.bias, 0);
  out = out.slice(-1, out.size(-1) - seq_len, out.size(-1));
  out = activation(out);
  return out.to(hidden_states.dtype());
}

Tensor cached_conv1d(Tensor hidden_states, LinearLayer* layer, const nn::Convolution& conv1d,
                     const nn::Activation& activation) {
  const std::int64_t seq_len = hidden_states.size(-1);
  if (is_one_more_token(layer, seq_len))
    return causal_conv1d_update(hidden_states, *layer, conv1d, activation);
  if (layer) layer->update_conv_state(hidden_states, conv1d.weight.size(-1));
  hidden_states = causal_conv1d(hidden_states, conv1d, activation);
  if (layer)  // x[:, :, -seq:], a slice even of all
    hidden_states = ghost::strided_slice(hidden_states, -1, hidden_states.size(-1) - seq_len, 1);
  return hidden_states;
}

/// mamba2_selective_state_update
Tensor Mamba2Mixer::update_state(Step step, LinearLayer& layer) const {
  const Mamba2MixerConfig& c = config_;
  const std::int64_t batch_size = step.hidden_states.size(0);
  const Dims of_groups{batch_size, c.n_groups, 1, c.state_size};
  const Dims of_heads{batch_size, c.n_groups, c.num_heads / c.n_groups, c.state_size};
  const Tensor hidden_states = step.hidden_states.view({batch_size, c.num_heads, c.head_dim});
  Tensor dt = step.dt.transpose(1, 2).expand({-1, -1, c.head_dim});
  const Tensor dt_bias = dt_bias_.unsqueeze(-1).expand({-1, c.head_dim});
  dt = dt.add(dt_bias.to(dt.dtype()));
  dt = ghost::softplus(dt);
  dt = dt.unsqueeze(-1);
  const Tensor A = step.A.unsqueeze(-1).unsqueeze(-1).expand({-1, c.head_dim, c.state_size});
  const Tensor dA = ghost::exp(dt.to_float().mul(A));
  Tensor B = step.B.reshape(of_groups);
  B = B.expand(of_heads).contiguous();
  B = B.reshape({batch_size, c.num_heads, 1, c.state_size});
  const Tensor dB = dt.mul(B);
  const Tensor dBx = dB.mul(hidden_states.unsqueeze(-1));
  Tensor ssm_states = layer.recurrent_states.mul(dA).add(dBx);
  Tensor C = step.C.reshape(of_groups);
  C = C.expand(of_heads).contiguous();
  C = C.reshape({batch_size, c.num_heads, c.state_size});
  ssm_states = ssm_states.to(C.dtype());
  const Tensor states = ssm_states.view({batch_size * c.num_heads, c.head_dim, c.state_size});
  Tensor out = ghost::bmm(states, C.view({batch_size * c.num_heads, c.state_size, 1}));
  out = out.view({batch_size, c.num_heads, c.head_dim});
  out = out.add(hidden_states.mul(d_.unsqueeze(-1).expand({-1, c.head_dim}))).to(out.dtype());
  if (step.z.defined()) out = out.mul(ghost::silu(step.z.view(out.sizes())));
  return out.to(hidden_states.dtype()).view({batch_size, 1, -1});
}

/// mamba2_chunk_scan
Mamba2Mixer::Scanned Mamba2Mixer::scan_chunks(const Step& whole, LinearLayer* layer) const {
  const Mamba2MixerConfig& c = config_;
  const std::int64_t batch_size = whole.hidden_states.size(0),
                     seq_len = whole.hidden_states.size(1);
  const Dims of_groups{batch_size, seq_len, c.n_groups, c.state_size};
  ChunkScan scan{
      .hidden_states = whole.hidden_states.view({batch_size, seq_len, c.num_heads, c.head_dim}),
      .dt = whole.dt,
      .A = whole.A,
      .B = whole.B.view(of_groups),
      .C = whole.C.view(of_groups),
      .D = d_,
      .dt_bias = dt_bias_,
      .chunk_size = c.chunk_size};
  Scanned scanned;
  scanned.output = scan.run();
  if (layer) scanned.final_state = scan.final_state;
  scan = {};
  if (layer) layer->update_recurrent_state(scanned.final_state);
  scanned.output = scanned.output.reshape({batch_size, seq_len, -1});
  return scanned;
}

/// The first half of torch_forward: time steps, and the four as chunks of every head in float32.
Mamba2Mixer::TorchFrame Mamba2Mixer::discretized(const Tensor& x) {
  const Mamba2MixerConfig& c = config_;
  const std::int64_t batch_size = x.size(0), seq_len = x.size(1), state = c.n_groups * c.state_size;
  const std::int64_t repeats = c.num_heads / c.n_groups;
  TorchFrame f{.input_states = x};
  if (c.is_multiplied) f.input_states = f.input_states.mul(ghost::kScale);  // ssm_in_multiplier
  Tensor projected_states = in_proj_(f.input_states);
  if (c.is_multiplied) projected_states = projected_states.mul(mup_vector_);
  const std::array<std::int64_t, 3> parts{c.intermediate_size, c.conv_dim(), c.num_heads};
  f.split = projected_states.split(parts, -1);
  f.hidden_states_B_C =
      causal_conv1d(f.split[1].transpose(1, 2), conv1d_, c.activation).transpose(1, 2);
  const std::array<std::int64_t, 3> lengths{c.intermediate_size, state, state};
  std::vector<Tensor> x_B_C = f.hidden_states_B_C.split(lengths, -1);
  f.hidden_states = std::move(x_B_C[0]);
  f.B = std::move(x_B_C[1]);
  f.C = std::move(x_B_C[2]);
  if (!c.keeps_convolved) f.hidden_states_B_C.reset();

  f.A = ghost::exp(a_log_.to_float()).neg();
  f.dt = ghost::softplus(f.split[2].add(dt_bias_));
  const std::optional<double> most =
      c.scans_by_heads ? std::optional<double>() : std::optional<double>(ghost::kLimit);
  f.dt = ghost::clamp(f.dt, {.min = 0, .max = most});
  f.hidden_states = f.hidden_states.reshape({batch_size, seq_len, -1, c.head_dim}).to_float();
  f.B = f.B.reshape({batch_size, seq_len, -1, c.state_size}).to_float();
  f.C = f.C.reshape({batch_size, seq_len, -1, c.state_size}).to_float();
  f.B = ghost::repeat_interleave(f.B, repeats, 2);
  f.C = ghost::repeat_interleave(f.C, repeats, 2);
  f.pad_size = (c.chunk_size - seq_len % c.chunk_size) % c.chunk_size;
  f.D_residual = d_.unsqueeze(-1).mul(ghost::pad(f.hidden_states, 1, 0, f.pad_size));
  f.hidden_states = f.hidden_states.mul(f.dt.unsqueeze(-1));
  f.A = f.A.to(f.hidden_states.dtype()).mul(f.dt);
  Tensor hidden_chunks = reshape_into_chunks(f.hidden_states, f.pad_size, c.chunk_size);
  Tensor A_chunks = reshape_into_chunks(f.A, f.pad_size, c.chunk_size);
  Tensor B_chunks = reshape_into_chunks(f.B, f.pad_size, c.chunk_size);
  f.C = reshape_into_chunks(f.C, f.pad_size, c.chunk_size);
  f.hidden_states = std::move(hidden_chunks);
  f.A = std::move(A_chunks);
  f.B = std::move(B_chunks);
  return f;
}

/// What each chunk leaves behind, and what the chunks before it do (models/zamba2/modeling_zamba2.py
/// of 5.14 where heads come first, else models/mamba2/modeling_mamba2.py).
Mamba2Mixer::TorchStates Mamba2Mixer::chunk_states(const TorchFrame& frame, const Tensor& A_cumsum,
                                                   const Tensor& decay_states) const {
  const bool by_heads = config_.scans_by_heads;
  TorchStates f;
  f.B_decay = frame.B.mul(decay_states.permute({0, -2, -1, 1}).unsqueeze(-1));
  if (by_heads)
    f.states = f.B_decay.permute({0, 1, 3, 2, 4})
                   .unsqueeze(-1)
                   .mul(frame.hidden_states.permute({0, 1, 3, 2, 4}).unsqueeze(-2))
                   .sum(3)
                   .permute({0, 1, 2, 4, 3});
  else
    f.states = f.B_decay.unsqueeze(-2).mul(frame.hidden_states.unsqueeze(-1)).sum(2);
  f.previous_states = ghost::zeros_like(f.states.slice(1, 0, 1));
  f.states = ghost::cat({f.previous_states, f.states}, 1);
  f.decay_chunk = ghost::exp(segment_sum(ghost::pad_last(A_cumsum.select(3, -1), 1, 0)));
  if (by_heads) {
    f.new_states = f.decay_chunk.unsqueeze(-1)
                       .unsqueeze(-1)
                       .mul(f.states.permute({0, 2, 1, 3, 4}).unsqueeze(2))
                       .sum(2)
                       .permute({0, 2, 1, 3, 4});
  } else {
    f.decay_chunk = std::move(f.decay_chunk).transpose(1, 3);
    f.new_states = f.decay_chunk.unsqueeze(-1).unsqueeze(-1).mul(f.states.unsqueeze(2)).sum(1);
  }
  f.states = f.new_states.slice(1, 0, -1);
  return f;
}

/// torch_forward, before the scan was a function of its own: what it makes by the way lives until
/// the projection behind it has run.
Tensor Mamba2Mixer::torch_forward(const Tensor& x) {
  const Mamba2MixerConfig& c = config_;
  TorchFrame frame = discretized(x);
  Tensor &hidden_states = frame.hidden_states, &A = frame.A, &B = frame.B, &C = frame.C;
  A = A.permute({0, 3, 1, 2});
  const Tensor A_cumsum = ghost::cumsum(A, -1);

  const Tensor L = ghost::exp(segment_sum(A));
  const Tensor G_intermediate = C.unsqueeze(3).mul(B.unsqueeze(2));
  const Tensor G = G_intermediate.sum(-1);
  const Tensor M_intermediate = G.unsqueeze(-1).mul(L.permute({0, 2, 3, 4, 1}).unsqueeze(-1));
  const Tensor M = M_intermediate.sum(-1);
  const Tensor Y_diag = M.unsqueeze(-1).mul(hidden_states.unsqueeze(2)).sum(3);

  const Tensor decay_states =
      ghost::exp(A_cumsum.slice(-1, c.chunk_size - 1, c.chunk_size).sub(A_cumsum));
  const TorchStates of_chunks = chunk_states(frame, A_cumsum, decay_states);

  const Tensor state_decay_out = ghost::exp(A_cumsum);
  const Tensor C_times_states = C.unsqueeze(-2).mul(of_chunks.states.unsqueeze(2));
  const Tensor Y_off =
      C_times_states.sum(-1).mul(state_decay_out.permute({0, 2, 3, 1}).unsqueeze(-1));
  Tensor y = Y_diag.add(Y_off);
  y = y.reshape({x.size(0), -1, c.num_heads, c.head_dim});
  y = y.add(frame.D_residual);
  if (frame.pad_size > 0) y = y.slice(1, 0, x.size(1));
  y = y.reshape({x.size(0), x.size(1), -1});
  const Tensor scan_output = norm_(y, frame.split[0]);
  return out_proj_(scan_output.to(x.dtype()));
}

Tensor Mamba2Mixer::forward(const Tensor& x, const Tensor&) {
  LinearLayer* const layer = KeyValueCache::linear_layer();
  if (!layer && !ghost::has(changes::kMambaScansByFunctions)) return torch_forward(x);
  const bool steps = is_one_more_token(layer, x.size(1));
  const bool gates_step = steps && config_.gate == MixerGate::alone;
  const DType dtype = x.dtype();
  const Mamba2MixerConfig& c = config_;
  Tensor hidden_states = x;
  if (c.is_multiplied) hidden_states = hidden_states.mul(ghost::kScale);  // ssm_in_multiplier
  Tensor projected_states = in_proj_(hidden_states);
  if (c.is_multiplied) projected_states = projected_states.mul(mup_vector_);
  const Tensor A = ghost::exp(a_log_.to_float()).neg();
  const std::array<std::int64_t, 3> parts{c.intermediate_size, c.conv_dim(), c.num_heads};
  const std::vector<Tensor> split = projected_states.split(parts, -1);
  const Tensor &gate = split[0], &dt = split[2];
  const Tensor hidden_states_B_C =
      cached_conv1d(split[1].transpose(1, 2), layer, conv1d_, c.activation).transpose(1, 2);

  const std::int64_t state = c.n_groups * c.state_size;
  const std::array<std::int64_t, 3> lengths{c.intermediate_size, state, state};
  const std::vector<Tensor> x_B_C = hidden_states_B_C.split(lengths, -1);
  hidden_states = x_B_C[0];
  const Step step{.hidden_states = hidden_states,
                  .B = x_B_C[1],
                  .C = x_B_C[2],
                  .dt = dt,
                  .A = A,
                  .z = gates_step ? gate : Tensor()};
  const Scanned scanned =
      steps ? Scanned{update_state(step, *layer), {}} : scan_chunks(step, layer);
  Tensor scan_output = scanned.output;
  if (!gates_step) scan_output = norm_(scan_output, gate);
  return out_proj_(scan_output.to(dtype));
}

void init_decays(const Mamba2MixerConfig& mixer, DType dtype) {
  const Tensor A = ghost::arange(mixer.num_heads, DType::int64);
  ghost::zeros({mixer.num_heads}, dtype);
}

void Mamba2Mixer::init_weights() const {
  const ghost::ScopeGuard guard(node().scope);
  const Tensor A = ghost::arange(config_.num_heads, DType::float32);
  ghost::log(A);
  const InitialTimeSteps steps(config_.num_heads, DType::float32);
}

InitialTimeSteps::InitialTimeSteps(std::int64_t count, DType dtype) {
  dt = ghost::zeros({count}, dtype).mul(2.0).add(1.0);
  dt = ghost::exp(std::move(dt));
  dt = ghost::clamp(std::move(dt), {.min = ghost::kLimit});
  inv_dt = dt.add(ghost::log(ghost::expm1(dt.neg()).neg()));
}

/// torch.all(attention_mask == 1): batches without padding get none.
Tensor create_recurrent_attention_mask(const Tensor& attention_mask, std::int64_t queries) {
  if (!attention_mask.defined() || queries == 1) return {};
  ghost::all(ghost::eq(attention_mask, 1));
  return {};
}

HybridInputs hybrid_inputs(const MaskRequest& request, const Tensor& inputs_embeds,
                           Tensor position_ids) {
  HybridInputs made;
  made.position_ids = std::move(position_ids);
  made.full_attention = create_causal_mask(request, inputs_embeds, made.position_ids);
  made.linear_attention =
      create_recurrent_attention_mask(request.attention_mask, inputs_embeds.size(1));
  return made;
}

}  // namespace memtape::family
