// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/model.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "framework/torchtitan/activation_checkpoint.h"
#include "framework/torchtitan/compiled_block.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/complex.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::torchtitan {
namespace {

Dims with_size(Dims sizes, int d, std::int64_t size) {
  sizes[d] = size;
  return sizes;
}

struct Rotated {
  Tensor q, k;
};

/// Pairs of x as complex numbers in float32.
Tensor as_complex(const Tensor& x) {
  return ghost::view_as_complex(
      x.to_float().reshape(x.sizes().leading().with(x.size(-1) / 2).with(2)));
}
Tensor as_real(const Tensor& numbers, const Dims& sizes) {
  return ghost::view_as_real(numbers).view(sizes);
}

/// The same memory as other numbers.
Tensor seen_as(const Tensor& numbers, DType dtype, const Dims& sizes) {
  Tensor seen = ghost::alias(numbers, sizes, ghost::contiguous_strides(sizes));
  seen.impl().dtype = dtype;
  return seen;
}

/// apply_rotary_emb of llama3.
Rotated rotate_complex(const Tensor& xq, const Tensor& xk, const Tensor& freqs_cis) {
  const Tensor q = as_complex(xq), k = as_complex(xk);
  const Tensor freqs = seen_as(freqs_cis, DType::float32, {1, xq.size(1), 1, freqs_cis.size(1), 2});
  const Tensor q_out = as_real(ghost::complex_mul(q, freqs), xq.sizes());
  const Tensor k_out = as_real(ghost::complex_mul(k, freqs), xk.sizes());
  Tensor rotated_q = q_out.to(xq.dtype());
  return {std::move(rotated_q), k_out.to(xk.dtype())};
}

Tensor rotate_half(const Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor x1 = x.slice(-1, 0, half), x2 = x.slice(-1, half, x.size(-1));
  return ghost::cat({x2.neg(), x1}, -1);
}

Tensor rotate_halves(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor left = x.mul(cos);
  return left.add(rotate_half(x).mul(sin));
}

/// apply_rotary_emb of qwen3: cosines and sines lie beside each other in one table.
Rotated rotate_real(const Tensor& xq, const Tensor& xk, const Tensor& table) {
  const std::int64_t head = xq.size(-1);
  const Tensor rows = table.slice(0, 0, xq.size(1)).view({1, xq.size(1), 1, 2 * head});
  const Tensor cos = rows.slice(-1, 0, head).to(xq.dtype());
  const Tensor sin = rows.slice(-1, head, 2 * head).to(xq.dtype());
  Tensor rotated_q = rotate_halves(xq, cos, sin);
  return {std::move(rotated_q), rotate_halves(xk, cos, sin)};
}

/// repeat_kv. DTensors reshape by their strides as a whole: where there is more than one head over
/// all GPUs, a GPU copies its head though it could be seen as several.
Tensor repeat_kv(const Tensor& x, std::int64_t times, bool as_one_of_many) {
  if (times == 1) return x;
  const std::int64_t b = x.size(0), s = x.size(1), heads = x.size(2), d = x.size(3);
  const Dims repeated{b, s, heads * times, d};
  const Tensor expanded = x.unsqueeze(3).expand({b, s, heads, times, d});
  return as_one_of_many ? ghost::unsafe_view(ghost::clone_contiguous(expanded), repeated)
                        : expanded.reshape(repeated);
}

/// precompute_freqs_cis, and qwen3's precompute_rope_cache.
Tensor precompute_freqs_cis(const ModelArgs& args) {
  const std::int64_t half = args.head_dim / 2;
  const Tensor steps = ghost::arange(half, DType::int64);
  const Tensor freqs = ghost::reciprocal(ghost::power_of_number(steps.to_float().div(2.0)));
  const Tensor t = ghost::arange(args.max_seq_len, DType::int64);
  const Tensor angles = t.to_float().view({args.max_seq_len, 1}).mul(freqs.view({1, half}));
  if (args.rope == Rope::complex) return ghost::polar_of_ones(angles);
  const Tensor doubled = ghost::cat({angles, angles}, -1);
  const Tensor cosines = ghost::cos(doubled), sines = ghost::sin(doubled);
  return ghost::cat({cosines, sines}, -1);
}

/// rms_norm_symint of layer_norm.cpp up to PyTorch 2.8: C++ temporaries live to the end of their
/// expression, locals to that of the function.
Tensor composite_rms_norm(const Tensor& x, const Tensor& weight) {
  const Tensor upcasted_input = x.to_float();
  Tensor rqrst_input;
  {
    const Tensor squares = upcasted_input.pow(2);
    const Tensor mean = squares.mean(-1, true);
    rqrst_input = ghost::rsqrt(mean.add(1e-5));
  }
  const Tensor normalized = upcasted_input.mul(rqrst_input);
  const Tensor result = normalized.to(x.dtype());
  return result.mul(weight);
}

/// The model_types that torchtitan has a decoder for.
struct Known {
  std::string_view model_type;
  Rope rope;
  bool qk_norm;
};
constexpr auto kKnown =
    std::to_array<Known>({{"llama", Rope::complex, false}, {"qwen3", Rope::cos_sin, true}});

}  // namespace

Result<ModelArgs> read_model_args(const Config& config, const TrainRecipe& recipe,
                                  const JobConfig& job) {
  const std::string model_type = config.text("model_type", "");
  const auto* const known = std::find_if(
      kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.model_type == model_type; });
  if (known == kKnown.end())
    return unsupported("torchtitan's model for \"" + model_type + "\" is not modelled",
                       "--framework torchtitan", "llama (llama3) or qwen3");
  const std::int64_t heads = config.dimension("num_attention_heads", 32);
  const std::int64_t dim = config.dimension("hidden_size", 4096);
  ModelArgs args{
      .dim = dim,
      .n_layers = config.layers("num_hidden_layers", 32),
      .n_heads = heads,
      .n_kv_heads = config.optional_dimension("num_key_value_heads").value_or(heads),
      .head_dim =
          config.optional_dimension("head_dim").value_or(std::max<std::int64_t>(1, dim / heads)),
      .hidden_dim = config.dimension("intermediate_size", 11008),
      .vocab_size = config.dimension("vocab_size", 32000),
      .max_seq_len = recipe.sequence_length};
  args.rope = known->rope;
  args.qk_norm = known->qk_norm;
  // llama3 has an output matrix of its own in all its flavors.
  args.tied = args.qk_norm && config.boolean("tie_word_embeddings", false);
  if (const Result<void> fine = config.check(); !fine) return tl::unexpected(fine.error());
  if (args.n_heads % args.n_kv_heads != 0)
    return bad_input(std::to_string(args.n_heads) + " heads do not divide by " +
                         std::to_string(args.n_kv_heads) + " of keys and values",
                     config.where() + ": num_key_value_heads", "a divisor of the heads");
  args.norm = job.since(kFusedNorm)    ? NormKind::fused
              : job.since(kNativeNorm) ? NormKind::composite
                                       : NormKind::own;
  args.grouped_attention = job.since(kGroupedAttention);
  args.float_in_model = !job.since(kFloatInLoss);
  args.activation_checkpoint = job.activation_checkpoint;
  args.checkpoint_every = job.checkpoint_every;
  if (job.since(kRecomputesAll)) args.recompute = ghost::Recompute::runs_to_end;
  return args;
}

Norm::Norm(const nn::Scope& scope, std::int64_t width, NormKind kind)
    : Module(scope), weight_(scope.parameter("weight", {width})), kind_(kind) {}

Tensor Norm::forward(const Tensor& x) {
  switch (kind_) {
    case NormKind::fused: return ghost::rms_norm(x, weight_);
    case NormKind::composite: return composite_rms_norm(x, weight_);
    case NormKind::own: break;
  }
  const Tensor upcast = x.to_float();
  Tensor output = upcast.mul(ghost::rsqrt(upcast.pow(2).mean(-1, true).add(1e-5)));
  output = std::move(output).to(x.dtype());
  return output.mul(weight_);
}

Attention::Attention(const nn::Scope& scope, const ModelArgs& args)
    : Module(scope),
      n_rep_(args.n_heads / args.n_kv_heads),
      head_dim_(args.head_dim),
      n_kv_heads_(args.n_kv_heads),
      grouped_(args.grouped_attention && args.n_heads > args.n_kv_heads),
      rope_(args.rope),
      wq_(scope / "wq", args.dim, args.n_heads * args.head_dim, false),
      wk_(scope / "wk", args.dim, args.n_kv_heads * args.head_dim, false),
      wv_(scope / "wv", args.dim, args.n_kv_heads * args.head_dim, false),
      wo_(scope / "wo", args.n_heads * args.head_dim, args.dim, false) {
  if (!args.qk_norm) return;
  q_norm_.emplace(scope / "q_norm", args.head_dim, args.norm);
  k_norm_.emplace(scope / "k_norm", args.head_dim, args.norm);
}

Tensor Attention::forward(const Tensor& x, const Tensor& freqs_cis) {
  Tensor xq = wq_(x);
  Tensor xk = wk_(x);
  Tensor xv = wv_(x);
  const Dims heads = xq.sizes().leading().with(-1).with(head_dim_);
  xq = xq.view(heads);
  xk = xk.view(heads);
  xv = xv.view(heads);
  if (q_norm_) xq = (*q_norm_)(xq);
  if (k_norm_) xk = (*k_norm_)(xk);
  Rotated rotated =
      rope_ == Rope::complex ? rotate_complex(xq, xk, freqs_cis) : rotate_real(xq, xk, freqs_cis);
  xq = std::move(rotated.q);
  xk = std::move(rotated.k);
  // qwen3's plan leaves queries, keys and values DTensors (infra/parallelize.py, apply_non_moe_tp).
  const bool as_one_of_many = q_norm_ && xk.size(2) == 1 && n_kv_heads_ > 1;
  const Tensor keys = repeat_kv(xk, grouped_ ? 1 : n_rep_, as_one_of_many);
  const Tensor values = repeat_kv(xv, grouped_ ? 1 : n_rep_, as_one_of_many);
  xq = xq.transpose(1, 2);
  xk = keys.transpose(1, 2);
  xv = values.transpose(1, 2);
  Tensor output = ghost::scaled_dot_product_attention(xq, xk, xv, {},
                                                      {.is_causal = true, .enable_gqa = grouped_});
  output = output.transpose(1, 2).contiguous();
  output = output.view(with_size(x.sizes(), 2, output.size(2) * output.size(3)));
  return wo_(output);
}

FeedForward::FeedForward(const nn::Scope& scope, const ModelArgs& args)
    : Module(scope),
      w1_(scope / "w1", args.dim, args.hidden_dim, false),
      w2_(scope / "w2", args.hidden_dim, args.dim, false),
      w3_(scope / "w3", args.dim, args.hidden_dim, false) {}

Tensor FeedForward::forward(const Tensor& x) { return w2_(ghost::silu(w1_(x)).mul(w3_(x))); }

TransformerBlock::TransformerBlock(const nn::Scope& scope, const ModelArgs& args,
                                   std::int64_t layer)
    : Module(scope),
      args_(args),
      attention_(scope / "attention", args),
      feed_forward_(scope / "feed_forward", args),
      attention_norm_(scope / "attention_norm", args.dim, args.norm),
      ffn_norm_(scope / "ffn_norm", args.dim, args.norm),
      checkpoint_(args.activation_checkpoint) {
  scope.node().is_layer = true;
  if (checkpoint_ == ActivationCheckpoint::layers)
    checkpoint_ = (layer + 1) % args.checkpoint_every == 0 ? ActivationCheckpoint::full
                                                           : ActivationCheckpoint::none;
}

Tensor TransformerBlock::body(const Tensor& x, const Tensor& freqs_cis) {
  const Tensor h = x.add(attention_(attention_norm_(x), freqs_cis));
  return h.add(feed_forward_(ffn_norm_(h)));
}

Tensor TransformerBlock::run_compiled(const Tensor& x) {
  if (!graph_)
    graph_ = block_graph(
        args_, {.batch = x.size(0), .tokens = x.size(1), .tp = *compiled_for_, .dtype = x.dtype()},
        checkpoint_);
  return torch::inductor::run_compiled(graph_, x, nn::parameters(node()));
}

Tensor TransformerBlock::forward(const Tensor& x, const Tensor& freqs_cis) {
  if (compiled_for_) return run_compiled(x);
  const auto run = [this, freqs_cis](const Tensor& input) { return body(input, freqs_cis); };
  switch (checkpoint_) {
    case ActivationCheckpoint::full:
      return ghost::checkpoint_selectively(run, x, save_nothing, args_.recompute);
    case ActivationCheckpoint::ops:
      return ghost::checkpoint_selectively(run, x, save_ops, args_.recompute);
    default: return run(x);
  }
}

Transformer::Transformer(const ModelArgs& args, const family::ModelOptions& options)
    : PretrainedModel(options), args_(args) {
  const family::StageRange range = args.range();
  if (range.embeds) tok_embeddings_.emplace(root() / "tok_embeddings", args.vocab_size, args.dim);
  const nn::Scope layers = root() / "layers";
  for (std::int64_t layer = range.first_layer; layer < range.end_layer; ++layer)
    layers_.emplace_back(layers / layer, args, args.blocks_before + layer - range.first_layer);
  if (!range.has_head) return;
  norm_.emplace(root() / "norm", args.dim, args.norm);
  output_.emplace(root() / "output", args.dim, args.vocab_size, false);
  if (args.tied && tok_embeddings_) nn::tie(*output_, tok_embeddings_->weight);
}

void Transformer::init_weights() {
  const ghost::GradMode no_grad(false);
  freqs_cis = ghost::empty_like(precompute_freqs_cis(args_), DType::float32);  // to_empty's
  freqs_cis = precompute_freqs_cis(args_);
  root().buffer("freqs_cis", freqs_cis);
}

Tensor Transformer::run(const Tensor& input) {
  Tensor h = tok_embeddings_ ? (*tok_embeddings_)(input) : input;
  // complex64 is eight bytes that fully_shard does not cast, as it does qwen3's real table
  const Tensor table = args_.rope == Rope::complex
                           ? seen_as(freqs_cis, DType::int64, freqs_cis.sizes().leading())
                           : freqs_cis;
  for (TransformerBlock& layer : layers_) h = layer(h, table);
  if (!norm_) return h;
  h = (*norm_)(h);
  Tensor output = (*output_)(h);
  if (args_.float_in_model) output = std::move(output).to_float();
  return output;
}

family::ModelOutput Transformer::forward(const family::Batch& batch) {
  return {{}, run(batch.input_ids)};
}

}  // namespace memtape::torchtitan
