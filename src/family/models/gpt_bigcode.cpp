// SPDX-License-Identifier: Apache-2.0
// GPTBigCode (SantaCoder, StarCoder): GPT-2 on plain linear layers, whose heads may share one key
// and value; mirroring transformers 5.17 models/gpt_bigcode/modeling_gpt_bigcode.py.
#include <array>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/parts/attention_interface.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/gpt2_parts.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/ops/creation.h"
#include "nn/layer_frame.h"
#include "nn/layer_stack.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct GPTBigCodeConfig : GPT2Settings {
  GPTBigCodeConfig(const Config& c, const ModelOptions& options)
      : GPT2Settings(c, options, "gelu_pytorch_tanh"),
        multi_query(c.boolean("multi_query", true)) {}
  std::int64_t kv_heads() const { return multi_query ? 1 : num_attention_heads; }

  bool multi_query;
};

class GPTBigCodeAttention : public nn::Module<GPTBigCodeAttention> {
 public:
  GPTBigCodeAttention(const nn::Scope& scope, const GPTBigCodeConfig& c, std::int64_t)
      : Module(scope),
        config_(c),
        call_{.implementation = c.attention,
              .num_key_value_groups = c.num_attention_heads / c.kv_heads(),
              .dropout = c.attn_pdrop},
        c_attn_(scope / "c_attn", c.hidden_size, c.hidden_size + 2 * c.kv_heads() * c.head_dim()),
        c_proj_(scope / "c_proj", c.hidden_size, c.hidden_size),
        resid_dropout_(scope / "resid_dropout", c.resid_pdrop) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const std::int64_t head_dim = config_.head_dim();
    const Dims input_shape = hidden_states.sizes().leading();
    Tensor query, key, value;
    if (config_.multi_query) {
      const std::array<std::int64_t, 3> parts{config_.hidden_size, head_dim, head_dim};
      take(c_attn_(hidden_states).unsqueeze(1).split(parts, 3), query, key, value);
      query = query.view(input_shape.with(-1).with(head_dim)).transpose(1, 2);
    } else {
      const std::array<std::int64_t, 3> parts{head_dim, head_dim, head_dim};
      const Dims by_head = input_shape.with(config_.num_attention_heads).with(3 * head_dim);
      take(c_attn_(hidden_states).view(by_head).transpose(1, 2).split(parts, 3), query, key, value);
    }
    KeyValueCache::update(key, value);
    Tensor attn_output = attention_interface(call_, query, key, value, attention_mask);
    attn_output = attn_output.reshape(hidden_states.sizes()).contiguous();
    attn_output = c_proj_(attn_output);
    attn_output = resid_dropout_(attn_output);
    return attn_output;
  }

 private:
  static void take(std::vector<Tensor> parts, Tensor& query, Tensor& key, Tensor& value) {
    query = std::move(parts[0]);
    key = std::move(parts[1]);
    value = std::move(parts[2]);
  }

  GPTBigCodeConfig config_;
  AttentionCall call_;
  nn::Linear c_attn_, c_proj_;
  nn::Dropout resid_dropout_;
};

using CheckpointedBlock = GPT2BlockOf<GPTBigCodeAttention, GPT2MLP<nn::Linear>>;

/// A layer that some releases never checkpoint.
class GPTBigCodeBlock : public CheckpointedBlock {
 public:
  using CheckpointedBlock::CheckpointedBlock;
  template <class... Rest>
  Tensor operator()(const nn::In& x, const Rest&... rest) {
    const bool is_checkpointed = !ghost::has(changes::kGptBigCodeForgetsCheckpoints) ||
                                 ghost::has(changes::kGptBigCodeCheckpointsAgain);
    if (is_checkpointed) return CheckpointedBlock::operator()(x, rest...);
    const nn::LayerFrame frame;
    return nn::Module<CheckpointedBlock>::operator()(x, rest...);
  }
};

class GPTBigCodeModel : public nn::Module<GPTBigCodeModel> {
 public:
  GPTBigCodeModel(const nn::Scope& scope, const GPTBigCodeConfig& c)
      : Module(scope),
        attention_(c.attention),
        wte_(scope / "wte", c.vocab_size, c.hidden_size),
        wpe_(scope / "wpe", c.max_position_embeddings, c.hidden_size),
        drop_(scope / "drop", c.embd_pdrop),
        h_(scope / "h", c.num_hidden_layers, c),
        ln_f_(scope / "ln_f", c.hidden_size) {
    const ghost::ScopeGuard guard(node().scope);
    scope.buffer("bias", lower_triangle(c.max_position_embeddings));
    lower_triangle(c.max_position_embeddings);  // _init_weights makes it once more
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = wte_(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const Tensor causal_mask = create_causal_mask(
        {.attention = attention_, .attention_mask = attention_mask}, inputs_embeds, position_ids);
    const Tensor position_embeds = wpe_(position_ids);
    Tensor hidden_states = inputs_embeds.add(position_embeds);
    hidden_states = drop_(hidden_states);
    hidden_states = nn::run_layers(h_, std::move(hidden_states), 1,
                                   [&](GPTBigCodeBlock& block, std::size_t, const Tensor& x) {
                                     return block(x, causal_mask, Tensor());
                                   });
    return ln_f_(hidden_states);
  }

  const nn::Embedding& get_input_embeddings() const { return wte_; }

 private:
  /// torch.tril(torch.ones(...)), a mask that nothing reads.
  static Tensor lower_triangle(std::int64_t size) {
    const Tensor ones = ghost::ones({size, size}, DType::boolean);
    return ghost::empty_like(ones, DType::boolean);
  }

  AttentionImplementation attention_;
  nn::Embedding wte_, wpe_;
  nn::Dropout drop_;
  nn::ModuleList<GPTBigCodeBlock> h_;
  nn::LayerNorm ln_f_;
};

ModelPointer build_gpt_bigcode(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<GPTBigCodeModel>>(c, GPTBigCodeConfig(c, options),
                                                                options);
}

}  // namespace

extern const FamilyFacts kGptBigcode{.model_type = "gpt_bigcode",
                                     .ties_head = Known::yes,
                                     .has_bos = Known::yes,
                                     .modeling = kDecoder,
                                     .module_rates = {"resid_pdrop", "embd_pdrop"},
                                     .classifiers = {.sequences = true, .tokens = true},
                                     .build = build_gpt_bigcode};

}  // namespace memtape::family
