// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/linear.h"

#include <algorithm>

#include "framework/megatron/lora_adapter.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cublaslt.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// A run that has failed goes on with empty tensors, which have no rows.
std::int64_t rows_of(const Tensor& x) { return x.numel() == 0 ? 0 : x.numel() / x.size(-1); }

Tensor te_workspace(Bytes times = 1) {
  constexpr Bytes kMiB = 1024 * 1024;
  const Bytes bytes = times * (ghost::session().device.major >= 9 ? 32 * kMiB + 1024 : 4 * kMiB);
  const ghost::Op op("get_cublas_workspace", {});
  return empty({bytes}, DType::uint8, Category::workspace);
}

/// Before Blackwell products want both operands along the reduced dimension, so that what is used
/// both ways is there twice, as it is and transposed; scales of blocks differ both ways, too.
bool two_ways(const Arguments& a) { return a.scales_blocks || ghost::session().device.major < 10; }

/// One scale for all, 4 bytes for 128 elements (1 for 32), or of nvfp4 1 for 16
/// (NVFP4Quantizer.get_scale_shape of pytorch/tensor/nvfp4_tensor.py).
std::int64_t scale_bytes(const Arguments& a, const Tensor& x) {
  if (!a.scales_blocks) return 4;
  const std::int64_t block = a.packs() ? 16 : 32;
  return (x.numel() + block - 1) / block;
}

/// The elements in 8 bits, or two to a byte (convert_shape_for_fp4).
Tensor quantized_elements(const Arguments& a, const Tensor& x, Category category) {
  const std::int64_t in_one = a.packs() ? 2 : 1;
  return empty(x.sizes().leading().with(x.size(-1) / in_one), DType::uint8, category);
}

/// A quantized tensor as the weight's gradient will read it; the other copy goes. The scales of
/// nvfp4, an eighth of it, lie behind the elements of each row here.
Tensor quantized(const Arguments& a, const Tensor& x) {
  const ghost::Op op("quantize", {});
  Tensor rows = quantized_elements(a, x, Category::activation);
  const Tensor row_scales = empty({scale_bytes(a, x)}, DType::uint8);
  if (!two_ways(a)) return rows;
  if (!a.packs()) return empty(x.sizes(), DType::uint8);
  const std::int64_t width = x.size(-1);
  return empty(x.sizes().leading().with(width / 2 + (width + 15) / 16), DType::uint8);
}

Tensor flat(const Tensor& x) { return x.view({-1, x.size(-1)}); }

/// Transformer Engine's normalization: the output and a statistic or two for each row.
struct Normalized {
  Tensor out, mean, rsigma;
};
Normalized te_normalize(const Tensor& x, const Tensor& bias) {
  const ghost::Op op("layernorm_fwd", {});
  Normalized n;
  if (bias.defined()) n.mean = empty({rows_of(x)}, DType::float32);
  n.rsigma = empty({rows_of(x)}, DType::float32);
  n.out = empty(x.sizes(), x.dtype());
  return n;
}

/// Its backward: gradients of input, weight and bias, and partial sums of the latter two, one row
/// for each block of threads that works on the device (transformer_engine/common/normalization).
void te_normalize_backward(const Tensor& grad, const Tensor& weight, const Tensor& bias,
                           std::array<Tensor, 3>& out) {
  const ghost::Op op("layernorm_bwd", {});
  out[0] = empty(grad.sizes(), grad.dtype());
  out[1] = empty(weight.sizes(), weight.dtype());
  if (bias.defined()) out[2] = empty(bias.sizes(), bias.dtype());
}

/// Transformer Engine's norm by itself.
Tensor te_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return apply({.name = "_LayerNormBackward",
                .inputs = {x, weight, bias},
                .forward =
                    [&](ToSave& save) {
                      const Normalized n = te_normalize(x, bias);
                      save = {x, weight, bias, n.mean, n.rsigma};
                      return n.out;
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      std::array<Tensor, 3> grads;
                      te_normalize_backward(grad, saved[1], saved[2], grads);
                      for (std::size_t i = 0; i < grads.size(); ++i) in[i] = grads[i];
                    }});
}

}  // namespace

Rank::Rank(const Arguments& arguments, std::int64_t tensor_rank)
    : a(arguments), tp_rank(tensor_rank) {
  for (Tensor& tracker : loss_trackers) kept.push_back(&tracker);
  if (!a.offload_modules.empty()) offload = ghost::Ptr<ActivationOffload>(new ActivationOffload(a));
  if (!a.cublas_workspace) return;
  // In NVIDIA's containers cuBLASLt shares it (TORCH_CUBLASLT_UNIFIED_WORKSPACE).
  for (int thread = 0; thread < 2; ++thread)
    ghost::session().cublas_workspaces[thread] = ghost::session().cublaslt_workspaces[thread] =
        empty({0}, DType::uint8, Category::workspace);
}

void Rank::use_cublas() {
  ghost::Session& session = ghost::session();
  const int thread = session.in_backward ? 1 : 0;
  if (session.stream != 0) {  // a handle has one for each stream
    Tensor& workspace = side_workspaces_[{session.stream, thread}];
    if (session.skipping || workspace.defined()) return;
    const ghost::Op op("getCurrentCUDABlasHandle", {});
    workspace = empty({a.cublas_workspace.value_or(ghost::cublas_workspace_bytes(session.device))},
                      DType::uint8, Category::workspace);
    return;
  }
  Tensor& workspace = session.cublas_workspaces[thread];
  if (!a.cublas_workspace || session.skipping || workspace.numel() > 0) return;
  const ghost::Op op("getCurrentCUDABlasHandle", {});
  workspace = empty({*a.cublas_workspace}, DType::uint8, Category::workspace);
}

Tensor Rank::global_buffer(const Dims& sizes, DType dtype) {
  const std::int64_t wanted = ghost::numel(sizes);
  if (!buffer_.defined() || buffer_.numel() < wanted) {
    const ghost::Op op("GlobalMemoryBuffer", {});
    buffer_ = empty({wanted}, dtype, Category::communication);  // the old one goes afterwards
  }
  return buffer_.slice(0, 0, wanted).view(sizes);
}

StreamId Rank::cp_stream() {
  if (!cp_stream_) cp_stream_ = ghost::session().make_stream();
  return *cp_stream_;
}

StreamId Rank::next_pooled_stream() {
  constexpr std::size_t kStreamsPerPool = 32;
  const std::size_t at = streams_taken_++ % kStreamsPerPool;
  if (at == pooled_streams_.size()) pooled_streams_.push_back(ghost::session().make_stream());
  return pooled_streams_[at];
}

void Rank::use_chunk_order(bool before_attention) {
  Tensor& order = chunk_orders_[before_attention ? 0 : 1];
  if (order.defined() || ghost::session().skipping) return;
  const ghost::Op op("get_seq_chunk_ids_for_reordering", {});
  order = empty({2 * a.cp}, DType::int32, Category::buffer);
}

void Rank::use_te_workspace() {
  if (te_workspace_.defined() || ghost::session().skipping) return;
  te_workspace_ = te_workspace();
}

void Rank::use_overlap_workspace() {
  constexpr Bytes kStreams = 3;  // _NUM_MAX_UB_STREAMS
  if (overlap_workspace_.defined() || ghost::session().skipping) return;
  overlap_workspace_ = te_workspace(kStreams);
}

void Rank::use_grouped_workspaces() {
  constexpr int kStreams = 4;
  if (!grouped_workspaces_.empty() || ghost::session().skipping) return;
  for (int i = 0; i < kStreams; ++i) grouped_workspaces_.push_back(te_workspace());
}

Tensor Rank::dummy_wgrad(const Dims& sizes, DType dtype) {
  for (const Tensor& dummy : dummies_)
    if (dummy.sizes() == sizes) return dummy;
  const ghost::Op op("get_dummy_wgrad", {});
  dummies_.push_back(empty(sizes, dtype, Category::gradient));
  return dummies_.back();
}

Tensor scattered(const Tensor& x, std::int64_t parts) {
  Dims sizes = x.sizes();
  sizes[0] /= parts;
  const ghost::Op op("reduce_scatter", {});
  return empty(sizes, x.dtype());
}

Tensor gathered(const Tensor& x, std::int64_t parts) {
  Dims sizes = x.sizes();
  sizes[0] *= parts;
  const ghost::Op op("all_gather", {});
  return empty(sizes, x.dtype());
}

Tensor scatter_rows(const Tensor& x, std::int64_t parts) {
  return apply({.name = "_ReduceScatterToSequenceParallelRegionBackward",
                .inputs = {x},
                .forward = [&](ToSave&) { return scattered(x, parts); },
                .backward = [parts](std::span<const Tensor>, const Tensor& grad,
                                    Gradients& in) { in[0] = gathered(grad, parts); }});
}

Tensor gather_rows(const Tensor& x, std::int64_t parts) {
  return apply({.name = "_GatherFromSequenceParallelRegionBackward",
                .inputs = {x},
                .forward = [&](ToSave&) { return gathered(x, parts); },
                .backward = [parts](std::span<const Tensor>, const Tensor& grad,
                                    Gradients& in) { in[0] = scattered(grad, parts); }});
}

Tensor gather_columns(const Tensor& x, std::int64_t parts) {
  if (parts == 1) return x;
  return apply(
      {.name = "_GatherFromModelParallelRegionBackward",
       .inputs = {x},
       .forward =
           [&](ToSave&) {
             const ghost::Op op("all_gather", {});
             const Dims& sizes = x.sizes();
             Dims stacked = sizes;
             stacked[0] *= parts;
             const Tensor rows = empty(stacked, x.dtype());
             return empty(sizes.leading().with(sizes.back() * parts), x.dtype());
           },
       .backward = [sizes = x.sizes()](std::span<const Tensor>, const Tensor& grad,
                                       Gradients& in) { in[0] = empty(sizes, grad.dtype()); }});
}

Tensor own_rows(const Tensor& x, std::int64_t parts) {
  return apply(
      {.name = "_ScatterToSequenceParallelRegionBackward",
       .inputs = {x},
       .forward = [&](ToSave&) { return x.slice(0, 0, x.size(0) / parts); },
       .backward = [sizes = x.sizes()](std::span<const Tensor>, const Tensor& grad,
                                       Gradients& in) { in[0] = empty(sizes, grad.dtype()); }});
}

Linear::Linear(const nn::Scope& scope, Rank& rank, const LinearShape& shape)
    : rank_(rank), shape_(shape), scope_(scope.node().scope) {
  if (shape_.parts == 0) shape_.parts = rank.a.tp;
  const bool column = shape_.split == Split::column;
  const std::int64_t out = column ? shape.out / shape_.parts : shape.out;
  const std::int64_t in = column ? shape.in : shape.in / shape_.parts;
  if (shape.norm) {
    norm_weight = scope.parameter("layer_norm_weight", {shape.in});
    if (!rank.a.rms_norm) norm_bias = scope.parameter("layer_norm_bias", {shape.in});
  }
  weight = scope.parameter("weight", {out, in});
  if (shape.bias) bias = scope.parameter("bias", {out});
  const bool is_of_experts = !shape.gathers;  // which have one for all (Experts)
  if (!shape.is_adapter && !is_of_experts && has_adapter(rank.a, scope.node().name))
    adapter_ = std::make_shared<LoraAdapter>(scope, rank, shape_);
}

bool has_adapter(const Arguments& a, std::string_view module) {
  return a.lora && std::ranges::find(a.lora->modules, module) != a.lora->modules.end();
}

bool Linear::sequence_parallel() const {
  return rank_.a.sequence_parallel && shape_.gathers && shape_.parts > 1;
}

Tensor Linear::added_bias() const { return shape_.adds_bias ? bias : Tensor(); }

Tensor Linear::operator()(const Tensor& x) {
  const ghost::ScopeGuard guard(scope_);
  if (adapter_) return adapted_forward(x);
  return rank_.a.transformer_engine && !shape_.is_adapter ? te_forward(x) : local_forward(x);
}

/// LinearWithGradAccumulationAndAsyncCommunication.
Tensor Linear::local_forward(const Tensor& x) {
  const bool gathers = sequence_parallel() && shape_.split == Split::column;
  const std::int64_t parts = shape_.parts;
  Rank& rank = rank_;
  const bool fused = rank.a.gradient_accumulation_fusion;
  const auto total_of = [&rank, gathers, parts](const Tensor& input) {
    if (!gathers) return input;
    Dims sizes = input.sizes();
    sizes[0] *= parts;
    return rank.global_buffer(sizes, input.dtype());
  };
  Tensor out =
      apply({.name = "LinearWithGradAccumulationAndAsyncCommunicationBackward",
             .inputs = {x, weight, added_bias()},
             .forward =
                 [&](ToSave& save) {
                   save = {x, weight};
                   const Tensor product = total_of(x).matmul(weight.t());
                   rank_.use_cublas();
                   return shape_.adds_bias && bias.defined() ? product.add(bias) : product;
                 },
             .backward =
                 [&rank, total_of, gathers, fused, adds = shape_.adds_bias && bias.defined()](
                     std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                   const Tensor total = total_of(saved[0]);
                   const Tensor grad_input = grad.matmul(saved[1]);
                   rank.use_cublas();
                   const Tensor flat_grad = flat(grad.contiguous()), flat_total = flat(total);
                   Tensor shard;
                   if (gathers) {
                     const ghost::Op op("reduce_scatter", {});
                     shard = empty(saved[0].sizes(), saved[0].dtype());
                   }
                   if (fused && rank.a.fused_kernels)
                     in[1] = rank.dummy_wgrad(saved[1].sizes(), saved[1].dtype());
                   else if (fused)
                     in[1] = empty(saved[1].sizes(), saved[1].dtype());
                   else
                     in[1] = flat_grad.t().matmul(flat_total);
                   if (adds) in[2] = flat_grad.sum(0);
                   in[0] = gathers ? shard : grad_input;
                 }});
  if (!(sequence_parallel() && shape_.split == Split::row)) return out;
  return scatter_rows(out, parts);
}

void Linear::cache_weight() {
  if (!rank_.a.low_bits || weight_scale_.defined() || ghost::session().skipping) return;
  const ghost::Op op("get_weight_workspace", {});
  const auto copy = [&] { return quantized_elements(rank_.a, weight, Category::parameter); };
  if (!rank_.a.quantized_param_gather) weight_rows_ = copy();
  if (two_ways(rank_.a)) weight_columns_ = copy();
  const std::int64_t ways = rank_.a.scales_blocks ? 2 : 1;
  weight_scale_ = empty({ways * scale_bytes(rank_.a, weight)}, DType::uint8, Category::parameter);
}

/// The forward of _Linear and _LayerNormLinear, once their workspace is there.
Tensor Linear::te_product(const Tensor& x, ToSave& save) {
  const bool column = shape_.split == Split::column, sp = sequence_parallel();
  Normalized n;
  if (shape_.norm) n = te_normalize(x, norm_bias);
  Tensor input = shape_.norm ? n.out : x;
  if (rank_.a.low_bits) input = quantized(rank_.a, input);
  const bool keeps = weight.requires_grad() || shape_.norm;  // backward_needs_input
  save = {shape_.keeps_original && rank_.a.keeps_attended ? x : input, weight};
  if (!keeps) save[0].reset();
  if (shape_.norm) {
    save.insert(save.end(), {x, norm_weight, norm_bias, n.mean, n.rsigma});
    n.out.reset();
  }
  const Tensor total = sp && column ? gathered(input, shape_.parts) : std::move(input);
  const ghost::Op op("general_gemm", {});
  Tensor out = empty(total.sizes().leading().with(weight.size(0)), x.dtype());
  return sp && !column ? scattered(out, shape_.parts) : out;
}

/// _Linear and _LayerNormLinear.
Tensor Linear::te_forward(const Tensor& x) {
  const bool column = shape_.split == Split::column, sp = sequence_parallel();
  const std::int64_t parts = shape_.parts;
  Rank& rank = rank_;
  const bool fused = rank.a.gradient_accumulation_fusion, norm = shape_.norm,
             low = rank.a.low_bits.has_value();
  const bool overlaps = rank.a.tp_comm_overlap && sp;
  cache_weight();
  const auto use_workspace = [&rank, overlaps] {
    if (overlaps)
      rank.use_overlap_workspace();
    else
      rank.use_te_workspace();
  };
  return apply(
      {.name = norm ? "_LayerNormLinearBackward" : "_LinearBackward",
       .inputs = {x, weight, norm_weight, norm_bias, added_bias()},
       .forward =
           [&](ToSave& save) {
             use_workspace();
             return te_product(x, save);
           },
       .backward =
           [&rank, column, sp, parts, fused, norm, low, use_workspace,
            adds = shape_.adds_bias && bias.defined()](std::span<const Tensor> saved,
                                                       const Tensor& grad, Gradients& in) {
             use_workspace();
             rank.use_te_workspace();
             Tensor quantized_grad;
             if (low) quantized_grad = quantized(rank.a, grad);
             const Tensor total_grad = sp && !column ? gathered(grad, parts) : grad;
             const bool frozen = !saved[1].requires_grad();
             const Tensor total = sp && column && !frozen ? gathered(saved[0], parts) : saved[0];
             Tensor dgrad;
             {
               const ghost::Op op("general_gemm", {});
               dgrad = empty(total_grad.sizes().leading().with(saved[1].size(1)), grad.dtype());
             }
             Tensor shard;
             if (sp && column) shard = scattered(dgrad, parts);
             if (!frozen) {
               const ghost::Op op("general_gemm", {});
               in[1] = fused ? rank.dummy_wgrad(saved[1].sizes(), saved[1].dtype())
                             : empty(saved[1].sizes(), saved[1].dtype());
             }
             if (adds) in[4] = empty({saved[1].size(0)}, grad.dtype());
             if (sp && column) dgrad = shard;
             if (!norm) {
               in[0] = dgrad;
               return;
             }
             std::array<Tensor, 3> grads;
             te_normalize_backward(dgrad, saved[3], saved[4], grads);
             in[0] = grads[0];
             in[2] = grads[1];
             in[3] = grads[2];
           }});
}

Tensor Linear::frozen_product(const Tensor& x) {
  Rank& rank = rank_;
  const bool low = rank.a.low_bits.has_value();
  cache_weight();
  return apply({.name = "_LinearBackward",
                .inputs = {x, weight},
                .forward =
                    [&](ToSave& save) {
                      rank.use_te_workspace();
                      const Tensor input = low ? quantized(rank.a, x) : x;
                      save = {weight};
                      const ghost::Op op("general_gemm", {});
                      return empty(x.sizes().leading().with(weight.size(0)), x.dtype());
                    },
                .backward =
                    [&rank, low](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      rank.use_te_workspace();
                      Tensor quantized_grad;
                      if (low) quantized_grad = quantized(rank.a, grad);
                      const ghost::Op op("general_gemm", {});
                      in[0] = empty(grad.sizes().leading().with(saved[0].size(1)), grad.dtype());
                    }});
}

Tensor Linear::adapted_forward(const Tensor& x) {
  const bool sp = sequence_parallel(), column = shape_.split == Split::column;
  Tensor in = shape_.norm ? te_norm(x, norm_weight, norm_bias) : x;
  if (sp && column) in = gather_rows(in, shape_.parts);
  Tensor out = frozen_product(in);
  if (sp && !column) out = scatter_rows(out, shape_.parts);
  return out.add((*adapter_)(in));
}

Norm::Norm(const nn::Scope& scope, Rank& rank, std::int64_t width)
    : weight(scope.parameter("weight", {width})), rank_(rank), scope_(scope.node().scope) {
  if (!rank.a.rms_norm) bias = scope.parameter("bias", {width});
}

Tensor Norm::operator()(const Tensor& x) {
  const ghost::ScopeGuard guard(scope_);
  // Apex's FusedLayerNorm of Megatron's program keeps what Transformer Engine's keeps.
  const bool apex = rank_.a.pretrain_loop && rank_.a.fused_kernels && !rank_.a.rms_norm;
  if (!rank_.a.transformer_engine && !apex)
    return rank_.a.rms_norm ? ghost::rms_norm(x, weight) : ghost::layer_norm(x, weight, bias);
  return te_norm(x, weight, bias);
}

}  // namespace memtape::megatron
