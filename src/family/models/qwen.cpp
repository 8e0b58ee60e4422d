// SPDX-License-Identifier: Apache-2.0
// Qwen 1, whose code lies beside its weights: modeling_qwen.py and configuration_qwen.py of
// Qwen/Qwen-7B, Qwen-1_8B, Qwen-14B and Qwen-72B as they are on the hub. It knows no
// attn_implementation: with flash-attn installed (--attention flash) it takes that package's
// attention and rotary kernel, without it scaled_dot_product_attention under a mask that each layer makes.
// The norm is written in Python, since flash-attn's csrc/layer_norm is not part of the package.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/forward_arguments.h"
#include "ghost/autograd/function.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/flash_attn_varlen.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/triangular.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"
#include "nn/checkpointing.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"

namespace memtape::family {
namespace {

struct QWenConfig {
  QWenConfig(const Config& c, const ModelOptions& options)
      : vocab_size(c.dimension("vocab_size", 151936)),
        hidden_size(c.dimension("hidden_size", 4096)),
        intermediate_size(c.dimension("intermediate_size", 22016)),
        num_hidden_layers(c.layers("num_hidden_layers", 32)),
        num_attention_heads(c.dimension("num_attention_heads", 32)),
        kv_channels(c.dimension("kv_channels", 128)),
        has_biases(!c.boolean("no_bias", true)),
        emb_dropout_prob(c.number("emb_dropout_prob", 0.0)) {
    check_divides(c, "intermediate_size", 2, intermediate_size);
    if (kv_channels * num_attention_heads != hidden_size)
      c.fail("kv_channels",
             "times num_attention_heads must be hidden_size " + std::to_string(hidden_size));
    if (c.number("rotary_pct", 1.0) != 1.0) c.fail("rotary_pct", "is 1 in every model of Qwen 1");
    const bool wants_flash = !c.has("use_flash_attn") || c.json("use_flash_attn") != "false";
    use_flash_attn = wants_flash && options.attention == AttentionImplementation::flash &&
                     options.dtype != DType::float32;
  }

  std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
      kv_channels;
  bool has_biases, use_flash_attn = false;
  double emb_dropout_prob;
};

/// What every layer is called with beside its hidden states.
struct QWenArguments {
  Tensor cos, sin, attention_mask;
};

class QWenRMSNorm : public nn::Module<QWenRMSNorm> {
 public:
  QWenRMSNorm(const nn::Scope& scope, std::int64_t dim)
      : Module(scope), weight_(scope.parameter("weight", {dim})) {}
  Tensor forward(const Tensor& x) {
    const Tensor output = norm(x.to_float()).to(x.dtype());
    return output.mul(weight_);
  }

 private:
  static Tensor norm(const Tensor& x) {
    return x.mul(ghost::rsqrt(x.pow(2).mean(-1, true).add(1e-6)));
  }
  Tensor weight_;
};

class QWenRotaryEmbedding : public nn::Module<QWenRotaryEmbedding> {
 public:
  QWenRotaryEmbedding(const nn::Scope& scope, std::int64_t dim)
      : Module(scope), dim_(dim), node_(scope.node()) {
    scope.buffer("inv_freq", ghost::empty({dim / 2}, scope.dtype()));
  }

  /// cos and sin of twice as many tokens are made for the longest sequence so far, and stay.
  std::pair<Tensor, Tensor> forward(const Tensor& hidden_states) {
    const std::int64_t tokens = hidden_states.size(1);
    if (tokens > seq_len_cached_) update(tokens);
    return {cos_.slice(1, 0, tokens), sin_.slice(1, 0, tokens)};
  }

 private:
  void update(std::int64_t seqlen) {
    Tensor powers = ghost::arange(dim_ / 2, DType::int64).to_float();
    powers = ghost::pow(ghost::kScale, std::move(powers).div(static_cast<double>(dim_)));
    const Tensor inv_freq = ghost::rdiv(1.0, std::move(powers));
    node_.buffers.front().tensor = inv_freq;
    constexpr std::int64_t kFewest = 16;
    seq_len_cached_ = std::max(2 * seqlen, kFewest);
    Tensor seq = ghost::arange(seq_len_cached_, DType::int64);
    seq = std::move(seq).div(1.0);
    const Tensor freqs = seq.to(inv_freq.dtype()).unsqueeze(-1).mul(inv_freq);
    const Tensor emb = ghost::cat({freqs, freqs}, -1).unsqueeze(0).unsqueeze(2);
    Tensor cos = ghost::cos(emb);
    sin_ = ghost::sin(emb);
    cos_ = std::move(cos);
  }

  std::int64_t dim_, seq_len_cached_ = 0;
  nn::ModuleNode& node_;
  Tensor cos_, sin_;
};

/// apply_rotary of flash_attn/ops/triton/rotary.py (flash-attn 2.3): one kernel after packed copies
/// of the halves of cos and sin.
Tensor apply_rotary(const Tensor& x, const Tensor& half_cos, const Tensor& half_sin) {
  const ghost::Op op("apply_rotary", {});
  const Tensor cos = half_cos.contiguous(), sin = half_sin.contiguous();
  return ghost::empty_like(x, x.dtype());
}

/// ApplyRotaryEmb of flash_attn/layers/rotary.py, whose backward copies what it is given first.
struct ApplyRotaryEmb final : ghost::Node {
  ApplyRotaryEmb() : Node("ApplyRotaryEmbBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor grad = in[0].clone();
    out[0] = apply_rotary(grad, cos.unpack(), sin.unpack());
  }
  void release() override {
    cos.reset();
    sin.reset();
  }
  ghost::Saved cos, sin;
};

Tensor apply_rotary_emb_func(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto node = ghost::function_node<ApplyRotaryEmb>({&x});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    out = apply_rotary(x, cos, sin);
  }
  if (!node) return out;
  node->cos.keep(cos);
  node->sin.keep(sin);
  set_history(out, node);
  return out;
}

/// rearrange, and unbind written as a split, whose backward makes one tensor, too.
Tensor rotate_half_of(const Tensor& t) {
  const Tensor x = t.view(t.sizes().leading().with(2).with(t.size(-1) / 2));
  const std::vector<Tensor> parts = x.chunk(2, -2);
  const Tensor x1 = parts[0].squeeze(-2), x2 = parts[1].squeeze(-2);
  return ghost::cat({x2.neg(), x1}, -1);
}

/// apply_rotary_pos_emb, by flash-attn's kernel or by its own lines.
Tensor qwen_rotated(const Tensor& t, const Tensor& cos, const Tensor& sin, bool by_kernel) {
  const Tensor t_float = t.to_float();
  if (by_kernel) {
    const auto half = [](const Tensor& x) {
      return x.squeeze(0).squeeze(1).slice(1, 0, x.size(-1) / 2);
    };
    const Tensor half_cos = half(cos), half_sin = half(sin);
    return apply_rotary_emb_func(t_float, half_cos, half_sin).to(t.dtype());
  }
  const std::int64_t rot_dim = cos.size(-1);
  Tensor t_rot = t_float.slice(-1, 0, rot_dim);
  const Tensor t_pass = t_float.slice(-1, rot_dim, t.size(-1));
  Tensor turned = t_rot.mul(cos);
  t_rot = std::move(turned).add(rotate_half_of(t_rot).mul(sin));
  return ghost::cat({t_rot, t_pass}, -1).to(t.dtype());
}

class QWenAttention : public nn::Module<QWenAttention> {
 public:
  QWenAttention(const nn::Scope& scope, const QWenConfig& c)
      : Module(scope),
        use_flash_attn_(c.use_flash_attn),
        num_heads_(c.num_attention_heads),
        head_dim_(c.hidden_size / c.num_attention_heads),
        cache_qmax_(ghost::empty({}, scope.dtype())),
        cache_qmin_(ghost::empty({}, scope.dtype())),
        c_attn_(scope / "c_attn", c.hidden_size, 3 * c.hidden_size),
        c_proj_(scope / "c_proj", c.hidden_size, c.hidden_size, c.has_biases) {
    scope.buffer("masked_bias", ghost::empty({}, scope.dtype()));
    constexpr std::int64_t kLongest = 32767;
    scope.buffer("logn_tensor", ghost::empty({1, kLongest, 1, 1}, scope.dtype()));
  }

  Tensor forward(const Tensor& hidden_states, const QWenArguments& arguments) {
    const Tensor mixed_x_layer = c_attn_(hidden_states);
    const std::vector<Tensor> parts = mixed_x_layer.chunk(3, 2);
    const Dims heads = hidden_states.sizes().leading().with(num_heads_).with(head_dim_);
    Tensor query = parts[0].view(heads), key = parts[1].view(heads), value = parts[2].view(heads);
    query = qwen_rotated(query, arguments.cos, arguments.sin, use_flash_attn_);
    key = qwen_rotated(key, arguments.cos, arguments.sin, use_flash_attn_);
    if (KeyValueCache::passed()) {
      key = key.transpose(1, 2);
      value = value.transpose(1, 2);
      KeyValueCache::update(key, value);
      key = key.transpose(1, 2);
      value = value.transpose(1, 2);
    }
    Tensor attention_mask = arguments.attention_mask, causal_mask;
    const Tensor attn_output = use_flash_attn_
                                   ? core_attention_flash(query, key, value)
                                   : attended(query, key, value, attention_mask, causal_mask);
    const Tensor packed = attn_output.contiguous();
    const Tensor context_layer = packed.view(hidden_states.sizes().leading().with(-1));
    return c_proj_(context_layer);
  }

 private:
  /// FlashSelfAttention.forward of rows without padding.
  static Tensor core_attention_flash(const Tensor& query, const Tensor& key, const Tensor& value) {
    const auto joined = [](const Tensor& x) {
      return x.reshape({x.size(0) * x.size(1), x.size(2), x.size(3)});
    };
    const Tensor q = joined(query), k = joined(key), v = joined(value);
    const std::int64_t batch_size = query.size(0);
    const Tensor cu_seqlens_q = ghost::arange(batch_size + 1, DType::int32);
    const Tensor cu_seqlens_k = ghost::arange(batch_size + 1, DType::int32);
    const Tensor output = ghost::flash_attn_varlen(q, k, v, {cu_seqlens_q, cu_seqlens_k});
    return output.view(query.sizes());
  }

  /// The masks are locals of the whole forward.
  static Tensor attended(Tensor& query, Tensor& key, Tensor& value, Tensor& attention_mask,
                         Tensor& causal_mask) {
    const std::int64_t key_size = key.size(1), queries = query.size(1);
    if (queries == key_size)
      causal_mask = ghost::tril(ghost::ones({key_size, key_size}, DType::boolean))
                        .view({1, 1, key_size, key_size});
    query = query.permute({0, 2, 1, 3});
    key = key.permute({0, 2, 1, 3});
    value = value.permute({0, 2, 1, 3});
    if (!attention_mask.defined()) {
      attention_mask = causal_mask;
    } else {
      attention_mask =
          attention_mask.expand({attention_mask.size(0), 1, queries, attention_mask.size(3)});
      if (causal_mask.defined())
        attention_mask =
            ghost::masked_fill(attention_mask, ghost::bitwise_not(causal_mask), ghost::kLimit);
    }
    return ghost::scaled_dot_product_attention(query, key, value, attention_mask, {})
        .transpose(1, 2);
  }

  bool use_flash_attn_;
  std::int64_t num_heads_, head_dim_;
  Tensor cache_qmax_, cache_qmin_;  ///< no buffers: they stay where the model is made
  nn::Linear c_attn_, c_proj_;
};

class QWenMLP : public nn::Module<QWenMLP> {
 public:
  QWenMLP(const nn::Scope& scope, const QWenConfig& c)
      : Module(scope),
        w1_(scope / "w1", c.hidden_size, c.intermediate_size / 2, c.has_biases),
        w2_(scope / "w2", c.hidden_size, c.intermediate_size / 2, c.has_biases),
        c_proj_(scope / "c_proj", c.intermediate_size / 2, c.hidden_size, c.has_biases) {}

  Tensor forward(const Tensor& hidden_states) {
    const Tensor a1 = w1_(hidden_states);
    const Tensor a2 = w2_(hidden_states);
    const Tensor intermediate_parallel = a1.mul(ghost::silu(a2));
    return c_proj_(intermediate_parallel);
  }

 private:
  nn::Linear w1_, w2_, c_proj_;
};

class QWenBlock : public nn::GradientCheckpointingLayer<QWenBlock> {
 public:
  QWenBlock(const nn::Scope& scope, const QWenConfig& c)
      : GradientCheckpointingLayer(scope),
        ln_1_(scope / "ln_1", c.hidden_size),
        attn_(scope / "attn", c),
        ln_2_(scope / "ln_2", c.hidden_size),
        mlp_(scope / "mlp", c) {}

  Tensor forward(const Tensor& hidden_states, const QWenArguments& arguments) {
    Tensor layernorm_output = ln_1_(hidden_states);
    const Tensor attn_output = attn_(layernorm_output, arguments);
    const Tensor layernorm_input = attn_output.add(hidden_states);
    layernorm_output = ln_2_(layernorm_input);
    const Tensor mlp_output = mlp_(layernorm_output);
    return layernorm_input.add(mlp_output);
  }

 private:
  QWenRMSNorm ln_1_;
  QWenAttention attn_;
  QWenRMSNorm ln_2_;
  QWenMLP mlp_;
};

class QWenModel : public nn::Module<QWenModel> {
 public:
  QWenModel(const nn::Scope& scope, const QWenConfig& c)
      : Module(scope),
        wte_(scope / "wte", c.vocab_size, c.hidden_size),
        drop_(scope / "drop", c.emb_dropout_prob),
        rotary_emb_(scope / "rotary_emb", c.kv_channels),
        h_(scope / "h", c.num_hidden_layers, c),
        ln_f_(scope / "ln_f", c.hidden_size) {}

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const Tensor position_ids = ghost::arange(input_ids.size(1), DType::int64);
    QWenArguments arguments;
    if (given_mask.defined()) {
      Tensor mask = given_mask.view({input_ids.size(0), -1}).unsqueeze(1).unsqueeze(1);
      mask = mask.to(wte_.weight.dtype());
      arguments.attention_mask = ghost::rsub(1.0, std::move(mask)).mul(ghost::kScale);
    }
    const Tensor inputs_embeds = wte_(input_ids);
    std::tie(arguments.cos, arguments.sin) = rotary_emb_(inputs_embeds);
    Tensor hidden_states = drop_(inputs_embeds);
    const std::size_t period = KeyValueCache::passed() ? 0 : 1;
    hidden_states = nn::run_layers(h_, std::move(hidden_states), period,
                                   [&arguments](QWenBlock& block, std::size_t, const Tensor& x) {
                                     return block(x, arguments);
                                   });
    return ln_f_(hidden_states);
  }

 private:
  nn::Embedding wte_;
  nn::Dropout drop_;
  QWenRotaryEmbedding rotary_emb_;
  nn::ModuleList<QWenBlock> h_;
  QWenRMSNorm ln_f_;
};

class QWenLMHeadModel final : public PretrainedModel {
 public:
  QWenLMHeadModel(const QWenConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        transformer_(root() / "transformer", c),
        lm_head_(root() / "lm_head", c.hidden_size, c.vocab_size, false) {}

  Tensor last_hidden_state(const Batch& batch) override {
    return transformer_(batch.input_ids, batch.attention_mask);
  }
  nn::Projection* head() override { return &lm_head_; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = last_hidden_state(batch);
    Tensor lm_logits = lm_head_(hidden_states);
    if (!batch.labels.defined()) return {{}, std::move(lm_logits)};
    const Tensor shift_logits =
        ghost::indexed_by_colons(lm_logits.slice(-2, 0, -1), 1).contiguous();
    const Tensor shift_labels = batch.labels.slice(-1, 1, batch.labels.size(-1)).contiguous();
    Tensor loss =
        ghost::cross_entropy(shift_logits.view({-1, vocab_size_}), shift_labels.view({-1}));
    return {std::move(loss), std::move(lm_logits)};
  }

 private:
  std::int64_t vocab_size_;
  QWenModel transformer_;
  nn::Linear lm_head_;
};

ModelPointer build_qwen(const Config& c, const ModelOptions& options) {
  return build_checked<QWenLMHeadModel>(c, QWenConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kQwen{.model_type = "qwen",
                               .ties_head = Known::no,
                               .has_bos = Known::no,
                               .modeling = kDecoder,
                               .module_rates = {"emb_dropout_prob", "attn_dropout_prob"},
                               .build = build_qwen};

}  // namespace memtape::family
