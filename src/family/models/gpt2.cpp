// SPDX-License-Identifier: Apache-2.0
// GPT-2: learned positions, layer norms before attention and MLP, Conv1D projections, dropout
// throughout; mirroring transformers 5.17 models/gpt2/modeling_gpt2.py.
#include <cmath>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/masks/padding_check.h"
#include "family/parts/attention_interface.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/gpt2_parts.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/triangular.h"
#include "ghost/session.h"
#include "nn/layer_frame.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct GPT2Config : GPT2Settings {
  GPT2Config(const Config& c, const ModelOptions& options)
      : GPT2Settings(c, options, "gelu_new"),
        scale_attn_weights(c.boolean("scale_attn_weights", true)),
        scale_attn_by_inverse_layer_idx(c.boolean("scale_attn_by_inverse_layer_idx", false)),
        reorder_and_upcast_attn(c.boolean("reorder_and_upcast_attn", false)),
        checks_padding(c.optional_integer("pad_token_id").has_value()) {}

  bool scale_attn_weights, scale_attn_by_inverse_layer_idx, reorder_and_upcast_attn;
  bool checks_padding;
};

class GPT2Attention : public nn::Module<GPT2Attention> {
 public:
  GPT2Attention(const nn::Scope& scope, const GPT2Config& c, std::int64_t layer_idx)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attn_pdrop,
              .eager_softmax = EagerSoftmax::value_dtype,
              .eager_output_packed = false},
        head_dim_(c.head_dim()),
        upcasts_(c.attention == AttentionImplementation::eager && c.reorder_and_upcast_attn),
        scales_(c.scale_attn_weights),
        scales_by_layer_(c.scale_attn_by_inverse_layer_idx),
        scaling_(scaling(c, layer_idx)),
        c_attn_(registered(scope, c) / "c_attn", 3 * c.hidden_size, c.hidden_size),
        c_proj_(scope / "c_proj", c.hidden_size, c.hidden_size),
        resid_dropout_(scope / "resid_dropout", c.resid_pdrop) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    std::vector<Tensor> query_key_value = c_attn_(hidden_states).chunk(3, 2);
    const Dims shape = hidden_states.sizes().leading().with(-1).with(head_dim_);
    const auto heads = [&](std::size_t i) {
      return std::move(query_key_value[i]).view(shape).transpose(1, 2);
    };
    Tensor query_states;
    const bool takes_queries_last = ghost::has(changes::kGpt2TakesQueriesLast);
    if (!takes_queries_last) query_states = heads(0);
    Tensor key_states = heads(1);
    Tensor value_states = heads(2);
    if (takes_queries_last) query_states = heads(0);
    KeyValueCache::update(key_states, value_states);
    Tensor attn_output = attend(query_states, key_states, value_states, attention_mask);
    attn_output = attn_output.reshape(hidden_states.sizes()).contiguous();
    attn_output = c_proj_(attn_output);
    attn_output = resid_dropout_(attn_output);
    return attn_output;
  }

 private:
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                const Tensor& attention_mask) const {
    if (upcasts_) return upcast_and_reordered_attn(query, key, value, attention_mask);
    if (bias_.defined() && call_.implementation == AttentionImplementation::eager)
      return attend_below_diagonal(query, key, value, attention_mask);
    return attention_interface(call_, query, key, value, attention_mask);
  }

  /// eager_attention_forward while each layer had a triangle of its own.
  Tensor attend_below_diagonal(const Tensor& query, const Tensor& key, const Tensor& value,
                               const Tensor& attention_mask) const {
    Tensor attn_weights = query.matmul(key.transpose(-1, -2));
    if (scales_) attn_weights = attn_weights.div(ghost::full({}, attn_weights.dtype()));
    if (scales_by_layer_) attn_weights = attn_weights.div(1.0);
    const std::int64_t length = key.size(-2);
    const Tensor causal_mask =
        bias_.slice(0, 0, length).slice(1, 0, length).unsqueeze(0).unsqueeze(0);
    const Tensor mask_value = ghost::full({}, attn_weights.dtype());
    attn_weights = ghost::where(causal_mask, attn_weights, mask_value);
    if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
    attn_weights = ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
    attn_weights = attn_weights.to(value.dtype());
    attn_weights = ghost::dropout(attn_weights, call_.dropout);
    nn::LayerFrame::keep_attention_weights(attn_weights);
    return attn_weights.matmul(value).transpose(1, 2);
  }

  /// torch.tril(torch.ones((n, n), dtype=torch.bool)) and masked_bias.
  void register_bias(const nn::Scope& scope, std::int64_t max_positions) {
    const ghost::ScopeGuard guard(node().scope);
    bias_ = ghost::tril(ghost::ones({max_positions, max_positions}, DType::boolean));
    scope.buffer("bias", bias_);
    if (ghost::has(changes::kGpt2HasNoMaskedBias)) return;
    masked_bias_ = ghost::zeros({}, scope.dtype());
    scope.buffer("masked_bias", masked_bias_);
  }
  /// The scope, after the buffers that come before all weights.
  const nn::Scope& registered(const nn::Scope& scope, const GPT2Config& c) {
    if (!ghost::has(changes::kGpt2HasNoBias)) register_bias(scope, c.max_position_embeddings);
    return scope;
  }

  static double scaling(const GPT2Config& c, std::int64_t layer_idx) {
    const auto head_dim = static_cast<double>(c.head_dim());
    const double by_head = c.scale_attn_weights ? 1.0 / std::sqrt(head_dim) : 1.0;
    return c.scale_attn_by_inverse_layer_idx ? by_head / static_cast<double>(layer_idx + 1)
                                             : by_head;
  }

  /// _upcast_and_reordered_attn: scores in float32 whatever the dtype, scaled by the product
  /// itself.
  Tensor upcast_and_reordered_attn(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& attention_mask) const {
    const std::int64_t bsz = query.size(0), num_heads = query.size(1), length = query.size(2),
                       dk = query.size(3);
    Tensor attn_weights = ghost::empty({bsz * num_heads, length, length}, DType::float32);
    const Tensor q = query.reshape({-1, length, dk});
    const Tensor k = key.transpose(-1, -2).reshape({-1, dk, length});
    {
      const ghost::AutocastContext no_autocast(false, DType::float32);
      Tensor q_float = q.to_float(), k_float = k.to_float();
      attn_weights = ghost::baddbmm(std::move(q_float), std::move(k_float), scaling_);
      attn_weights = attn_weights.reshape({bsz, num_heads, length, length});
    }
    if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
    attn_weights = ghost::softmax(attn_weights, DType::float32);
    attn_weights = attn_weights.to(value.dtype());
    attn_weights = ghost::dropout(attn_weights, call_.dropout);
    nn::LayerFrame::keep_attention_weights(attn_weights);
    return attn_weights.matmul(value).transpose(1, 2);
  }

  AttentionCall call_;
  std::int64_t head_dim_;
  bool upcasts_, scales_, scales_by_layer_;
  double scaling_;
  Tensor bias_, masked_bias_;
  nn::Conv1D c_attn_, c_proj_;
  nn::Dropout resid_dropout_;
};

using GPT2Block = GPT2BlockOf<GPT2Attention, GPT2MLP<nn::Conv1D>>;

class GPT2Model : public nn::Module<GPT2Model> {
 public:
  GPT2Model(const nn::Scope& scope, const GPT2Config& c)
      : Module(scope),
        wte(scope / "wte", c.vocab_size, c.hidden_size),
        attention_(c.attention),
        checks_padding_(c.checks_padding),
        wpe_(scope / "wpe", c.max_position_embeddings, c.hidden_size),
        drop_(scope / "drop", c.embd_pdrop),
        h_(scope / "h", c.num_hidden_layers, c),
        ln_f_(scope / "ln_f", c.hidden_size) {}

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    if (checks_padding_ && !attention_mask.defined()) look_for_padding(input_ids);
    const bool counts_first = !ghost::has(changes::kGpt2UpdatesItsMask);
    Tensor position_ids;
    if (counts_first) position_ids = position_ids_for(input_ids);
    const Tensor inputs_embeds = wte(input_ids);
    if (!counts_first) position_ids = position_ids_for(inputs_embeds);
    const Tensor position_embeds = wpe_(position_ids);
    Tensor hidden_states = inputs_embeds.add(position_embeds);
    Tensor causal_mask;
    if (attention_mask.defined() || !counts_first)
      causal_mask = create_causal_mask({.attention = attention_,
                                        .attention_mask = attention_mask,
                                        .shared_since = changes::kGpt2MasksAreShared},
                                       inputs_embeds, position_ids);
    hidden_states = drop_(hidden_states);
    hidden_states = nn::run_layers(h_, std::move(hidden_states), 1,
                                   [&](GPT2Block& block, std::size_t, const Tensor& x) {
                                     return block(x, causal_mask, position_ids);
                                   });
    return ln_f_(hidden_states);
  }

  const nn::Embedding& get_input_embeddings() const { return wte; }

  nn::Embedding wte;

 private:
  AttentionImplementation attention_;
  bool checks_padding_;
  nn::Embedding wpe_;
  nn::Dropout drop_;
  nn::ModuleList<GPT2Block> h_;
  nn::LayerNorm ln_f_;
};

ModelPointer build_gpt2(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<GPT2Model>>(c, GPT2Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kGpt2{.model_type = "gpt2",
                               .ties_head = Known::yes,
                               .has_bos = Known::yes,
                               .modeling = kDecoder,
                               .module_rates = {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
                               .classifiers = {.sequences = true, .tokens = true, .answers = true},
                               .build = build_gpt2};

extern const FamilyFacts kGptSw3{.model_type = "gpt-sw3",
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .module_rates = {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
                                 .classifiers = {.sequences = true, .tokens = true},
                                 .build = build_gpt2};

}  // namespace memtape::family
