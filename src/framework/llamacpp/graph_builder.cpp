// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/graph_builder.h"

#include <map>

#include <fmt/format.h>

namespace memtape::llamacpp {

using ggml::Type;

GraphBuilder::GraphBuilder(ggml::Graph& graph, const GraphJob& job)
    : hp(job.hp),
      g(graph),
      n_tokens(job.n_tokens),
      n_seqs(job.n_seqs),
      n_seq_tokens(job.n_tokens / job.n_seqs),
      n_outputs(job.n_outputs),
      job_(job) {
  make_weights();
  make_caches();
}

Tensor* GraphBuilder::placed(Type type, ggml::Extents ne, const ggml::BufferType* buffer) {
  Tensor* t = g.tensor(type, ne);
  t->buffer = buffer;
  return t;
}

/// What is stored once and loaded again is one tensor where it goes to one buffer.
void GraphBuilder::make_weights() {
  std::map<std::pair<std::string_view, const ggml::BufferType*>, Tensor*> made;
  rope_long_.resize(static_cast<std::size_t>(hp.n_layer_all));
  rope_short_.resize(rope_long_.size());
  for (std::size_t i = 0; i < job_.weights.size(); ++i) {
    const Weight& weight = job_.weights[i];
    if (weight.skipped && !job_.settings.drafts) continue;
    Tensor*& t = made[{weight.name, job_.weight_buffers[i]}];
    if (!t) t = placed(weight.type, weight.ne, job_.weight_buffers[i]);
    t->weight = weight.adapts < 0;  // an adapter's buffer is not said to hold weights
    if (weight.place == Place::output && op_of(weight) == ggml::Op::get_rows)
      output_ = t;  // the embeddings again
    else if (weight.local.starts_with("rope_f"))
      (weight.local == "rope_factors_long.weight"
           ? rope_long_
           : rope_short_)[static_cast<std::size_t>(weight.layer)] = t;
    else
      weights_[weight.name] = t;
    if (weight.name == "output.weight") output_ = t;
  }
  // A and B of each adapter, one behind the other
  for (std::size_t i = 0; i + 1 < job_.weights.size(); ++i) {
    const Weight& weight = job_.weights[i];
    if (weight.adapts < 0) continue;
    const Weight& base = job_.weights[static_cast<std::size_t>(weight.adapts)];
    adapters_[weights_.at(base.name)].push_back(
        {weights_.at(weight.name), weights_.at(job_.weights[i + 1].name)});
    ++i;
  }
}

Tensor* GraphBuilder::mm(Tensor* weight, Tensor* x) {
  Tensor* y = g.mul_mat(weight, x);
  const auto at = adapters_.find(weight);
  if (at == adapters_.end()) return y;
  for (const Adapter& adapter : at->second)
    y = g.add(y, g.scale(g.mul_mat(adapter.b, g.mul_mat(adapter.a, x))));
  return y;
}

Tensor* GraphBuilder::mm_id(Tensor* experts, Tensor* x, Tensor* chosen) {
  Tensor* y = g.mul_mat_id(experts, x, chosen);
  const auto at = adapters_.find(experts);
  if (at == adapters_.end()) return y;
  for (const Adapter& adapter : at->second)
    y = g.add(y, g.scale(g.mul_mat_id(adapter.b, g.mul_mat_id(adapter.a, x, chosen), chosen)));
  return y;
}

Tensor* GraphBuilder::w(std::int64_t il, std::string_view local) const {
  const auto at = weights_.find(stored_name(il, local));
  return at == weights_.end() ? nullptr : at->second;
}

void GraphBuilder::make_caches() {
  const CachePlan& plan = job_.caches;
  const auto make = [&](const KvCachePlan& cache, std::vector<KeyValue>& into) {
    for (const LayerCache& layer : cache.layers)
      into.push_back({placed(plan.type_k, layer.k, layer.buffer),
                      layer.v[0] > 0 ? placed(plan.type_v, layer.v, layer.buffer) : nullptr});
  };
  make(plan.full, full_);
  make(plan.window, window_);
  make(plan.indexer, indexer_);
  r_.resize(static_cast<std::size_t>(hp.n_layer_all));
  s_.resize(r_.size());
  for (const RecurrentLayer& layer : plan.recurrent) {
    const auto il = static_cast<std::size_t>(layer.layer);
    r_[il] =
        placed(Type::f32, {plan.n_embd_r, plan.state_rows * plan.snapshots, 1, 1}, layer.buffer);
    s_[il] =
        placed(Type::f32, {plan.n_embd_s, plan.state_rows * plan.snapshots, 1, 1}, layer.buffer);
  }
}

Tensor* GraphBuilder::input_embeddings() {
  Tensor* tokens = g.input(Type::i32, {n_tokens, 1, 1, 1});
  const std::int64_t deep = hp.n_embd * hp.n_deepstack;
  Tensor* x = g.get_rows(w("token_embd.weight"), tokens);
  if (deep > 0) x = g.pad(x, {deep, 0, 0, 0});
  if (build().has_both_inputs())
    x = g.select({x, g.input(Type::f32, {hp.n_embd + deep, n_tokens, 1, 1})}, 0);
  if (deep > 0) x = g.view_2d(x, {hp.n_embd, n_tokens, 1, 1}, x->nb[1], 0);
  embedded_ = x;
  if (hp.embedding_scale != 0) x = g.scale(x);
  g.expand(x);
  return x;
}

GraphBuilder::DraftInputs GraphBuilder::input_drafts(std::int64_t il) {
  Tensor* tokens = g.input(Type::i32, {n_tokens, 1, 1, 1});
  Tensor* own = w(il, "nextn.embed_tokens.weight");
  Tensor* embedded = g.get_rows(own ? own : w("token_embd.weight"), tokens);
  return {embedded, g.input(Type::f32, {hp.n_embd, n_tokens, 1, 1})};
}

Tensor* GraphBuilder::image_features(std::int64_t il) {
  return g.view_2d(embedded_, {hp.n_embd, n_tokens, 1, 1}, embedded_->nb[1],
                   ggml::row_size(Type::f32, (il + 1) * hp.n_embd));
}

Tensor* GraphBuilder::input_positions() {
  return g.input(Type::i32, {n_tokens * (hp.mrope ? 4 : 1), 1, 1, 1});
}

Tensor* GraphBuilder::input_output_rows() { return g.input(Type::i32, {n_outputs, 1, 1, 1}); }

Tensor* GraphBuilder::input_attention_scale() { return g.input(Type::f32, {1, 1, n_tokens, 1}); }

CacheInputs GraphBuilder::cache_inputs(const KvCachePlan& cache, bool with_v) {
  const CachePlan& plan = job_.caches;
  CacheInputs in;
  in.cache = &cache;
  if (build().writes_rows()) {
    in.k_rows = g.input(Type::i64, {n_tokens, 1, 1, 1});
    if (with_v)
      in.v_rows =
          g.input(Type::i64, {plan.transposed_v ? n_tokens * hp.v_gqa_max() : n_tokens, 1, 1, 1});
  }
  in.mask = mask({cache.cells, n_tokens / plan.streams, 1, plan.streams});
  return in;
}

/// Flash attention takes half precision, which the graph once converted to.
Tensor* GraphBuilder::mask(ggml::Extents ne) {
  constexpr std::int64_t kMaskPad = 64;  // GGML_KQ_MASK_PAD
  if (!build().masks_fit()) ne[1] = round_up(ne[1], kMaskPad);
  if (!job_.flash) return g.input(Type::f32, ne);
  if (build().masks_in_half()) return g.input(Type::f16, ne);
  return g.cast(g.input(Type::f32, ne), Type::f16);
}

AttentionInputs GraphBuilder::input_attention() {
  const CachePlan& plan = job_.caches;
  AttentionInputs in;
  if (hp.no_cache) {
    for (CacheInputs* of : {&in.full, &in.window}) of->mask = mask({n_tokens, n_tokens, 1, 1});
    return in;
  }
  in.full = cache_inputs(plan.full, true);
  if (plan.has_window) {
    in.window = cache_inputs(plan.window, true);
  } else if (hp.swa) {  // one cache, two masks
    in.window = in.full;
    in.window.mask = mask({plan.full.cells, n_tokens, 1, 1});
  }
  const auto rotation = [&](std::int64_t rows) {
    return rows > 0 ? g.input(Type::f32, {rows, rows, 1, 1}) : nullptr;
  };
  for (CacheInputs* of : {&in.full, &in.window}) {
    if (!of->cache) continue;
    of->k_rotation = rotation(of->cache->rotation_k);
    of->v_rotation = rotation(of->cache->rotation_v);
  }
  return in;
}

AttentionInputs GraphBuilder::input_attention_k() {
  return {cache_inputs(job_.caches.full, false), {}};
}

/// The norm of a layer is kept on the layer's device, so that it does not slip to the one before.
void GraphBuilder::pin_norm(Tensor* x, std::int64_t il) {
  if (il < 0 || !(n_tokens < 32 || job_.placement.fully_offloaded())) return;
  const int backend = job_.placement.layer(il);
  if (job_.devices.backend(backend).supports_op(*x)) pins_.emplace_back(x, backend);
}

Tensor* GraphBuilder::norm(Tensor* x, Tensor* weight, Tensor* bias, Norm kind, std::int64_t il) {
  x = kind == Norm::rms ? g.rms_norm(x) : g.norm(x);
  if (weight || bias) pin_norm(x, il);
  if (weight) x = g.mul(x, weight);
  return biased(x, bias);
}

/// Factors without a length are kept with the short ones.
Tensor* GraphBuilder::rope_factors(std::int64_t il) const {
  const auto at = static_cast<std::size_t>(il);
  const bool is_long = context_sizes(job_.settings, hp).n_ctx_seq > hp.n_ctx_orig;
  return rope_long_[at] && is_long ? rope_long_[at] : rope_short_[at];
}

void GraphBuilder::head(Tensor* x, Norm kind) {
  x = norm(x, w("output_norm.weight"), w("output_norm.bias"), kind, -1);
  set_output(x);
  finish(hp.embeds ? x : logits(x));
}

void GraphBuilder::head_for_drafts(Tensor* x, Tensor* rows) {
  x = rms(x, w("output_norm.weight"), -1);
  set_output(x);
  x = g.get_rows(x, rows);
  set_output(x);
  finish(logits(x));
}

void GraphBuilder::draft_head(std::int64_t il, Tensor* x, Tensor* rows) {
  Tensor* own = w(il, "nextn.shared_head_norm.weight");
  x = rms(x, own ? own : w("output_norm.weight"), -1);
  set_output(x);
  x = g.get_rows(x, rows);
  Tensor* matrix = w(il, "nextn.shared_head_head.weight");
  finish(mm(matrix ? matrix : output_, x));
}

Tensor* GraphBuilder::logits(Tensor* x) {
  result_ = x;
  x = mm(output_, x);
  if (hp.logit_scale != 0) x = g.scale(x);
  if (hp.final_logit_softcapping != 0) x = g.scale(g.unary(ggml::Unary::tanh, g.scale(x)));
  return biased(x, w("output.bias"));
}

void GraphBuilder::pool() {
  const Pooling asked = job_.settings.pooling;
  const Pooling how = asked == Pooling::as_the_model ? static_cast<Pooling>(hp.pooling) : asked;
  if (how == Pooling::none) return;
  Tensor* pooled = nullptr;
  if (how == Pooling::mean) {
    Tensor* shares = g.input(Type::f32, {n_tokens, n_seqs, 1, 1});
    pooled = g.mul_mat(g.cont(g.transpose(result_)), shares);
  } else {
    pooled = g.get_rows(result_, g.input(Type::i32, {n_seqs, 1, 1, 1}));
  }
  if (how == Pooling::rank) {
    if (Tensor* head = w("cls.weight"))
      pooled = g.unary(ggml::Unary::tanh, biased(mm(head, pooled), w("cls.bias")));
    if (Tensor* out = w("cls.output.weight"))
      pooled = biased(mm(out, pooled), w("cls.output.bias"));
    if (hp.arch == "qwen3" || hp.arch == "qwen3vl") pooled = g.soft_max(pooled);
  }
  finish(pooled);
}

void GraphBuilder::finish(Tensor* logits) {
  if (!result_) result_ = logits;
  set_output(logits);
  g.expand(logits);
}

}  // namespace memtape::llamacpp
