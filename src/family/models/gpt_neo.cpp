// SPDX-License-Identifier: Apache-2.0
// GPT-Neo: every other layer sees a window, by a table of booleans in each layer; scores in float32
// without scale, eager attention only; mirroring transformers 5.17
// models/gpt_neo/modeling_gpt_neo.py.
#include <string>

#include "base/json_reader.h"
#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "family/parts/gpt2_parts.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/autocast.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/triangular.h"
#include "nn/checkpointing.h"
#include "release/family_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

/// expand_attention_types_params: of [[["global", "local"], 12], ...], whether each layer is local.
std::vector<bool> attention_layers(const Config& c) {
  const std::string types =
      c.is_null("attention_types") ? R"([[["global", "local"], 12]])" : c.json("attention_types");
  constexpr std::size_t kMost = 100'000;
  std::vector<bool> layers;
  JsonReader json(types);
  json.enter_array();
  while (json.item()) {
    std::vector<bool> kinds;
    std::int64_t times = 0;
    json.enter_array();
    for (int place = 0; json.item(); ++place) {
      if (place > 0) {
        times = json.number().integer.value_or(0);
        continue;
      }
      json.enter_array();
      while (json.item()) {
        const std::string kind = json.text();
        if (kind != "global" && kind != "local") json.fail("unknown type " + json_quoted(kind));
        kinds.push_back(kind == "local");
      }
    }
    for (; times > 0 && !kinds.empty() && layers.size() < kMost; --times)
      layers.insert(layers.end(), kinds.begin(), kinds.end());
  }
  if (json.failed())
    c.fail("attention_types",
           R"(must be a list like [[["global", "local"], 12]]: )" + json.problem());
  return layers;
}

struct GPTNeoConfig {
  explicit GPTNeoConfig(const Config& c)
      : vocab_size(c.dimension("vocab_size", 50257)),
        max_position_embeddings(c.dimension("max_position_embeddings", 2048)),
        hidden_size(c.dimension("hidden_size", 2048)),
        num_layers(c.layers({"num_layers", "num_hidden_layers"}, 24)),
        num_heads(c.dimension({"num_heads", "num_attention_heads"}, 16)),
        intermediate_size(c.optional_dimension("intermediate_size").value_or(4 * hidden_size)),
        is_local(attention_layers(c)),
        activation_function(activation(c, "activation_function", "gelu_new")),
        resid_dropout(c.number("resid_dropout", 0.0)),
        embed_dropout(c.number("embed_dropout", 0.0)),
        attention_dropout(c.number("attention_dropout", 0.0)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)) {
    check_divides(c, "num_heads", num_heads, hidden_size);
    if (is_local.size() != static_cast<std::size_t>(num_layers))
      c.fail("attention_types", "must name " + std::to_string(num_layers) + " layers, names " +
                                    std::to_string(is_local.size()));
  }

  std::int64_t vocab_size, max_position_embeddings, hidden_size, num_layers, num_heads,
      intermediate_size;
  std::vector<bool> is_local;
  nn::Activation activation_function;
  double resid_dropout, embed_dropout, attention_dropout;
  bool tie_word_embeddings;
};

/// What a layer or its attention gives; the model's loop holds the weights until the next layer is
/// done.
struct GPTNeoOutput {
  Tensor hidden_states, attn_weights;
};

class GPTNeoSelfAttention : public nn::Module<GPTNeoSelfAttention> {
 public:
  GPTNeoSelfAttention(const nn::Scope& scope, const GPTNeoConfig& c, bool is_local)
      : Module(scope),
        is_local_(is_local),
        head_dim_(c.hidden_size / c.num_heads),
        bias_(make_bias(c.max_position_embeddings)),
        masked_bias_(make_masked_bias(scope)),
        attn_dropout_(scope / "attn_dropout", c.attention_dropout),
        resid_dropout_(scope / "resid_dropout", c.resid_dropout),
        k_proj_(scope / "k_proj", c.hidden_size, c.hidden_size, false),
        v_proj_(scope / "v_proj", c.hidden_size, c.hidden_size, false),
        q_proj_(scope / "q_proj", c.hidden_size, c.hidden_size, false),
        out_proj_(scope / "out_proj", c.hidden_size, c.hidden_size) {
    scope.buffer("bias", bias_);
    if (masked_bias_.defined()) scope.buffer("masked_bias", masked_bias_);
  }

  /// _init_weights makes the table again and copies it.
  void init_weights() const { const Tensor again = make_bias(bias_.size(-1)); }

  GPTNeoOutput forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    Tensor query = q_proj_(hidden_states);
    Tensor key = k_proj_(hidden_states);
    Tensor value = v_proj_(hidden_states);
    query = split_heads(query);
    key = split_heads(key);
    value = split_heads(value);
    KeyValueCache::update(key, value);
    GPTNeoOutput attn = attend(query, key, value, attention_mask);
    Tensor& attn_output = attn.hidden_states;
    attn_output = attn_output.permute({0, 2, 1, 3}).contiguous().view(hidden_states.sizes());
    attn_output = out_proj_(attn_output);
    attn_output = resid_dropout_(attn_output);
    if (!ghost::has(changes::kBlocksReturnWeights)) attn.attn_weights.reset();
    return attn;
  }

 private:
  static Tensor make_masked_bias(const nn::Scope& scope) {
    const ghost::ScopeGuard guard(scope.node().scope);
    return ghost::has(changes::kGptNeoHasNoMaskedBias) ? Tensor() : ghost::zeros({}, scope.dtype());
  }
  /// Who is seen; for local layers all but those that a window back can see.
  Tensor make_bias(std::int64_t max_positions) const {
    const ghost::ScopeGuard guard(node().scope);
    Tensor bias = ghost::tril(ghost::ones({max_positions, max_positions}, DType::boolean));
    bias = bias.view({1, 1, max_positions, max_positions});
    if (is_local_) bias = ghost::bitwise_xor(bias, ghost::tril(bias));
    return bias;
  }

  Tensor split_heads(const Tensor& tensor) const {
    return tensor.view(tensor.sizes().leading().with(-1).with(head_dim_)).permute({0, 2, 1, 3});
  }

  /// _attn: the scores in float32.
  GPTNeoOutput attend(const Tensor& query_states, const Tensor& key_states, const Tensor& value,
                      const Tensor& attention_mask) {
    const Tensor query = query_states.to_float();
    const Tensor key = key_states.to_float();
    Tensor attn_weights = query.matmul(key.transpose(-1, -2));
    const std::int64_t query_length = query.size(-2), key_length = key.size(-2);
    const Tensor causal_mask =
        bias_.slice(2, key_length - query_length, key_length).slice(3, 0, key_length);
    const Tensor mask_value = ghost::full({}, attn_weights.dtype());
    attn_weights = ghost::where(causal_mask, attn_weights, mask_value);
    if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
    attn_weights = ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
    attn_weights = attn_weights.to(value.dtype());
    attn_weights = attn_dropout_(attn_weights);
    Tensor attn_output = attn_weights.matmul(value);
    return {std::move(attn_output), std::move(attn_weights)};
  }

  bool is_local_;
  std::int64_t head_dim_;
  Tensor bias_, masked_bias_;
  nn::Dropout attn_dropout_, resid_dropout_;
  nn::Linear k_proj_, v_proj_, q_proj_, out_proj_;
};

class GPTNeoBlock : public nn::GradientCheckpointingLayer<GPTNeoBlock> {
 public:
  GPTNeoBlock(const nn::Scope& scope, const GPTNeoConfig& c, nn::ListIndex layer_id)
      : GradientCheckpointingLayer(scope),
        ln_1_(scope / "ln_1", c.hidden_size),
        attention_(scope / "attn" / "attention", c, c.is_local[static_cast<std::size_t>(layer_id)]),
        ln_2_(scope / "ln_2", c.hidden_size),
        mlp_(scope / "mlp", c.hidden_size, c.intermediate_size, c.activation_function,
             c.resid_dropout) {}

  void init_weights() const { attention_.init_weights(); }

  GPTNeoOutput forward(const Tensor& x, const Tensor& attention_mask) {
    Tensor residual = x;
    Tensor hidden_states = ln_1_(x);
    const GPTNeoOutput attn = attention_(hidden_states, attention_mask);
    hidden_states = attn.hidden_states.add(residual);

    residual = hidden_states;
    hidden_states = ln_2_(hidden_states);
    const Tensor feed_forward_hidden_states = mlp_(hidden_states);
    return {residual.add(feed_forward_hidden_states), attn.attn_weights};
  }

 private:
  nn::LayerNorm ln_1_;
  GPTNeoSelfAttention attention_;
  nn::LayerNorm ln_2_;
  GPT2MLP<nn::Linear> mlp_;
};

class GPTNeoModel : public nn::Module<GPTNeoModel> {
 public:
  GPTNeoModel(const nn::Scope& scope, const GPTNeoConfig& c)
      : Module(scope),
        wte(scope / "wte", c.vocab_size, c.hidden_size),
        wpe_(scope / "wpe", c.max_position_embeddings, c.hidden_size),
        drop_(scope / "drop", c.embed_dropout),
        h_(scope / "h", c.num_layers, c),
        ln_f_(scope / "ln_f", c.hidden_size) {
    for (const GPTNeoBlock& block : h_) block.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = wte(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const Tensor causal_mask = create_causal_mask({.attention = AttentionImplementation::eager,
                                                   .attention_mask = attention_mask,
                                                   .shared_since = changes::kAllMasksAreShared},
                                                  inputs_embeds, position_ids);
    const Tensor position_embeds = wpe_(position_ids);
    Tensor hidden_states = inputs_embeds.add(position_embeds);
    hidden_states = drop_(hidden_states);
    GPTNeoOutput outputs;
    for (GPTNeoBlock& block : h_) {
      outputs = block(hidden_states, causal_mask);
      hidden_states = outputs.hidden_states;
    }
    hidden_states = ln_f_(hidden_states);
    return hidden_states.view(hidden_states.sizes());
  }

  const nn::Embedding& get_input_embeddings() const { return wte; }

  static constexpr const Change& kCastsLossUntil = changes::kGptNeoLeavesItsLogits;
  static constexpr bool kCastsLogitsToo = true;

  nn::Embedding wte;

 private:
  nn::Embedding wpe_;
  nn::Dropout drop_;
  nn::ModuleList<GPTNeoBlock> h_;
  nn::LayerNorm ln_f_;
};

ModelPointer build_gpt_neo(const Config& c, const ModelOptions& options) {
  const GPTNeoConfig config(c);
  return build_checked<TransformerForCausalLM<GPTNeoModel>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kGptNeo{
    .model_type = "gpt_neo",
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = eager_only(kDecoder),
    .module_rates = {"resid_dropout", "embed_dropout", "attention_dropout"},
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .classifier_dropout = 0.1},
    .build = build_gpt_neo};

}  // namespace memtape::family
