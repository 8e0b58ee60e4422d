// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/compiled_layer.h"

#include <utility>
#include <vector>

#include "framework/torchtune/generated_code.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/flex_attention.h"

namespace memtape::torchtune {
namespace {

using ghost::Gradients;
using Kept = std::vector<Tensor>;

std::int64_t rows_of(const Tensor& x) { return x.numel() / x.size(-1); }

bool trains(const Tensor& weight) { return weight.impl().requires_grad; }

/// The gradient of a norm's scale: sums over 256 rows at a time, and then their sum.
Tensor scale_gradient(std::int64_t rows, std::int64_t width, DType dtype) {
  constexpr std::int64_t kRowsOfSum = 256;
  const Tensor partial = buffer({(rows + kRowsOfSum - 1) / kRowsOfSum, width}, DType::float32);
  return buffer({width}, dtype);
}

/// out = F.linear(x, weight) [+ lora_b(lora_a(x))]: the buffers of the products. What is added is
/// fused into what reads it.
struct Projected {
  Tensor out, hidden, update;
};
Projected project(const LinearWeights& w, std::int64_t rows, DType dtype) {
  Projected made{.out = mm_buffer(rows, w.weight.size(0), dtype), .hidden = {}, .update = {}};
  if (!w.is_adapted()) return made;
  made.hidden = mm_buffer(rows, w.lora_a.size(0), dtype);
  made.update = mm_buffer(rows, w.weight.size(0), dtype);
  return made;
}

/// The gradients of a layer's matrices, from a gradient [rows, out] that is there.
struct WeightGradients {
  Tensor weight, lora_a, lora_b;
};
void give(Gradients& out, std::size_t at, WeightGradients made) {
  out[at] = std::move(made.weight);
  out[at + 1] = std::move(made.lora_a);
  out[at + 2] = std::move(made.lora_b);
}

/// Products of the backward of one projection: the gradients of its matrices, and `into`, what
/// flows back to its input (one buffer for each of its two products).
WeightGradients project_backward(const LinearWeights& w, std::int64_t rows, DType dtype,
                                 std::vector<Tensor>& into) {
  WeightGradients made;
  const std::int64_t out_dim = w.weight.size(0), in_dim = w.weight.size(1);
  if (w.is_adapted()) {
    const std::int64_t rank = w.lora_a.size(0);
    made.lora_b = mm_buffer(out_dim, rank, dtype);
    const Tensor hidden = mm_buffer(rows, rank, dtype);
    made.lora_a = mm_buffer(rank, in_dim, dtype);
    into.push_back(mm_buffer(rows, in_dim, dtype));
  }
  if (trains(w.weight)) made.weight = mm_buffer(out_dim, in_dim, dtype);
  into.push_back(mm_buffer(rows, in_dim, dtype));
  return made;
}

/// h = self.sa_norm(x)
Tensor norm_graph(const Tensor& x, const Tensor& scale) {
  Tensor rsqrt, h;
  {
    const ghost::GradMode no_grad(false);
    rsqrt = buffer({x.size(0), x.size(1), 1}, DType::float32);
    h = buffer(x.sizes(), x.dtype());
  }
  set_generated({x, scale}, {&h}, {x, scale, rsqrt},
                [is_trained = trains(scale)](Kept& kept, Gradients& in, Gradients& out) {
                  const Tensor& input = kept[0];
                  if (is_trained)
                    out[1] = scale_gradient(rows_of(input), input.size(-1), input.dtype());
                  out[0] = buffer(input.sizes(), input.dtype());
                  in[0].reset();
                });
  return h;
}

/// The projections and rotations. Rotated heads, and keys and values repeated to as many heads as
/// queries, are buffers; so is what the positions pick of the rotation's table.
struct Heads {
  Tensor q, k, v;
};
Heads heads_graph(const DecoderArgs& args, const LayerWeights& w, Rows kind, const Tensor& h) {
  const std::int64_t b = h.size(0), s = h.size(1), rows = b * s;
  const DType dtype = h.dtype();
  const ghost::Dims heads{b, s, args.num_heads, args.head_dim};
  Tensor q, k, v, rope, hidden_q, hidden_k, hidden_v;
  {
    const ghost::GradMode no_grad(false);
    Projected of_q = project(w.q, rows, dtype);
    if (kind == Rows::packed) rope = buffer({b, s, args.head_dim / 2, 2}, DType::float32);
    Projected of_k = project(w.k, rows, dtype);
    q = buffer(heads, dtype);
    k = buffer(heads, dtype);
    of_k.out.reset();
    Projected of_v = project(w.v, rows, dtype);
    v = std::move(of_q.out).view(heads);
    hidden_q = std::move(of_q.hidden);
    hidden_k = std::move(of_k.hidden);
    hidden_v = std::move(of_v.hidden);
    q = std::move(q).transpose(1, 2);
    k = std::move(k).transpose(1, 2);
    v = std::move(v).transpose(1, 2);
  }
  const std::int64_t kv = args.num_kv_heads * args.head_dim;
  const auto backward = [w, args, rows, kv](Kept& kept, Gradients& in, Gradients& out) {
    const DType type = kept[0].dtype();
    const ghost::Dims sizes = kept[0].sizes();
    std::vector<Tensor> into;
    Tensor rotated = buffer({rows, kv}, DType::float32);
    in[1].reset();
    {
      const Tensor summed = buffer({rows, kv}, type);
      in[2].reset();
      give(out, 7, project_backward(w.v, rows, type, into));
      rotated.reset();
      give(out, 4, project_backward(w.k, rows, type, into));
    }
    {
      const Tensor turned = buffer({rows, args.num_heads * args.head_dim}, type);
      in[0].reset();
      give(out, 1, project_backward(w.q, rows, type, into));
    }
    kept.clear();
    out[0] = std::exchange(into.front(), {}).view(sizes);
  };
  set_generated({h, w.q.weight, w.q.lora_a, w.q.lora_b, w.k.weight, w.k.lora_a, w.k.lora_b,
                 w.v.weight, w.v.lora_a, w.v.lora_b},
                {&q, &k, &v}, {h, rope, hidden_q, hidden_k, hidden_v}, backward);
  return {std::move(q), std::move(k), std::move(v)};
}

/// self.output_proj(output)
Tensor output_graph(const LinearWeights& w, const Tensor& attended) {
  const std::int64_t b = attended.size(0), s = attended.size(2), rows = b * s;
  Tensor out, hidden;
  {
    const ghost::GradMode no_grad(false);
    Projected made = project(w, rows, attended.dtype());
    out = std::move(made.out).view({b, s, w.weight.size(0)});
    hidden = std::move(made.hidden);
  }
  const auto backward = [w, rows](Kept& kept, Gradients& in, Gradients& out_gradients) {
    const Tensor input = kept[0];
    kept.clear();
    std::vector<Tensor> into;
    const Tensor scaled = w.is_adapted() ? buffer(in[0].sizes(), in[0].dtype()) : Tensor();
    give(out_gradients, 1, project_backward(w, rows, input.dtype(), into));
    in[0].reset();
    out_gradients[0] = std::move(into.front())
                           .view({input.size(0), input.size(2), input.size(1), input.size(3)})
                           .transpose(1, 2);
  };
  set_generated({attended, w.weight, w.lora_a, w.lora_b}, {&out}, {attended, hidden}, backward);
  return out;
}

/// What the last graph makes on the way to its output, and keeps.
struct FeedForwardMade {
  Tensor out, residual, rsqrt, normed, gate, up, gated, hidden_gate, hidden_up, hidden_down;
};
FeedForwardMade make_feed_forward(const LayerWeights& w, const Tensor& x) {
  const ghost::GradMode no_grad(false);
  const std::int64_t rows = rows_of(x);
  const DType dtype = x.dtype();
  FeedForwardMade made;
  made.residual = buffer(x.sizes(), dtype);
  made.rsqrt = buffer({x.size(0), x.size(1), 1}, DType::float32);
  made.normed = buffer(x.sizes(), dtype);
  Projected gate = project(w.w1, rows, dtype), up = project(w.w3, rows, dtype);
  made.gated = buffer({rows, w.w1.weight.size(0)}, dtype);
  gate.update.reset();
  up.update.reset();
  Projected down = project(w.w2, rows, dtype);
  made.out = std::move(down.out).view(x.sizes());
  made.gate = std::move(gate.out);
  made.up = std::move(up.out);
  made.hidden_gate = std::move(gate.hidden);
  made.hidden_up = std::move(up.hidden);
  made.hidden_down = std::move(down.hidden);
  return made;
}

/// Both gradients of the products of the feed forward, and what flows back from each.
void feed_forward_backward(const LayerWeights& w, Kept& kept, Gradients& in, Gradients& out) {
  // The order in which the forward kept: scale, residual, rsqrt, normed, gate, up, gated.
  enum : std::size_t { scale, residual, rsqrt, normed, gate, up, gated };
  const std::int64_t rows = rows_of(kept[residual]);
  const DType dtype = kept[residual].dtype();
  const ghost::Dims wide = kept[gated].sizes();
  std::vector<Tensor> into_gated, into;
  Tensor grad_up, grad_gate;
  {
    const Tensor scaled = w.w2.is_adapted() ? buffer(kept[residual].sizes(), dtype) : Tensor();
    give(out, 9, project_backward(w.w2, rows, dtype, into_gated));
    kept[gated].reset();
    grad_up = buffer(wide, dtype);
    grad_gate = buffer(wide, dtype);
    const Tensor scaled_up = w.w3.is_adapted() ? buffer(wide, dtype) : Tensor();
    const Tensor scaled_gate = w.w1.is_adapted() ? buffer(wide, dtype) : Tensor();
    into_gated.clear();
    kept[gate].reset();
    kept[up].reset();
    give(out, 6, project_backward(w.w3, rows, dtype, into));
    grad_up.reset();
    give(out, 3, project_backward(w.w1, rows, dtype, into));
    grad_gate.reset();
  }
  kept[normed].reset();
  if (trains(w.mlp_scale)) out[2] = scale_gradient(rows, kept[residual].size(-1), dtype);
  const Tensor in_float =
      trains(w.mlp_scale) ? Tensor() : buffer(kept[residual].sizes(), DType::float32);
  out[0] = buffer(kept[residual].sizes(), dtype);
  out[1] = out[0];
  kept.clear();
  in[0].reset();
}

/// h = attn_out + x; out = h + self.mlp(self.mlp_norm(h))
Tensor feed_forward_graph(const LayerWeights& w, const Tensor& attn_out, const Tensor& x) {
  FeedForwardMade made = make_feed_forward(w, x);
  Tensor out = std::move(made.out);
  set_generated({attn_out, x, w.mlp_scale, w.w1.weight, w.w1.lora_a, w.w1.lora_b, w.w3.weight,
                 w.w3.lora_a, w.w3.lora_b, w.w2.weight, w.w2.lora_a, w.w2.lora_b},
                {&out},
                {w.mlp_scale, made.residual, made.rsqrt, made.normed, made.gate, made.up,
                 made.gated, made.hidden_gate, made.hidden_up, made.hidden_down},
                [w](Kept& kept, Gradients& in, Gradients& gradients) {
                  feed_forward_backward(w, kept, in, gradients);
                });
  return out;
}

}  // namespace

Tensor compiled_layer(const DecoderArgs& args, const LayerWeights& weights, Rows rows,
                      const Tensor& x) {
  Tensor attn_out;
  {
    const Tensor h = norm_graph(x, weights.sa_scale);
    Tensor attended;
    {
      const Heads heads = heads_graph(args, weights, rows, h);
      attended = rows == Rows::packed ? ghost::flex_attention(heads.q, heads.k, heads.v)
                                      : ghost::scaled_dot_product_attention(
                                            heads.q, heads.k, heads.v, {}, {.is_causal = true});
    }
    attn_out = output_graph(weights.o, attended);
  }
  return feed_forward_graph(weights, attn_out, x);
}

}  // namespace memtape::torchtune
