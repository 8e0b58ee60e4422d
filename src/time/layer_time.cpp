// SPDX-License-Identifier: Apache-2.0
#include "time/layer_time.h"

#include <algorithm>
#include <cmath>

namespace memtape::time {
namespace {

using LayerAttention = AttentionShape::Kind;

/// Messages behind computation slow it down: they take multiprocessors and memory (Galvatron
/// measures 1.1 to 1.3 of the time that both share).
constexpr double kLayerSlowdown = 0.2;
/// Of a tensor-parallel message in pieces under its GEMM, what still shows: the first or last
/// piece of as many as there are ranks (Megatron's userbuffers, torch's asynchronous TP).
constexpr double kShownOfPieces = 0.25;

/// Launches, or what takes as long as one: a linear module of Transformer Engine beside its product
/// allocates, checks and, with eight bits, quantizes and keeps scales; a token dispatcher sorts,
/// counts, copies counts to the host and splits.
constexpr double kOpsOfLinear = 6;
constexpr double kOpsOfLowLinear = 14;
constexpr double kOpsOfDispatch = 70;

double layer_double(std::int64_t x) { return static_cast<double>(x); }

/// Of the ranks that share an expert's width, those whose tokens are not the same: tensor parallel
/// ranks that do not cut the sequence all have the same ones.
std::int64_t ranks_with_other_tokens(const TrainSetup& s) {
  return s.sequence_parallel ? s.etp : std::max<std::int64_t>(s.etp / s.tp, 1);
}

std::int64_t cut_layer(std::int64_t x, std::int64_t ranks) {
  return std::max<std::int64_t>((x + ranks - 1) / ranks, 1);
}

}  // namespace

Spent& Spent::operator+=(const Spent& o) {
  gemm += o.gemm;
  attention += o.attention;
  elementwise += o.elementwise;
  tp += o.tp;
  ep += o.ep;
  cp += o.cp;
  hidden += o.hidden;
  kernels += o.kernels;
  return *this;
}

Spent Spent::times(double n) const {
  return {gemm * n, attention * n, elementwise * n, tp * n,
          ep * n,   cp * n,        hidden * n,      kernels * n};
}

namespace {

bool is_low(Compute compute) {
  return compute == Compute::fp8 || compute == Compute::mxfp8 || compute == Compute::nvfp4;
}

}  // namespace

struct LayerClock::Sizes {
  const TrainSetup* setup = nullptr;
  double tokens = 0;      ///< of a micro-batch on this rank, its whole hidden size
  double own_tokens = 0;  ///< those whose norms it computes: cut by tp under sequence parallelism
  double sequence = 0;    ///< tokens of one sequence on this rank
  double sequences = 0;
  double hidden = 0;
  Group tp, ep, cp;
  bool is_low = false;  ///< eight bits or fewer: casts before every product
};

struct LayerClock::Linear {
  double n = 1, k = 1;  ///< on this rank
};

LayerClock::Sizes LayerClock::sizes(const TrainSetup& s) const {
  Sizes z;
  z.setup = &s;
  z.sequence = std::ceil(layer_double(s.sequence) / layer_double(s.cp));
  z.sequences = layer_double(s.micro_batch);
  z.tokens = z.sequence * z.sequences;
  z.own_tokens = s.sequence_parallel ? z.tokens / layer_double(s.tp) : z.tokens;
  z.hidden = layer_double(shape_.hidden);
  const std::int64_t domain = kernels_.machine().domain;
  z.tp = Group::strided(s.tp, 1, domain);
  z.cp = Group::strided(s.cp, s.tp, domain);
  z.ep = Group::strided(s.ep, s.etp, domain);
  z.is_low = is_low(s.compute);
  return z;
}

/// y = x w: the product, its two backwards, and for eight bits the casts of what goes in: read in
/// 16 bits, written as it is and transposed (Transformer Engine's quantizers).
void LayerClock::linear(LayerTime& t, const Sizes& z, const Linear& l) const {
  const TrainSetup& s = *z.setup;
  const double unpacked = s.quantized_base ? kernels_.elementwise(l.n * l.k * 2.5) : 0;
  t.forward.gemm += kernels_.gemm({z.tokens, l.n, l.k}, s.compute);
  t.backward.gemm += kernels_.gemm({z.tokens, l.k, l.n}, s.compute);
  t.forward.kernels += z.is_low ? kOpsOfLowLinear : kOpsOfLinear;
  t.backward.kernels += z.is_low ? kOpsOfLowLinear : kOpsOfLinear;
  t.forward.elementwise += unpacked;
  t.backward.elementwise += unpacked;
  if (s.lora_rank == 0) {
    t.weights.gemm +=
        kernels_.gemm({l.n, l.k, z.tokens}, s.weights_in_16_bits ? Compute::bf16 : s.compute);
    t.weights.kernels += 1;
  } else {
    // The narrow products read their input and write their output, and are added.
    const double bytes = s.adapted * z.tokens * (l.k * 2 + l.n * 8);
    t.forward.elementwise += kernels_.elementwise(bytes);
    t.backward.elementwise += kernels_.elementwise(1.5 * bytes);
    t.forward.kernels += 4 * s.adapted;
    t.backward.kernels += 6 * s.adapted;
  }
  if (z.is_low) {
    t.forward.elementwise += kernels_.elementwise(z.tokens * l.k * 4);
    t.backward.elementwise += kernels_.elementwise(z.tokens * l.n * 4);
  }
  constexpr double kMaximum = 2, kCast = 3;  // bytes an element: read; read and written
  if (z.is_low && s.casts_by_maximum) {
    t.forward.elementwise += kernels_.elementwise(z.tokens * l.k * (kMaximum + kCast - 4));
    t.backward.elementwise +=
        kernels_.elementwise(z.tokens * (l.n * (kMaximum + 2 * kCast - 4) + l.k * kCast));
  }
  if (z.is_low && s.casts_weights) {
    t.forward.elementwise += kernels_.elementwise(l.n * l.k * (kMaximum + kCast));
    t.backward.elementwise += kernels_.elementwise(l.n * l.k * (kMaximum + kCast));
  }
}

/// Norms and the residual beside them: fused, each reads and writes once; else transformers'
/// RMSNorm goes through float32 in six kernels.
void LayerClock::norms(LayerTime& t, const Sizes& z, double norms) const {
  const double elements = z.own_tokens * z.hidden * norms;
  const bool fused = z.setup->fused;
  t.forward.elementwise += kernels_.elementwise(elements * (fused ? 4 + 6 : 30 + 6));
  t.backward.elementwise += kernels_.elementwise(elements * (fused ? 6 + 6 : 44 + 6));
  t.forward.kernels += norms * (fused ? 2 : 8);
  t.backward.kernels += norms * (fused ? 3 : 12);
}

/// The messages around one block of column- and row-cut matrices. With sequence parallelism an
/// all-gather before and a reduce-scatter after, and in the backward one more gather behind the
/// GEMM (Megatron's LinearWithGradAccumulationAndAsyncCommunication); else all-reduces, the
/// backward's behind the GEMM of the weights.
void LayerClock::tensor_messages(LayerTime& t, const Sizes& z, double gemm_behind) const {
  const TrainSetup& s = *z.setup;
  if (s.tp <= 1) return;
  const double bytes = z.tokens * z.hidden * 2;
  const double shown = s.overlaps_tensor ? kShownOfPieces : 1.0;
  const auto behind = [&](double seconds, LayerTime& to) {
    const double over = std::max(seconds - gemm_behind, 0.0);
    to.backward.tp += over;
    to.backward.hidden += seconds - over;
  };
  if (s.sequence_parallel) {
    const double gather = collectives_.seconds(Message::all_gather, bytes, z.tp);
    const double scatter = collectives_.seconds(Message::reduce_scatter, bytes, z.tp);
    t.forward.tp += (gather + scatter) * shown;
    t.forward.hidden += (gather + scatter) * (1 - shown);
    t.backward.tp += gather * shown;
    t.backward.hidden += gather * (1 - shown);
    behind(gather + scatter, t);
    t.forward.kernels += 2;
    t.backward.kernels += 3;
    return;
  }
  const double reduce = collectives_.seconds(Message::all_reduce, bytes, z.tp);
  t.forward.tp += reduce * shown;
  t.forward.hidden += reduce * (1 - shown);
  behind(reduce, t);
  t.forward.kernels += 1;
  t.backward.kernels += 1;
}

void LayerClock::projections(LayerTime& t, const Sizes& z, const AttentionShape& a) const {
  const std::int64_t tp = z.setup->tp;
  const auto heads = layer_double(cut_layer(a.heads, tp)),
             kv = layer_double(cut_layer(a.kv_heads, tp));
  const auto d = layer_double(a.head_dim), dv = layer_double(a.value_head_dim);
  if (a.kind == LayerAttention::linear) {
    linear(t, z, {layer_double(cut_layer(a.in_width, tp)), z.hidden});
  } else if (a.kind == LayerAttention::latent) {
    const auto rank = layer_double(a.kv_rank), rope = layer_double(a.rope_dim);
    if (a.q_rank > 0) {
      linear(t, z, {layer_double(a.q_rank) + rank + rope, z.hidden});
      linear(t, z, {heads * d, layer_double(a.q_rank)});
    } else {
      linear(t, z, {heads * d + rank + rope, z.hidden});
    }
    linear(t, z, {heads * (d - rope + dv), rank});
    // Norms of the two latents, rope's parts put together and expanded to all heads.
    const double bytes = z.tokens * heads * (2 * d + dv) * 4;
    t.forward.elementwise += kernels_.elementwise(bytes);
    t.backward.elementwise += kernels_.elementwise(1.5 * bytes);
    t.forward.kernels += 8;
    t.backward.kernels += 12;
  } else {
    linear(t, z, {heads * d + kv * (d + dv), z.hidden});
  }
  linear(t, z, {z.hidden, heads * dv});
  const double rotated = z.tokens * (heads + kv) * d;
  t.forward.elementwise += kernels_.elementwise(rotated * (z.setup->fused ? 4 : 24));
  t.backward.elementwise += kernels_.elementwise(rotated * (z.setup->fused ? 4 : 24));
  t.forward.kernels += z.setup->fused ? 2 : 14;
  t.backward.kernels += z.setup->fused ? 2 : 14;
}

void LayerClock::core_attention(LayerTime& t, const Sizes& z, const AttentionShape& a) const {
  const TrainSetup& s = *z.setup;
  const auto heads = layer_double(cut_layer(a.heads, s.tp));
  const auto d = layer_double(a.head_dim), dv = layer_double(a.value_head_dim);
  if (a.kind == LayerAttention::linear) {
    // A scan in chunks of 64 to 256 tokens: products within the chunk and with the state.
    const double flops = z.tokens * heads * (2 * 128 * (d + dv) + 6 * d * dv);
    constexpr FlashAttention kScan = FlashAttention::newest;
    const double seconds = kernels_.context_attention(flops, 1024, a.value_head_dim, kScan) +
                           kernels_.elementwise(z.tokens * heads * (2 * d + 2 * dv) * 4);
    t.forward.attention += seconds;
    t.backward.attention += Kernels::backward_of_attention(kScan) * seconds;
    t.forward.kernels += 8;
    t.backward.kernels += 14;
    return;
  }
  const auto whole = layer_double(s.sequence);
  double seen = shape_.causal ? whole / 2 : whole;
  if (a.window > 0) seen = std::min(seen, layer_double(a.window));
  if (a.top_tokens > 0) seen = std::min(seen, layer_double(a.top_tokens));
  const double flops = 2 * z.tokens * heads * seen * (d + dv);
  double seconds = 0, launches = 1;
  if (s.flash_attention) {
    const double length = a.window > 0 ? std::min(whole, layer_double(a.window) * 4) : z.sequence;
    seconds = a.kind == LayerAttention::latent
                  ? kernels_.latent_context_attention(flops, length)
                  : kernels_.context_attention(flops, length, a.head_dim, s.flash_version);
    t.backward.attention += Kernels::backward_of_attention(s.flash_version) * seconds;
    t.backward.kernels += 3;
  } else {
    // Scores of all pairs go through memory: the product, scale and mask, softmax, dropout and its
    // mask, and the second product (Megatron's DotProductAttention).
    const double scores = z.sequences * heads * z.sequence * whole;
    seconds = 2 * flops / (kernels_.machine().peak(Compute::bf16) * 0.45) +
              kernels_.elementwise(scores * (s.fused ? 13 : 21));
    t.backward.attention += 2 * seconds;
    launches = s.fused ? 4 : 8;
    t.backward.kernels += s.fused ? 6 : 10;
  }
  t.forward.attention += seconds;
  t.forward.kernels += launches;
  if (s.recompute.kind != Recompute::Kind::selective || !s.recompute.core_attention) return;
  t.recompute.attention += seconds;
  t.recompute.kernels += launches;
}

/// Ring attention: keys and values go round while the chunk before is worked on.
void LayerClock::context_messages(LayerTime& t, const Sizes& z, const AttentionShape& a) const {
  const TrainSetup& s = *z.setup;
  if (s.cp <= 1 || a.kind == LayerAttention::none || a.kind == LayerAttention::linear) return;
  const auto kv = layer_double(cut_layer(a.kv_heads, s.tp));
  const double bytes = z.tokens * kv * layer_double(a.head_dim + a.value_head_dim) * 2;
  const double hops = layer_double(s.cp - 1);
  const double one = collectives_.send(bytes, z.cp.near >= z.cp.ranks);
  const double work = t.forward.attention / layer_double(s.cp);
  t.forward.cp += hops * std::max(one - work, 0.0);
  t.forward.hidden += hops * std::min(one, work);
  t.backward.cp +=
      hops * std::max(2 * one - work * Kernels::backward_of_attention(s.flash_version), 0.0);
  t.backward.hidden +=
      hops * std::min(2 * one, work * Kernels::backward_of_attention(s.flash_version));
  t.forward.kernels += 3 * hops;
  t.backward.kernels += 4 * hops;
}

void LayerClock::attention(LayerTime& t, const Sizes& z, const AttentionShape& a) const {
  if (a.kind == LayerAttention::none) return;
  LayerTime own;
  projections(own, z, a);
  const double behind = own.weights.gemm;
  core_attention(own, z, a);
  context_messages(own, z, a);
  tensor_messages(own, z, behind);
  norms(own, z, 1);
  t += own;
}

void LayerClock::dense(LayerTime& t, const Sizes& z, const MlpShape& m, double width) const {
  if (width <= 0) return;
  const double own = std::ceil(width / layer_double(z.setup->tp));
  linear(t, z, {own * (m.gated ? 2 : 1), z.hidden});
  linear(t, z, {z.hidden, own});
  const double gates = m.gated ? 1 : 0;
  const bool fused = z.setup->fused;
  // silu(gate) * up: reads two, writes one; its backward reads three and writes two.
  t.forward.elementwise +=
      kernels_.elementwise(z.tokens * own * (fused ? 4 + 2 * gates : 4 + 6 * gates));
  t.backward.elementwise +=
      kernels_.elementwise(z.tokens * own * (fused ? 6 + 4 * gates : 6 + 12 * gates));
  t.forward.kernels += fused ? 1 : 2;
  t.backward.kernels += fused ? 1 : 3;
}

/// Tokens go to their experts and come back. With NCCL each pick is a copy of its own; DeepEP and
/// HybridEP send a token once to a node and spread it there.
void LayerClock::dispatch(LayerTime& t, const Sizes& z, const MlpShape& m) const {
  const TrainSetup& s = *z.setup;
  const double picks = z.own_tokens * layer_double(m.top_k);
  const double bytes = picks * z.hidden * 2;
  // Sorting by expert and back, and the weighted sum.
  t.forward.elementwise += kernels_.elementwise(3 * bytes + 2 * bytes);
  t.backward.elementwise += kernels_.elementwise(3 * bytes + 2 * bytes);
  t.forward.kernels += kOpsOfDispatch;
  t.backward.kernels += kOpsOfDispatch;
  if (ranks_with_other_tokens(s) > 1) {  // each cut of an expert needs all of its tokens
    const Group cuts = Group::strided(s.etp, 1, kernels_.machine().domain);
    const double whole = bytes * layer_double(ranks_with_other_tokens(s));
    const double both = collectives_.seconds(Message::all_gather, whole, cuts) +
                        collectives_.seconds(Message::reduce_scatter, whole, cuts);
    t.forward.tp += both;
    t.backward.tp += both;
  }
  if (s.ep <= 1) return;
  double sent = bytes;
  if (s.fast_dispatch) {
    const double targets = z.ep.near >= z.ep.ranks
                               ? layer_double(s.ep)
                               : layer_double(z.ep.ranks) / layer_double(z.ep.near);
    double met = targets * (1 - std::pow(1 - 1 / targets, layer_double(m.top_k)));
    if (m.top_groups > 0) met = std::min(met, layer_double(m.top_groups));
    sent = z.own_tokens * z.hidden * 2 * std::max(met, 1.0);
  }
  const double one = collectives_.seconds(Message::all_to_all, sent, z.ep);
  const double all = 2 * one;
  const double shown = s.overlaps_experts ? 0.15 : 1;
  t.forward.ep += all * shown;
  t.backward.ep += all * shown;
  t.forward.hidden += all * (1 - shown);
  t.backward.hidden += all * (1 - shown);
}

void LayerClock::mixture(LayerTime& t, const Sizes& z, const MlpShape& m) const {
  const TrainSetup& s = *z.setup;
  const auto local = layer_double(cut_layer(m.experts, s.ep));
  const auto width = layer_double(cut_layer(m.expert_width, s.etp));
  // A rank gets as many picks as it sends, and those of the ranks that share its experts.
  const double picks =
      z.own_tokens * layer_double(m.top_k) * layer_double(ranks_with_other_tokens(s));
  const double each = std::max(picks / local, 1.0);
  const double matrices = m.gated ? 2 : 1;
  const Compute compute = s.expert_compute.value_or(s.compute);
  const auto gemm = [&](double rows, double n, double k) {
    return local * kernels_.gemm({rows, n, k}, compute);
  };
  t.forward.gemm += gemm(each, matrices * width, z.hidden) + gemm(each, z.hidden, width);
  t.backward.gemm += gemm(each, z.hidden, matrices * width) + gemm(each, width, z.hidden);
  t.weights.gemm += gemm(matrices * width, z.hidden, each) + gemm(z.hidden, width, each);
  // One kernel, or chunk, two clamps, sigmoid and three products with what autograd keeps of them.
  const double activations = kernels_.elementwise(picks * width * (m.clamps ? 50 : 6));
  t.forward.elementwise += activations;
  if (s.recompute.kind == Recompute::Kind::selective && s.recompute.moe_act) {
    t.recompute.elementwise += activations;
    t.recompute.kernels += m.clamps ? 7 : 1;
  }
  t.backward.elementwise += kernels_.elementwise(picks * width * (m.clamps ? 80 : 10));
  if (is_low(compute)) {
    t.forward.elementwise += kernels_.elementwise(picks * (z.hidden + width) * 4);
    t.backward.elementwise += kernels_.elementwise(picks * (z.hidden + 2 * width) * 4);
  }
  const double casts = is_low(compute) ? 2 * local : 0;  // a cast for each expert's rows
  t.forward.kernels += 2 * kOpsOfLinear + casts;
  t.backward.kernels += 2 * kOpsOfLinear + casts;
  t.weights.kernels += 2 * kOpsOfLinear;
  // The router, in float32, and its top k.
  t.forward.elementwise +=
      kernels_.elementwise(z.own_tokens * (z.hidden * 4 + layer_double(m.experts) * 40));
  t.backward.elementwise +=
      kernels_.elementwise(z.own_tokens * (z.hidden * 6 + layer_double(m.experts) * 40));
  t.forward.kernels += 12;
  t.backward.kernels += 8;
  dispatch(t, z, m);
}

/// The products of a layer's forward that full recomputation leaves out.
double LayerClock::gemm_not_made_again(const Sizes& z, const LayerShape& l) const {
  const TrainSetup& s = *z.setup;
  const Recompute& r = s.recompute;
  double seconds = 0;
  const auto add = [&](double n, double k) {
    seconds += kernels_.gemm({z.tokens, n, k}, s.compute);
  };
  if (!l.mlp.is_mixture() && l.mlp.width > 0) {
    const auto width = layer_double(cut_layer(l.mlp.width, s.tp));
    if (r.stops_early || r.keeps_mlp) add(z.hidden, width);
    if (r.keeps_mlp) add(width * (l.mlp.gated ? 2 : 1), z.hidden);
  }
  const AttentionShape& a = l.attention;
  if (a.kind != LayerAttention::multi_head) return seconds;
  const auto heads = layer_double(cut_layer(a.heads, s.tp)),
             kv = layer_double(cut_layer(a.kv_heads, s.tp));
  const auto d = layer_double(a.head_dim), dv = layer_double(a.value_head_dim);
  if (r.keeps_qkv) add(heads * d + kv * (d + dv), z.hidden);
  if (r.keeps_out) add(z.hidden, heads * dv);
  return seconds;
}

LayerTime LayerClock::layer(const LayerShape& l, const TrainSetup& s) const {
  const Sizes z = sizes(s);
  LayerTime t;
  attention(t, z, l.attention);
  LayerTime mlp;
  if (l.mlp.width > 0) dense(mlp, z, l.mlp, layer_double(l.mlp.width));
  if (l.mlp.is_mixture()) mixture(mlp, z, l.mlp);
  const Recompute& r = s.recompute;
  const bool makes_parts_again = r.kind == Recompute::Kind::selective;
  if (l.mlp.is_mixture() && l.mlp.shared_width > 0) {
    LayerTime shared;
    dense(shared, z, l.mlp, layer_double(l.mlp.shared_width));
    if (makes_parts_again && r.shared_experts) shared.recompute += shared.forward;
    mlp += shared;
  }
  if (l.mlp.width > 0 || (l.mlp.is_mixture() && s.tp > 1 && l.mlp.shared_width > 0))
    tensor_messages(mlp, z, mlp.weights.gemm);
  if (l.mlp.width > 0 || l.mlp.is_mixture()) norms(mlp, z, 1);
  const bool makes_mlp_again = makes_parts_again && (l.mlp.is_mixture() ? r.moe : r.mlp);
  if (makes_mlp_again) mlp.recompute = mlp.forward;
  t += mlp;
  if (r.kind == Recompute::Kind::full) {
    t.recompute = t.forward;
    t.recompute.gemm -= gemm_not_made_again(z, l);
  }
  if (makes_parts_again && r.norms) {
    t.recompute.elementwise += kernels_.elementwise(z.own_tokens * z.hidden * 2 * 4);
    t.recompute.kernels += s.fused ? 2 : 12;
  }
  if (makes_parts_again && r.mla_up && l.attention.kind == LayerAttention::latent) {
    const auto heads = layer_double(cut_layer(l.attention.heads, s.tp));
    const double width = heads * layer_double(l.attention.head_dim + l.attention.value_head_dim);
    t.recompute.gemm +=
        kernels_.gemm({z.tokens, width, layer_double(l.attention.kv_rank)}, s.compute);
    t.recompute.kernels += z.is_low ? kOpsOfLowLinear : kOpsOfLinear;
  }
  for (Spent* spent : {&t.forward, &t.backward, &t.weights, &t.recompute})
    spent->elementwise += kLayerSlowdown * spent->hidden;
  return t;
}

/// Logits, and the loss in float32: fused as Megatron's vocab-parallel cross entropy; else logits
/// are copied to float32, shifted, and go through log_softmax and back.
LayerTime LayerClock::head(const TrainSetup& s) const {
  const Sizes z = sizes(s);
  TrainSetup plain = s;
  plain.lora_rank = 0;
  plain.compute = z.is_low ? Compute::bf16 : s.compute;  // the output layer stays in 16 bits
  Sizes y = z;
  y.setup = &plain;
  y.is_low = false;
  LayerTime t;
  const double width = std::ceil(layer_double(shape_.vocab) / layer_double(s.tp));
  linear(t, y, {width, z.hidden});
  if (s.lora_rank > 0) t.weights = {};
  const double logits = z.tokens * width;
  t.forward.elementwise += kernels_.elementwise(logits * (s.fused ? 12 : 26));
  t.backward.elementwise += kernels_.elementwise(logits * (s.fused ? 8 : 22));
  t.forward.kernels += s.fused ? 6 : 10;
  t.backward.kernels += s.fused ? 3 : 8;
  if (s.tp > 1 && s.sequence_parallel) {
    const double gather = collectives_.seconds(Message::all_gather, z.tokens * z.hidden * 2, z.tp);
    t.forward.tp += gather;
    t.backward.tp += gather;
  }
  norms(t, z, 1);
  const auto times = layer_double(shape_.predicted_tokens);
  t.forward = t.forward.times(times);
  t.backward = t.backward.times(times);
  t.weights = t.weights.times(times);
  return t;
}

LayerTime LayerClock::embedding(const TrainSetup& s) const {
  const Sizes z = sizes(s);
  LayerTime t;
  t.forward.elementwise += kernels_.elementwise(z.own_tokens * z.hidden * 4);
  t.backward.elementwise += kernels_.elementwise(z.tokens * z.hidden * 12);
  if (s.tp > 1)
    t.forward.tp +=
        collectives_.seconds(s.sequence_parallel ? Message::reduce_scatter : Message::all_reduce,
                             z.tokens * z.hidden * 2, z.tp);
  t.forward.kernels += 2;
  t.backward.kernels += 3;
  return t;
}

}  // namespace memtape::time
