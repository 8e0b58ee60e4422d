// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/model.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "framework/torchtitan/activation_checkpoint.h"
#include "framework/torchtitan/compiled_block.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "model/type_of.h"
#include "workload/train_recipe.h"

namespace memtape::torchtitan {
namespace {

Dims with_size(Dims sizes, int d, std::int64_t size) {
  sizes[d] = size;
  return sizes;
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

/// Modules come in the order of __init__.
std::optional<Norm> norm_if(bool wanted, const nn::Scope& scope, const char* name,
                            const ModelArgs& args) {
  if (!wanted) return std::nullopt;
  return std::optional<Norm>(std::in_place, scope / name, args.head_dim, args.norm);
}

/// The model_types that torchtitan has a decoder for.
struct Known {
  std::string_view family;
  Rope rope;
  bool qk_norm, is_latent, is_mixture;
};
constexpr auto kKnownModels =
    std::to_array<Known>({{"llama", Rope::complex, false, false, false},
                          {"qwen3", Rope::cos_sin, true, false, false},
                          {"qwen3_moe", Rope::cos_sin, true, false, true},
                          {"deepseek_v2", Rope::complex, false, true, true},
                          {"deepseek_v3", Rope::complex, false, true, true},
                          {"llama4_text", Rope::complex, false, false, true}});

/// What mixtures are modelled with.
Result<void> check_mixture(const JobConfig& job) {
  if (job.compiles_blocks)
    return unsupported("torchtitan's mixtures are not modelled compiled", "--strategy: compile",
                       "false");
  return {};
}

/// parallelize_* of the models refuse context parallel ranks (NotImplementedError); blocks compiled
/// around it are not transcribed.
Result<void> check_flex(const JobConfig& job) {
  if (!job.uses_flex || (job.size("cp") == 1 && !job.compiles_blocks)) return {};
  return unsupported(
      "flex attention with context parallel ranks or in compiled blocks is not modelled",
      "--strategy: use_flex_attn", "false, or --cp 1 and \"compile\": false");
}

/// What a mixture has beside a dense decoder.
void read_mixture(const Config& config, const Known& known, const TrainRecipe& recipe,
                  const JobConfig& job, ModelArgs& args) {
  if (!known.is_mixture) return;
  args.moe = read_moe_args(config);
  args.moe->expert_parallel = job.expert_parallel;
  args.moe->load = recipe.expert_load;
  args.keeps_all_to_all = !known.qk_norm;
  if (known.family == "llama4_text") {
    args.hidden_dim = config.dimension("intermediate_size_mlp", 16384);
    args.mixture_every = config.dimension("interleave_moe_layer_step", 1);
  }
  if (!known.is_latent) return;
  args.n_dense_layers =
      config.count("first_k_dense_replace", known.family == "deepseek_v3" ? 3 : 0);
  args.latent = read_latent_args(config);
  args.latent->norm = args.norm;
  args.latent->uses_flex = args.uses_flex;
  args.head_dim = args.latent->qk_rope_head_dim;
}

}  // namespace

Config decoder_config(const Config& config) {
  return type_of(config) == "llama4" ? config.object("text_config") : config;
}

Result<ModelArgs> read_model_args(const Config& config, const TrainRecipe& recipe,
                                  const JobConfig& job) {
  const std::string family = type_of(config);
  const auto* const known = std::find_if(kKnownModels.begin(), kKnownModels.end(),
                                         [&](const Known& k) { return k.family == family; });
  if (known == kKnownModels.end())
    return unsupported("torchtitan's model for \"" + family + "\" is not modelled",
                       "--framework torchtitan",
                       "llama (llama3), qwen3, qwen3_moe, deepseek_v3 or llama4");
  if (known->is_mixture &&
      (!job.has(changes::kTitanHasMixtures) || job.has(changes::kTitanReturnsNoOutputs)))
    return unsupported("mixtures are modelled as of release 0.2.0", "--strategy: version",
                       "a version from 2025-10-01 to 2025-12-25");
  if (!known->is_mixture && job.expert_parallel > 1)
    return bad_input("a dense model has no experts to share", "--ep", "1");
  if (known->is_mixture)
    if (const Result<void> fine = check_mixture(job); !fine) return tl::unexpected(fine.error());
  if (const Result<void> fine = check_flex(job); !fine) return tl::unexpected(fine.error());
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
  args.norm = job.has(changes::kTitanFusesNorm)        ? NormKind::fused
              : job.has(changes::kTitanUsesNativeNorm) ? NormKind::composite
                                                       : NormKind::own;
  args.uses_flex = job.uses_flex;
  read_mixture(config, *known, recipe, job, args);
  if (const Result<void> fine = config.check(); !fine) return tl::unexpected(fine.error());
  if (args.moe && args.moe->num_experts % args.moe->expert_parallel != 0)
    return bad_input(std::to_string(args.moe->num_experts) + " experts do not divide by " +
                         std::to_string(args.moe->expert_parallel) + " ranks",
                     "--ep", "a divisor of the experts");
  if (args.n_heads % args.n_kv_heads != 0)
    return bad_input(std::to_string(args.n_heads) + " heads do not divide by " +
                         std::to_string(args.n_kv_heads) + " of keys and values",
                     config.where() + ": num_key_value_heads", "a divisor of the heads");
  args.grouped_attention = job.has(changes::kTitanGroupsHeads);
  args.float_in_model = !job.has(changes::kTitanFloatsInLoss);
  args.activation_checkpoint = job.activation_checkpoint;
  args.checkpoint_every = job.checkpoint_every;
  if (!job.early_stop) args.recompute = ghost::Recompute::runs_to_end;
  return args;
}

std::vector<std::int64_t> row_counts(const ModelArgs& args) {
  std::vector<std::int64_t> rows{args.vocab_size,
                                 args.dim,
                                 args.hidden_dim,
                                 args.head_dim * args.n_heads,
                                 args.head_dim * args.n_kv_heads,
                                 args.head_dim};
  if (args.moe)
    rows.insert(rows.end(), {args.moe->num_experts, args.moe->hidden_dim,
                             args.moe->hidden_dim * args.moe->num_shared_experts});
  if (const auto& latent = args.latent)
    rows.insert(rows.end(), {latent->q_lora_rank, latent->n_heads * latent->qk_head_dim(),
                             latent->kv_lora_rank, latent->kv_lora_rank + latent->qk_rope_head_dim,
                             latent->n_heads * (latent->qk_nope_head_dim + latent->v_head_dim)});
  return rows;
}

Attention::Attention(const nn::Scope& scope, const ModelArgs& args)
    : Module(scope),
      n_rep_(args.n_heads / args.n_kv_heads),
      head_dim_(args.head_dim),
      n_kv_heads_(args.n_kv_heads),
      grouped_(args.grouped_attention && args.n_heads > args.n_kv_heads),
      uses_flex_(args.uses_flex),
      rope_(args.rope),
      q_norm_(norm_if(args.qk_norm, scope, "q_norm", args)),
      k_norm_(norm_if(args.qk_norm, scope, "k_norm", args)),
      wq_(scope / "wq", args.dim, args.n_heads * args.head_dim, false),
      wk_(scope / "wk", args.dim, args.n_kv_heads * args.head_dim, false),
      wv_(scope / "wv", args.dim, args.n_kv_heads * args.head_dim, false),
      wo_(scope / "wo", args.n_heads * args.head_dim, args.dim, false) {}

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
  Rotated rotated = rotate(rope_, xq, xk, freqs_cis);
  xq = std::move(rotated.q);
  xk = std::move(rotated.k);
  // qwen3's plan leaves queries, keys and values DTensors (infra/parallelize.py, apply_non_moe_tp).
  const bool as_one_of_many = q_norm_ && xk.size(2) == 1 && n_kv_heads_ > 1;
  const Tensor keys = repeat_kv(xk, grouped_ ? 1 : n_rep_, as_one_of_many);
  const Tensor values = repeat_kv(xv, grouped_ ? 1 : n_rep_, as_one_of_many);
  xq = xq.transpose(1, 2);
  xk = keys.transpose(1, 2);
  xv = values.transpose(1, 2);
  Tensor output = uses_flex_ ? ghost::flex_attention(xq, xk, xv)
                             : ghost::scaled_dot_product_attention(
                                   xq, xk, xv, {}, {.is_causal = true, .enable_gqa = grouped_});
  output = output.transpose(1, 2).contiguous();
  output = output.view(with_size(x.sizes(), 2, output.size(2) * output.size(3)));
  return wo_(output);
}

TransformerBlock::TransformerBlock(const nn::Scope& scope, const ModelArgs& args,
                                   std::int64_t layer)
    : Module(scope), args_(args), checkpoint_(args.activation_checkpoint) {
  scope.node().is_layer = true;
  if (args.latent) {
    latent_attention_.emplace(scope / "attention", *args.latent);
    make_norms(scope);
  } else {
    attention_.emplace(scope / "attention", args);
  }
  if (args.is_mixture(layer))
    moe_.emplace(scope / "moe", args.dim, *args.moe);
  else
    feed_forward_.emplace(scope / "feed_forward", args.dim, args.hidden_dim);
  if (!args.latent) make_norms(scope);
  if (checkpoint_ == ActivationCheckpoint::layers)
    checkpoint_ =
        (args.blocks_before + layer - args.range().first_layer + 1) % args.checkpoint_every == 0
            ? ActivationCheckpoint::full
            : ActivationCheckpoint::none;
}

void TransformerBlock::make_norms(const nn::Scope& scope) {
  attention_norm_.emplace(scope / "attention_norm", args_.dim, args_.norm);
  ffn_norm_.emplace(scope / "ffn_norm", args_.dim, args_.norm);
}

Tensor TransformerBlock::body(const Tensor& x, const Tensor& freqs_cis) {
  const Tensor h = latent_attention_ ? x.add((*latent_attention_)((*attention_norm_)(x), freqs_cis))
                                     : x.add((*attention_)((*attention_norm_)(x), freqs_cis));
  return moe_ ? h.add((*moe_)((*ffn_norm_)(h))) : h.add((*feed_forward_)((*ffn_norm_)(h)));
}

/// _apply_op_sac_to_transformer_block_with_flex, without a compiled model: what selective
/// checkpointing would make of flex_attention's own compilation is avoided by checkpointing
/// attention in full and the rest by op.
Tensor TransformerBlock::body_by_parts(const Tensor& x, const Tensor& freqs_cis) {
  const auto attend = [this, freqs_cis](const Tensor& normed) {
    return latent_attention_ ? (*latent_attention_)(normed, freqs_cis)
                             : (*attention_)(normed, freqs_cis);
  };
  const auto feed = [this](const Tensor& normed) {
    return moe_ ? (*moe_)(normed) : (*feed_forward_)(normed);
  };
  const Tensor h = x.add(
      ghost::checkpoint_selectively(attend, (*attention_norm_)(x), save_nothing, args_.recompute));
  return h.add(ghost::checkpoint_selectively(
      feed, (*ffn_norm_)(h), args_.keeps_all_to_all ? save_ops_and_all_to_all : save_ops,
      args_.recompute));
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
      if (args_.uses_flex) return body_by_parts(x, freqs_cis);
      return ghost::checkpoint_selectively(
          run, x, args_.keeps_all_to_all ? save_ops_and_all_to_all : save_ops, args_.recompute);
    default: return run(x);
  }
}

Transformer::Transformer(const ModelArgs& args, const family::ModelOptions& options)
    : PretrainedModel(options), args_(args) {
  const family::StageRange range = args.range();
  if (range.embeds) tok_embeddings_.emplace(root() / "tok_embeddings", args.vocab_size, args.dim);
  const nn::Scope layers = root() / "layers";
  for (std::int64_t layer = range.first_layer; layer < range.end_layer; ++layer)
    layers_.emplace_back(layers / layer, args, layer);
  if (!range.has_head) return;
  norm_.emplace(root() / "norm", args.dim, args.norm);
  output_.emplace(root() / "output", args.dim, args.vocab_size, false);
}

void Transformer::init_weights() {
  const ghost::GradMode no_grad(false);
  const auto table = [this] {
    return precompute_freqs_cis(args_.rope, args_.head_dim, args_.max_seq_len);
  };
  freqs_cis = ghost::empty_like(table(), DType::float32);  // to_empty's
  freqs_cis = table();
  root().buffer("freqs_cis", freqs_cis);
  for (TransformerBlock& block : layers_)
    if (MoE* const moe = block.moe()) moe->init_weights();
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
  constexpr std::size_t kCached = 4;
  if (args_.uses_flex) masks_.push_back(ghost::block_mask_of_documents(batch.input_ids));
  if (masks_.size() > kCached) masks_.pop_front();
  return {{}, run(batch.input_ids)};
}

}  // namespace memtape::torchtitan
