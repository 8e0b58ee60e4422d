// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/mamba_mixer.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

constexpr std::int64_t kChunk = 128;         // chunk_size
constexpr std::int64_t kConvWidth = 4;       // d_conv
constexpr std::int64_t kSmallestBlock = 32;  // BLOCK_SIZE_min of the backward kernels

std::int64_t pieces(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// The sizes of a scan on one rank.
struct Scan {
  std::int64_t batch, length, heads, width, groups, state;

  std::int64_t chunks() const { return pieces(length, kChunk); }
  std::int64_t convolved() const { return heads * width + 2 * groups * state; }
  Dims rows() const { return {batch, length, heads, width}; }
  Dims times() const { return {batch, heads, chunks(), kChunk}; }
  Dims states() const { return {batch, chunks(), heads, width, state}; }
  Dims products() const { return {batch, chunks(), groups, kChunk, kChunk}; }

  /// nsplits of the kernels that sum over the heads of a group: so many programs keep the device's
  /// multiprocessors busy.
  std::int64_t splits() const {
    const std::int64_t ratio = heads / groups, sms = ghost::session().device.sm_count;
    const std::int64_t each =
        std::max<std::int64_t>(1, std::min(pieces(batch * chunks() * heads, sms), ratio));
    return pieces(ratio, each);
  }
};

Tensor floats(const Dims& sizes) { return empty(sizes, DType::float32); }

/// _mamba_chunk_scan_combined_fwd behind the convolution: the output and, before the gate, once
/// more.
struct ScanOutput {
  Tensor out, ungated;
};
ScanOutput scan_forward(const Scan& s, DType dtype) {
  const ghost::Op op("_mamba_chunk_scan_combined_fwd", {});
  const Tensor convolved = empty({s.batch, s.convolved(), s.length}, dtype);
  const Tensor dt = floats(s.times()), cumulated = floats(s.times());
  Tensor states = floats(s.states());
  const Tensor passed = empty(s.states(), dtype);
  const Tensor final_states = floats({s.batch, s.heads, s.width * s.state});
  states.reset();
  const Tensor products = floats(s.products());
  ScanOutput result;
  result.out = empty(s.rows(), dtype);
  result.ungated = empty(s.rows(), dtype);
  return result;
}

/// The gradients of z, x, B, C and dt lie in one tensor, the others are small.
Tensor scan_backward(const Scan& s, const Tensor& zxbcdt) {
  const ghost::Op op("_mamba_chunk_scan_combined_bwd", {});
  const DType dtype = zxbcdt.dtype();
  const Dims convolved_sizes{s.batch, s.length, s.convolved()};
  const Tensor convolved = empty(convolved_sizes, dtype);
  Tensor gradients = empty(zxbcdt.sizes(), dtype);
  const Tensor dxbc = empty(convolved_sizes, dtype);
  const Tensor dt_in = empty({s.batch, s.length, s.heads}, dtype);
  const Tensor dt = floats(s.times()), cumulated = floats(s.times());
  const Tensor products = floats(s.products());
  Tensor states = floats(s.states());
  Tensor passed = floats(s.states());
  states.reset();
  {
    const Tensor parts =
        floats({pieces(kChunk, kSmallestBlock), s.batch, s.chunks(), s.heads});  // dD
  }
  const Tensor ungated_grad = empty(s.rows(), dtype);
  Tensor state_grads = floats(s.states());
  const Tensor state_grads_passed = empty(s.states(), dtype);
  const Tensor states_again = empty(s.states(), dtype);
  passed.reset();
  state_grads.reset();
  const Tensor dt_grad = floats(s.times());
  const Dims split{s.batch, s.length, s.splits(), s.groups, s.state};
  const Dims summed{s.batch, s.length, s.groups, s.state};
  Tensor parts = floats(split);
  const Tensor next = floats(s.times());
  const Tensor b_grad = floats(summed);
  parts = floats(split);
  const Tensor before = floats(s.times());
  const Tensor c_grad = floats(summed);
  parts = floats({s.batch, s.chunks(), s.splits(), s.groups, kChunk, kChunk});
  const Tensor product_grad = floats(s.products());
  parts = floats({s.batch, s.heads, s.chunks(), pieces(kChunk, kSmallestBlock), kChunk});
  const Tensor cumulated_grad = floats(s.times());
  return gradients;
}

}  // namespace

MambaMixer::MambaMixer(const nn::Scope& scope, Rank& rank)
    : rank_(rank), scope_(scope.node().scope) {
  const Arguments& a = rank.a;
  const MambaArguments& m = a.mamba;
  const std::int64_t inner = m.heads * m.head_dim, states = m.groups * m.state;
  in_proj_.emplace(
      scope / "in_proj", rank,
      LinearShape{.in = a.hidden_size, .out = 2 * inner + 2 * states + m.heads, .norm = true});
  const std::int64_t convolved = (inner + 2 * states) / a.tp, heads = m.heads / a.tp;
  conv_weight_ = scope.parameter("conv1d_weight", {convolved, 1, kConvWidth});
  conv_bias_ = scope.parameter("conv1d_bias", {convolved});
  dt_bias_ = scope.parameter("dt_bias", {heads});
  a_log_ = scope.parameter("A_log", {heads});
  a_neg_exp_cache_ = empty({heads}, DType::float32, Category::buffer);
  d_ = scope.parameter("D", {heads});
  norm_weight_ = (scope / "norm").parameter("weight", {inner / a.tp});
  out_proj_.emplace(scope / "out_proj", rank,
                    LinearShape{.in = inner, .out = a.hidden_size, .split = Split::row});
}

Tensor MambaMixer::scanned(const Tensor& zxbcdt) {
  const MambaArguments& m = rank_.a.mamba;
  const Scan scan{zxbcdt.size(0), zxbcdt.size(1),        m.heads / rank_.a.tp,
                  m.head_dim,     m.groups / rank_.a.tp, m.state};
  const Tensor exponent = ghost::exp(a_log_.to_float());
  const Tensor decay = exponent.neg();
  const Tensor dt_bias = dt_bias_.to_float();
  return apply({.name = "MambaSplitConv1dScanCombinedFnBackward",
                .inputs = {zxbcdt, conv_weight_, conv_bias_, dt_bias, decay, d_},
                .forward =
                    [&](ToSave& save) {
                      ScanOutput result = scan_forward(scan, zxbcdt.dtype());
                      save = {zxbcdt, conv_weight_, conv_bias_, result.ungated, decay, d_, dt_bias};
                      return result.out;
                    },
                .backward =
                    [scan](std::span<const Tensor> saved, const Tensor&, Gradients& in) {
                      in[0] = scan_backward(scan, saved[0]);
                      in[1] = empty(saved[1].sizes(), saved[1].dtype());
                      in[2] = empty(saved[2].sizes(), saved[2].dtype());
                      in[3] = empty(saved[6].sizes(), DType::float32);
                      in[4] = empty(saved[4].sizes(), DType::float32);
                      in[5] = empty(saved[5].sizes(), saved[5].dtype());
                    }})
      .view({scan.batch, scan.length, scan.heads * scan.width});
}

/// ExtendedRMSNorm over groups (mamba_ssm/ops/triton/layernorm_gated.py): backward has one row of
/// the weight's gradient for each group of programs.
Tensor MambaMixer::normed(const Tensor& x) {
  const std::int64_t groups = rank_.a.mamba.groups / rank_.a.tp;
  return apply({.name = "LayerNormFnBackward",
                .inputs = {x, norm_weight_},
                .forward =
                    [&](ToSave& save) {
                      const Tensor out = empty(x.sizes(), x.dtype());
                      const Tensor rstd = floats({groups * (x.numel() / x.size(-1))});
                      save = {x, norm_weight_, rstd};
                      return out;
                    },
                .backward =
                    [groups](std::span<const Tensor> saved, const Tensor&, Gradients& in) {
                      const ghost::Op op("_layer_norm_bwd", {});
                      in[0] = empty(saved[0].sizes(), saved[0].dtype());
                      const std::int64_t rows =
                          ghost::session().device.sm_count * pieces(4, groups);
                      const Tensor parts = floats({rows, saved[1].size(0)});
                      const Tensor sum = floats({saved[1].size(0)});
                      in[1] = empty(saved[1].sizes(), saved[1].dtype());
                    }});
}

Tensor MambaMixer::operator()(const Tensor& x) {
  const ghost::ScopeGuard guard(scope_);
  Tensor mixed = (*in_proj_)(x);
  mixed = mixed.transpose(0, 1).contiguous();
  Tensor y = scanned(mixed);
  mixed.reset();
  y = y.transpose(0, 1).contiguous();
  y = normed(y);
  return (*out_proj_)(y);
}

}  // namespace memtape::megatron
