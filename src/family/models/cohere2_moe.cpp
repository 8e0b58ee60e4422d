// SPDX-License-Identifier: Apache-2.0
// Cohere's mixtures (Command A Plus): Cohere 2 with experts in place of the MLP but in some first
// layers, which may rotate without sliding, and norms of either kind; mirroring transformers 5.17
// models/cohere2_moe/modular_cohere2_moe.py and configuration_cohere2_moe.py.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "family/facts.h"
#include "family/models/cohere.h"
#include "family/parts/deepseek_moe.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"

namespace memtape::family {
namespace {

/// Whether the text under `key` is the second of two that are known.
bool is_second(const Config& c, const char* key, std::string_view first, std::string_view second) {
  const std::array known{first, second};
  const std::string found = c.text(key, first);
  if (found != first && found != second)
    c.fail(key, "unknown value \"" + found + "\", " + suggestion(found, known));
  return found == second;
}

struct Cohere2MoeConfig : MoeConfig {
  static constexpr bool use_qk_norm = false;

  Cohere2MoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 256000,
                   .hidden_size = 8192,
                   .intermediate_size = 22528,
                   .num_hidden_layers = 40,
                   .num_attention_heads = 64,
                   .head_dim = 128,
                   .tie_word_embeddings = true},
                  {.num_experts = 8,
                   .num_experts_per_tok = 2,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 22528}),
        num_shared_experts(c.count("num_shared_experts", 0)),
        first_k_dense_replace(c.count("first_k_dense_replace", 0)),
        prefix_pattern(c.dimension("prefix_dense_sliding_window_pattern", 1)),
        averages(!is_second(c, "shared_expert_combination_strategy", "average", "sum")),
        selects_by_sigmoid(is_second(c, "expert_selection_fn", "softmax", "sigmoid")),
        dense_intermediate_size(
            c.optional_dimension("prefix_dense_intermediate_size").value_or(intermediate_size)),
        sparse_layers(read_mlp_layer_types(c, num_hidden_layers, first_k_dense_replace)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    rope.interleaved = true;
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
    if (!sliding_window) c.fail("sliding_window", "is null, but the model makes a sliding mask");
    read_layers(c);
    masks_by_layer_type = masks_both_types = true;
    if (output_router_logits) c.fail("output_router_logits", "is not modelled here: use false");
  }

  bool has_experts(std::int64_t layer) const {
    return sparse_layers[static_cast<std::size_t>(layer)];
  }
  bool rotates(std::int64_t layer) const {
    return layer_type(layer) == LayerType::sliding_attention ||
           (!has_experts(layer) && prefix_pattern == 1);
  }

  std::int64_t num_shared_experts, first_k_dense_replace, prefix_pattern;
  bool averages, selects_by_sigmoid;
  std::int64_t dense_intermediate_size;
  std::vector<bool> sparse_layers;

 private:
  /// Every so many layers attend to all, counted anew after the dense ones.
  void read_layers(const Config& c) {
    const std::int64_t pattern = c.dimension("sliding_window_pattern", 4);
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    if (!c.is_null("layer_types")) return;
    for (std::int64_t i = 0; i < num_hidden_layers; ++i) {
      const bool is_prefix = i < first_k_dense_replace;
      const std::int64_t place = is_prefix ? i + 1 : i + 1 - first_k_dense_replace;
      if (place % (is_prefix ? prefix_pattern : pattern) != 0)
        layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
    }
  }
};

class Cohere2MoeTopKRouter : public nn::Module<Cohere2MoeTopKRouter> {
 public:
  Cohere2MoeTopKRouter(const nn::Scope& scope, const Cohere2MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        selects_by_sigmoid_(c.selects_by_sigmoid),
        normalizes_(c.norm_topk_prob),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

  Routing forward(const Tensor& hidden_states) {
    const nn::Parametrized weight(node(), weight_);
    Tensor router_logits = ghost::linear(hidden_states, nn::value_of(weight_), {});
    auto [router_scores, selected_experts] = ghost::topk(router_logits, top_k_);
    if (!selects_by_sigmoid_) {
      router_scores = ghost::softmax(router_scores, DType::float32);
    } else {
      router_scores = ghost::sigmoid(router_scores);
      if (normalizes_) router_scores = router_scores.div(router_scores.sum(-1, true));
    }
    router_scores = router_scores.to(hidden_states.dtype());
    return {std::move(router_logits), std::move(router_scores), std::move(selected_experts)};
  }

 private:
  std::int64_t top_k_;
  bool selects_by_sigmoid_, normalizes_;
  Tensor weight_;
};

class Cohere2MoeSparseMoeBlock : public nn::Module<Cohere2MoeSparseMoeBlock> {
 public:
  Cohere2MoeSparseMoeBlock(const nn::Scope& scope, const Cohere2MoeConfig& c)
      : Module(scope),
        averages_(c.averages),
        gate_(scope / "gate", c),
        experts_(scope / "experts", c) {
    if (c.num_shared_experts > 0)
      shared_experts_.emplace(
          scope / "shared_experts",
          with_intermediate_size(c, c.intermediate_size * c.num_shared_experts));
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_flat = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states_flat);
    Tensor final_hidden_states = experts_(hidden_states_flat, routing.indices, routing.weights);
    Tensor shared_expert_output;
    if (shared_experts_) {
      shared_expert_output = (*shared_experts_)(hidden_states_flat);
      Tensor sum = final_hidden_states.add(shared_expert_output);
      final_hidden_states = averages_ ? std::move(sum).div(2.0) : std::move(sum);
    }
    return final_hidden_states.reshape(x.sizes());
  }

 private:
  bool averages_;
  Cohere2MoeTopKRouter gate_;
  Experts experts_;
  std::optional<LlamaMLP> shared_experts_;
};

/// `self.mlp`: experts, or in the first layers an MLP of a width of its own.
class Cohere2MoeMlp {
 public:
  Cohere2MoeMlp(const nn::Scope& scope, const Cohere2MoeConfig& c, std::int64_t layer) {
    if (c.has_experts(layer))
      sparse_.emplace(scope, c);
    else
      dense_.emplace(scope, with_intermediate_size(c, c.dense_intermediate_size));
  }
  Tensor operator()(const In& x) { return sparse_ ? (*sparse_)(x) : (*dense_)(x); }

 private:
  std::optional<Cohere2MoeSparseMoeBlock> sparse_;
  std::optional<LlamaMLP> dense_;
};

template <class LayerNorm>
struct Cohere2MoeParts : MoeParts {
  using Settings = Cohere2MoeConfig;
  using DecoderLayer = CohereDecoderLayer<Cohere2MoeMlp, LayerNorm>;
  using Norm = LayerNorm;
  static int layer_kind(const Cohere2MoeConfig& c, std::size_t layer) {
    const auto index = static_cast<std::int64_t>(layer);
    return 2 * DecoderParts::layer_kind(c, layer) + (c.has_experts(index) ? 1 : 0);
  }
  static void cap_logits(Tensor& logits, const Cohere2MoeConfig&) { logits = logits.mul(0.0625); }
};

ModelPointer build_cohere2_moe(const Config& c, const ModelOptions& options) {
  const Cohere2MoeConfig config(c, options);
  if (c.optional_number("rms_norm_eps"))
    return build_checked<DecoderForCausalLM<Cohere2MoeParts<LlamaRMSNorm>>>(c, config, options);
  return build_checked<DecoderForCausalLM<Cohere2MoeParts<CohereLayerNorm>>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kCohere2Moe{.model_type = "cohere2_moe",
                                     .first = {5, 9, 0},
                                     .ties_head = Known::yes,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .build = build_cohere2_moe};

}  // namespace memtape::family
