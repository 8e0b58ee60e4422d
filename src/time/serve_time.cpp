// SPDX-License-Identifier: Apache-2.0
#include "time/serve_time.h"

#include <algorithm>
#include <cmath>

namespace memtape::time {
namespace {

using ServedAttention = AttentionShape::Kind;

double served_double(std::int64_t x) { return static_cast<double>(x); }
double cut_served(std::int64_t x, std::int64_t ranks) {
  return served_double(std::max<std::int64_t>((x + ranks - 1) / ranks, 1));
}

/// A pass costs the engine's scheduler, sampling and sending of tokens so much beside its kernels.
constexpr double kPassWithGraphs = 1.0e-3;
constexpr double kRounds = 10;
/// Passes with prompts run without graphs: Python launches a layer's kernels one by one, more of
/// them for experts and for latent attention.
constexpr double kDenseLayer = 0.25e-3;
constexpr double kMoreForMixture = 0.15e-3;
constexpr double kMoreForLatent = 0.8e-3;
constexpr double kShareOfCompiled = 0.3;

double launches(const LayerShape& layer) {
  return kDenseLayer + (layer.mlp.is_mixture() ? kMoreForMixture : 0) +
         (layer.attention.kind == ServedAttention::latent ? kMoreForLatent : 0);
}

}  // namespace

double ServeClock::linear(const ServeSetup& s, double tokens, double n, double k) const {
  return kernels_.gemm({tokens, n, k}, s.weights);
}

void ServeClock::attention(Cost& cost, const ServeSetup& s, const Pass& p,
                           const AttentionShape& a) const {
  if (a.kind == ServedAttention::none) return;
  const double tokens = p.prompt_tokens + p.sequences;
  const auto h = served_double(shape_.hidden);
  const std::int64_t tp = s.tp;
  const double heads = cut_served(a.heads, tp), kv = cut_served(a.kv_heads, tp);
  const auto d = served_double(a.head_dim), dv = served_double(a.value_head_dim);
  const auto rank = served_double(a.kv_rank), rope = served_double(a.rope_dim);
  if (a.kind == ServedAttention::latent) {
    const auto q = served_double(a.q_rank);
    if (q > 0)
      cost.gemm += linear(s, tokens, q + rank + rope, h) + linear(s, tokens, heads * d, q);
    else
      cost.gemm += linear(s, tokens, heads * d + rank + rope, h);
    if (p.prompt_tokens > 0)
      cost.gemm += kernels_.gemm({p.prompt_tokens, heads * (d - rope + dv), rank}, Compute::bf16);
    if (p.sequences > 0)  // absorbed into the queries and out of the values
      cost.gemm += kernels_.gemm({p.sequences, heads * (d - rope + dv), rank}, Compute::bf16);
  } else if (a.kind == ServedAttention::linear) {
    cost.gemm += linear(s, tokens, cut_served(a.in_width, tp), h);
  } else {
    cost.gemm += linear(s, tokens, heads * d + kv * (d + dv), h);
  }
  cost.gemm += linear(s, tokens, h, heads * dv);
  cost.elementwise += kernels_.elementwise(tokens * (h * 16 + (heads + 2 * kv) * d * 6));
  const auto limited = [&](double seen) {
    if (a.window > 0) seen = std::min(seen, served_double(a.window));
    if (a.top_tokens > 0) seen = std::min(seen, served_double(a.top_tokens));
    return seen;
  };
  if (p.prompt_tokens > 0) {
    const double flops = 2 * p.prompt_tokens * heads * limited(p.prompt_length / 2) * (d + dv);
    cost.attention += a.kind == ServedAttention::latent
                          ? kernels_.latent_context_attention(flops, p.prompt_length)
                          : kernels_.context_attention(flops, p.prompt_length, a.head_dim,
                                                       FlashAttention::newest);
  }
  if (p.sequences > 0) {
    const double seen = p.sequences * limited(p.context);
    if (a.kind == ServedAttention::latent)
      cost.attention += kernels_.latent_generation_attention(seen * (rank + rope) * s.kv_bytes,
                                                             2 * seen * heads * (2 * rank + rope));
    else if (a.kind == ServedAttention::linear)
      cost.attention += kernels_.elementwise(p.sequences * heads * d * dv * 8);
    else
      cost.attention += kernels_.generation_attention(seen * kv * (d + dv) * s.kv_bytes,
                                                      2 * seen * heads * (d + dv));
  }
  if (tp > 1) cost.tp += collectives_.served_all_reduce(tokens * h * 2, tp);
}

void ServeClock::mlp(Cost& cost, const ServeSetup& s, const Pass& p, const MlpShape& m) const {
  const double own = p.prompt_tokens + p.sequences;
  const auto h = served_double(shape_.hidden);
  const double matrices = m.gated ? 2 : 1;
  const auto dense = [&](std::int64_t width) {
    const double w = cut_served(width, s.tp);
    cost.gemm += linear(s, own, matrices * w, h) + linear(s, own, h, w);
    cost.elementwise += kernels_.elementwise(own * w * 6);
  };
  if (m.width > 0) dense(m.width);
  if (m.shared_width > 0) dense(m.shared_width);
  if (m.is_mixture()) {
    // All ranks of attention bring tokens; experts are cut over all ranks, by expert or by width.
    const double tokens = own * served_double(s.dp);
    const std::int64_t ranks = s.tp * s.dp;
    const std::int64_t by_expert = std::min(std::max<std::int64_t>(s.ep, 1), ranks);
    Kernels::Experts e;
    e.picks = tokens * served_double(m.top_k) / served_double(by_expert);
    e.local = cut_served(m.experts, by_expert);
    e.hidden = h;
    e.width = cut_served(m.expert_width, std::max<std::int64_t>(ranks / by_expert, 1));
    e.matrices = matrices + 1;
    e.balanced = false;
    e.weights_only = s.expert_weights_only;
    cost.gemm += kernels_.experts(e, s.experts);
    cost.gemm += kernels_.gemm({own, served_double(m.experts), h}, Compute::bf16);
    cost.elementwise += kernels_.elementwise(own * served_double(m.top_k) * h * 4);
    if (s.dp > 1) {
      const Group group = Group::strided(ranks, 1, kernels_.machine().domain);
      cost.ep += collectives_.seconds(Message::all_gather, tokens * h * 2, group) +
                 collectives_.seconds(Message::reduce_scatter, tokens * h * 2, group);
    }
  }
  if ((m.width > 0 || m.is_mixture()) && s.tp > 1)
    cost.tp += collectives_.served_all_reduce(own * h * 2, s.tp);
  cost.elementwise += kernels_.elementwise(own * h * 8);
}

ServeClock::Cost ServeClock::pass(const ServeSetup& s, const Pass& p) const {
  Cost cost;
  for (const LayerShape& layer : shape_.layers) {
    Cost one;
    attention(one, s, p, layer.attention);
    mlp(one, s, p, layer.mlp);
    const auto n = served_double(layer.count);
    cost.gemm += n * one.gemm;
    cost.attention += n * one.attention;
    cost.elementwise += n * one.elementwise;
    cost.tp += n * one.tp;
    cost.ep += n * one.ep;
  }
  const double prompts = p.prompt_length > 0 ? std::ceil(p.prompt_tokens / p.prompt_length) : 0;
  const double sampled = p.sequences + prompts;
  cost.gemm += kernels_.gemm(
      {sampled, cut_served(shape_.vocab, s.tp), served_double(shape_.hidden)}, Compute::bf16);
  cost.host += kPassWithGraphs;
  double eager = 0;
  for (const LayerShape& layer : shape_.layers)
    eager += served_double(layer.count) * launches(layer);
  if (s.engine.compiles) eager *= kShareOfCompiled;
  if (!s.cuda_graphs || p.prompt_tokens > 0) cost.host += std::max(eager - cost.seconds(), 0.0);
  if (s.pp > 1)
    cost.tp += served_double(s.pp - 1) *
               collectives_.send((p.prompt_tokens + p.sequences) * served_double(shape_.hidden) * 2,
                                 s.tp * s.dp * s.pp <= kernels_.machine().domain);
  return cost;
}

ServeTime ServeClock::time(const ServeSetup& s) const {
  ServeTime t;
  const double input = served_double(s.input_tokens),
               output = std::max(served_double(s.output_tokens), 1.0);
  const double requests = std::max(1.0, served_double(s.concurrency) / served_double(s.dp));
  const double context = input + output / 2;
  const Cost decode = pass(s, {0, 0, requests, context});
  const double chunk = std::min(served_double(s.max_batched_tokens), input * requests);
  const Cost full = pass(s, {chunk, std::min(input, chunk), 0, 0});
  const double prompts_in_chunk = chunk / input;
  t.prefill_seconds = pass(s, {input, input, 0, 0}).seconds();
  t.decode_seconds = decode.seconds();
  const double prefill = full.seconds() / prompts_in_chunk;  // of one prompt among many
  const double tpot = t.decode_seconds + prefill * (requests - 1) / output;
  // A prompt waits for the pass that runs when it comes and shares its own with what decodes. A
  // load that starts all at once makes the first round wait for half of its prompts; benchmarks
  // send some ten rounds.
  const double waits = s.engine.passes_waited + (requests - 1) / 2 / kRounds;
  const double ttft = (t.prefill_seconds + t.decode_seconds) * (1 + waits);
  t.tpot = {tpot, tpot, tpot};
  t.ttft = {ttft, ttft, ttft};
  t.requests_per_second = served_double(s.concurrency) / (ttft + tpot * output);
  t.tokens_per_second = t.requests_per_second * output;
  const auto add = [&](PartKind kind, std::string_view what, double seconds) {
    if (seconds > 0) t.decode_parts.push_back({kind, what, seconds, 0});
  };
  add(PartKind::compute, "gemm", decode.gemm);
  add(PartKind::compute, "attention", decode.attention);
  add(PartKind::compute, "elementwise", decode.elementwise);
  add(PartKind::message, "tp", decode.tp);
  add(PartKind::message, "ep", decode.ep);
  add(PartKind::host, "scheduler", decode.host);
  return t;
}

}  // namespace memtape::time
