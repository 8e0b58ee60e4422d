// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/recurrent.h"

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

using Outs = std::vector<std::int64_t>;

std::unique_ptr<Linear> column_linear(const Place& place, std::int64_t in, Outs outs, bool bias,
                                      bool quantized = true) {
  return std::make_unique<Linear>(place, in, std::move(outs),
                                  LinearOptions{.bias = bias, .quantized = quantized});
}

std::unique_ptr<Linear> row_linear(const Place& place, std::int64_t in, std::int64_t out, bool bias,
                                   bool quantized = true) {
  return std::make_unique<Linear>(
      place, in, Outs{out}, LinearOptions{.cut = Cut::row, .bias = bias, .quantized = quantized});
}

/// One page of the cache: a convolution's last inputs and the state, and a page for each token that
/// is proposed. `rewinds`: the convolution keeps the inputs of proposed tokens, too
/// (mamba_utils.py, num_spec).
struct StateShape {
  std::int64_t conv_width, kernel, state_values;
  DType state_dtype;
  int checkpoints = 0;
  bool rewinds = true;
};
void want_state(const Place& place, const StateShape& shape) {
  const Settings& s = place.settings();
  const std::int64_t drafts = s.speculation.tokens;
  const std::int64_t taps = shape.kernel - 1 + (shape.rewinds ? drafts : 0);
  KvLayer spec;
  spec.kind = KvKind::mamba;
  spec.block_size = s.max_model_len;
  spec.dtype = s.dtype;
  spec.state_bytes =
      bytes_of(s.dtype, shape.conv_width * taps) + bytes_of(shape.state_dtype, shape.state_values);
  spec.checkpoint_blocks = shape.checkpoints;
  spec.speculative_blocks = static_cast<int>(drafts);
  place.runtime().kv_layers.push_back(spec);
}

/// Triton's tuning of a kernel overwrites the L2 cache between two runs (do_bench).
void tune_once(Runtime& runtime) {
  constexpr Bytes kFlush = Bytes{256} << 20;
  if (runtime.has_tuned_kernels) return;
  runtime.has_tuned_kernels = true;
  scratch("do_bench", kFlush);
}

}  // namespace

MambaMixer::MambaMixer(const Place& place, const MambaShape& s) : Module(place.scope()) {
  constexpr bool kUnquantized = false;
  const std::int64_t inner = s.inner / place.runtime().tp();
  conv1d_ = column_linear(place / "conv1d", s.kernel, {s.inner}, s.conv_bias, kUnquantized);
  in_proj_ = column_linear(place / "in_proj", s.hidden, {s.inner, s.inner}, s.bias, kUnquantized);
  x_proj_ =
      row_linear(place / "x_proj", s.inner, s.time_step_rank + 2 * s.state, false, kUnquantized);
  dt_proj_ = std::make_unique<Linear>(
      place / "dt_proj", s.time_step_rank, Outs{s.inner},
      LinearOptions{.bias = true, .quantized = kUnquantized, .skip_bias_add = true});
  a_ = place.parameter("A", {inner, s.state}, DType::float32);
  d_ = place.parameter("D", {inner});
  out_proj_ = row_linear(place / "out_proj", s.inner, s.hidden, s.bias, kUnquantized);
  if (s.has_norms)
    for (const auto& [name, width] :
         {std::pair{"dt_layernorm", s.time_step_rank}, std::pair{"b_layernorm", s.state},
          std::pair{"c_layernorm", s.state}})
      norms_.push_back(
          std::make_unique<RMSNorm>(place / name, width, NormKind::rms, s.norms_have_weights));
  want_state(place, {.conv_width = inner,
                     .kernel = s.kernel,
                     .state_values = inner * s.state,
                     .state_dtype = s.state_dtype,
                     .rewinds = false});
}

Tensor MambaMixer::forward(const Tensor& hidden_states) {
  Tensor output = kernel_output("empty_like", hidden_states.sizes(), hidden_states.dtype());
  const Tensor projected = (*in_proj_)(hidden_states);
  const std::int64_t tokens = projected.size(0), inner = projected.size(1) / 2;
  const Tensor states = kernel_output("contiguous", {inner, tokens}, projected.dtype());
  (*out_proj_)(states.transpose(0, 1));
  return output;
}

MambaMixer2::MambaMixer2(const Place& place, const MambaShape& s)
    : Module(place.scope()), runtime_(place.runtime()), shape_(s) {
  const std::int64_t tp = runtime_.tp();
  // extra_groups_for_head_shards: one group is repeated on each rank.
  const std::int64_t groups = s.groups % tp == 0 ? s.groups : tp;
  const std::int64_t states = groups * s.state;
  groups_ = groups / tp;
  inner_ = s.inner / tp;
  heads_ = s.heads / tp;
  conv_width_ = (s.inner + 2 * states) / tp;
  conv1d_ =
      column_linear(place / "conv1d", s.kernel, {s.inner, states, states}, s.conv_bias, false);
  in_proj_ = column_linear(place / "in_proj", s.hidden, {s.inner, s.inner, states, states, s.heads},
                           s.bias);
  a_ = place.parameter("A", {heads_}, DType::float32);
  d_ = place.parameter("D", {heads_});
  dt_bias_ = place.parameter("dt_bias", {heads_});
  out_proj_ = row_linear(place / "out_proj", s.inner, s.hidden, s.bias);
  if (s.gated_norm) norm_ = (place / "norm").parameter("weight", {inner_});
  want_state(place, {.conv_width = conv_width_,
                     .kernel = s.kernel,
                     .state_values = heads_ * s.head_size * s.state,
                     .state_dtype = s.state_dtype,
                     .checkpoints = 1});
}

Tensor MambaMixer2::forward(const Tensor& hidden_states) {
  const Tensor projected = (*in_proj_)(hidden_states);
  const Tensor ssm_output =
      kernel_output("empty", {projected.size(0), inner_}, hidden_states.dtype());
  convolve(projected);
  const Tensor normed = gated_norm(ssm_output);
  return (*out_proj_)(normed);
}

/// conv_ssm_forward without metadata: the convolution's input turned and turned back.
void MambaMixer2::convolve(const Tensor& projected) {
  warm_up(projected.dtype());
  const Dims sizes{projected.size(0), conv_width_};
  const Tensor turned = kernel_output("clone", sizes, projected.dtype());
  const Tensor back = kernel_output("contiguous", sizes, projected.dtype());
}

void MambaMixer2::warm_up(DType dtype) {
  if (is_warm_) return;
  is_warm_ = true;
  const std::int64_t chunk = shape_.chunk, state = shape_.state;
  {
    const Dims inputs{chunk, heads_, shape_.head_size};
    const Dims states{heads_, shape_.head_size, state};
    const Tensor x = kernel_output("randn", inputs, dtype);
    const Tensor dt = kernel_output("randn", {chunk, heads_}, dtype);
    const Tensor b = kernel_output("randn", {chunk, groups_, state}, dtype);
    const Tensor c = kernel_output("randn", {chunk, groups_, state}, dtype);
    const Tensor out = kernel_output("empty", inputs, dtype);
    Tensor initial;
    for (const bool has_initial : {false, true}) {
      if (has_initial) initial = kernel_output("randn", states, shape_.state_dtype);
      const Tensor cumsum = kernel_output("empty", {heads_, chunk}, DType::float32);
      const Tensor dt_out = kernel_output("empty", {heads_, chunk}, DType::float32);
      const Tensor chunk_states = kernel_output("empty", states, DType::float32);
      tune_once(runtime_);
      const Tensor passed = kernel_output("empty", states, shape_.state_dtype);
      const Tensor products = kernel_output("empty", {groups_, chunk, chunk}, DType::float32);
    }
  }
  ghost::session().tape.empty_cache();
}

ShortConv::ShortConv(const Place& place, std::int64_t hidden, std::int64_t kernel, bool bias)
    : Module(place.scope()) {
  conv_ = column_linear(place / "conv", kernel, {hidden}, bias);
  in_proj_ = column_linear(place / "in_proj", hidden, {hidden, hidden, hidden}, bias);
  out_proj_ = row_linear(place / "out_proj", hidden, hidden, bias);
  want_state(place, {.conv_width = hidden / place.runtime().tp(),
                     .kernel = kernel,
                     .state_values = 0,
                     .state_dtype = place.settings().dtype});
}

Tensor ShortConv::forward(const Tensor& hidden_states) {
  Tensor output = kernel_output("empty_like", hidden_states.sizes(), hidden_states.dtype());
  const Tensor parts = (*in_proj_)(hidden_states);
  const Dims sizes{parts.size(0), parts.size(1) / 3};
  const Tensor gated = kernel_output("mul", sizes, parts.dtype());
  const Tensor states = kernel_output("mul", sizes, parts.dtype());
  const Tensor contextualized = (*out_proj_)(states);
  return output;
}

/// Mixer2RMSNormGated: a kernel for one group, else PyTorch ops in float32.
Tensor MambaMixer2::gated_norm(const Tensor& x) const {
  const Dims& sizes = x.sizes();
  const auto wide = [&](const char* op) { return kernel_output(op, sizes, DType::float32); };
  if (!shape_.gated_norm) {
    Tensor activated = wide("to");
    activated = wide("silu");
    const Tensor low = kernel_output("to", sizes, x.dtype());
    activated.reset();
    return kernel_output("mul", sizes, x.dtype());
  }
  const std::int64_t all_groups = groups_ * runtime_.tp();
  if (all_groups == 1) return kernel_output("rms_norm_gated", sizes, x.dtype());
  Tensor product;
  {
    Tensor activated = wide("to");
    {
      const Tensor silu = wide("silu");
      activated = silu;
    }
    product = wide("mul");
  }
  const Dims variances{sizes[0], groups_};
  {
    Tensor variance;
    {
      const Tensor squares = wide("pow");
      variance = kernel_output("mean", variances, DType::float32);
    }
    Tensor factor = kernel_output("add", variances, DType::float32);
    factor = kernel_output("rsqrt", variances, DType::float32);
    product = wide("mul");
  }
  const Tensor low = kernel_output("to", sizes, x.dtype());
  return kernel_output("mul", sizes, x.dtype());
}

GatedDeltaNet::GatedDeltaNet(const Place& place, const DeltaNetShape& s)
    : Module(place.scope()), runtime_(place.runtime()), shape_(s) {
  const std::int64_t tp = runtime_.tp();
  const std::int64_t keys = s.key_heads * s.key_size, values = s.value_heads * s.value_size;
  key_width_ = keys / tp;
  value_width_ = values / tp;
  heads_ = s.value_heads / tp;
  conv1d_ = column_linear(place / "conv1d", s.kernel, {2 * keys + values}, false, false);
  in_proj_qkvz_ = column_linear(
      place / "in_proj_qkvz", s.hidden,
      s.interleaved ? Outs{2 * keys + 2 * values} : Outs{keys, keys, values, values}, false);
  in_proj_ba_ = column_linear(
      place / "in_proj_ba", s.hidden,
      s.interleaved ? Outs{2 * s.value_heads} : Outs{s.value_heads, s.value_heads}, false);
  dt_bias_ = place.parameter("dt_bias", {heads_});
  a_log_ = place.parameter("A_log", {heads_}, DType::float32);
  norm_ = (place / "norm").parameter("weight", {s.value_size});
  out_proj_ = row_linear(place / "out_proj", values, s.hidden, false);
  want_state(place, {.conv_width = 2 * key_width_ + value_width_,
                     .kernel = s.kernel,
                     .state_values = heads_ * s.key_size * s.value_size,
                     .state_dtype = s.state_dtype});
}

/// fix_query_key_value_ordering, then one tensor of queries, keys and values.
GatedDeltaNet::Inputs GatedDeltaNet::interleaved_inputs(const Tensor& mixed) const {
  const std::int64_t tokens = mixed.size(0);
  const DType dtype = mixed.dtype();
  Inputs inputs;
  const auto copy = [&](std::int64_t width) {
    inputs.kept.push_back(kernel_output("reshape", {tokens, width}, dtype));
    return inputs.kept.back();
  };
  const Tensor value = copy(value_width_);
  inputs.z = copy(value_width_);
  copy(heads_);  // b
  copy(heads_);  // a
  copy(key_width_);
  copy(key_width_);
  inputs.mixed = kernel_output("cat", {tokens, 2 * key_width_ + value_width_}, dtype);
  return inputs;
}

GatedDeltaNet::Inputs GatedDeltaNet::flat_inputs(const Tensor& mixed) const {
  Inputs inputs;
  inputs.mixed = mixed.slice(-1, 0, 2 * key_width_ + value_width_);
  return inputs;
}

Tensor GatedDeltaNet::forward(const Tensor& hidden_states) {
  const Tensor mixed_qkvz = (*in_proj_qkvz_)(hidden_states);
  const Tensor ba = (*in_proj_ba_)(hidden_states);
  const Inputs inputs =
      shape_.interleaved ? interleaved_inputs(mixed_qkvz) : flat_inputs(mixed_qkvz);
  const std::int64_t tokens = hidden_states.size(0);
  const Dims sizes{tokens, value_width_};
  const Tensor core = kernel_output("zeros", sizes, hidden_states.dtype());
  {
    Tensor b, a;
    if (!shape_.interleaved) {
      b = kernel_output("contiguous", {tokens, heads_}, hidden_states.dtype());
      a = kernel_output("contiguous", {tokens, heads_}, hidden_states.dtype());
    }
    warm_up(hidden_states.dtype());
  }
  Tensor normed;
  {
    Tensor gate;  // a slice of the flat projection is copied for the norm (input_guard)
    if (!shape_.interleaved) gate = kernel_output("contiguous", sizes, hidden_states.dtype());
    normed = kernel_output("layer_norm_fwd", sizes, hidden_states.dtype());
    kernel_output("layer_norm_fwd", {tokens * heads_}, DType::float32);
  }
  return (*out_proj_)(normed);
}

/// _warmup_prefill_kernels on one chunk.
void GatedDeltaNet::warm_up(DType dtype) {
  if (is_warm_) return;
  is_warm_ = true;
  constexpr std::int64_t kChunk = 64;
  const std::int64_t states = heads_ * shape_.key_size * shape_.value_size;
  {
    const Tensor mixed = kernel_output("randn", {kChunk, 2 * key_width_ + value_width_}, dtype);
    const Tensor a = kernel_output("randn", {kChunk, heads_}, dtype);
    const Tensor b = kernel_output("randn", {kChunk, heads_}, dtype);
    const Tensor q = kernel_output("empty", {kChunk, key_width_}, dtype);
    const Tensor k = kernel_output("empty", {kChunk, key_width_}, dtype);
    const Tensor v = kernel_output("empty", {kChunk, value_width_}, dtype);
    const Tensor g = kernel_output("empty", {kChunk, heads_}, DType::float32);
    const Tensor beta = kernel_output("empty", {kChunk, heads_}, DType::float32);
    const Tensor state = kernel_output("zeros", {states}, shape_.state_dtype);
    // cu_seqlens and what is cached under it (flash_linear_attention, tensor_cache): 8 layers'.
    constexpr std::size_t kCached = 8;
    std::vector<Tensor> cached;
    for (const std::int64_t count : {2, 1, 2})
      cached.push_back(kernel_output("tensor_cache", {count}, DType::int32));
    runtime_.chunk_indices.push_back(std::move(cached));
    if (runtime_.chunk_indices.size() > kCached) runtime_.chunk_indices.pop_front();
    const Tensor cumsum = kernel_output("empty", {kChunk, heads_}, DType::float32);
    tune_once(runtime_);
    const Dims square{kChunk, heads_, kChunk};
    Tensor products = kernel_output("empty", square, DType::float32);
    const Tensor solved = kernel_output("empty", square, dtype);
    products.reset();
    const Tensor w = kernel_output("empty", {kChunk, value_width_}, dtype);
    const Tensor u = kernel_output("empty", {kChunk, value_width_}, dtype);
    const Tensor last = kernel_output("zeros", {states}, DType::float32);
    const Tensor fresh = kernel_output("empty", {kChunk, value_width_}, dtype);
    const Tensor out = kernel_output("empty", {kChunk, value_width_}, dtype);
  }
  ghost::session().tape.empty_cache();
}

}  // namespace memtape::vllm
