// SPDX-License-Identifier: Apache-2.0
// Hunyuan, dense and with experts: Llama with norms on the heads of q and k once they are rotated;
// mirroring transformers 5.17 models/hunyuan_v1_dense/modular_hunyuan_v1_dense.py and
// models/hunyuan_v1_moe/modular_hunyuan_v1_moe.py.
#include <algorithm>

#include "family/facts.h"
#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "family/parts/experts.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"

namespace memtape::family {
namespace {

struct HunyuanSteps {
  HunyuanSteps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t)
      : norms(scope, c, {"query_layernorm", "key_layernorm"}) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
    norms(q, k);
  }
  HeadNorms<LlamaRMSNorm> norms;
};

/// HunYuanDenseV1PreTrainedModel._init_weights computes the frequencies once more than others do.
class HunyuanRotaryEmbedding : public RotaryEmbedding {
 public:
  using RotaryEmbedding::RotaryEmbedding;
  void init_weights() const {
    RotaryEmbedding::init_weights();
    RotaryEmbedding::init_weights();
  }
};

struct HunyuanParts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<HunyuanSteps>>;
  using Norm = LlamaRMSNorm;
  using Rotary = HunyuanRotaryEmbedding;
};

/// moe_topk, one number or one a layer.
std::int64_t read_moe_topk(const Config& c) {
  if (!c.json("moe_topk").starts_with('[')) return c.dimension("moe_topk", 1);
  const std::vector<std::int64_t> each = c.integers("moe_topk");
  if (each.empty() || each.front() < 1 ||
      std::ranges::count(each, each.front()) != std::ssize(each)) {
    c.fail("moe_topk", "only as many experts in all layers are modelled");
    return 1;
  }
  return each.front();
}

struct HunyuanMoeConfig : MoeConfig {
  HunyuanMoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options, {.vocab_size = 290943},
                  {.experts_key = {"num_experts", "num_local_experts"},
                   .num_experts = 1,
                   .num_experts_per_tok = read_moe_topk(c),
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 11008}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    loop = LoopBefore5::hit;
  }
};

class HunyuanMoeGate : public nn::Module<HunyuanMoeGate> {
 public:
  HunyuanMoeGate(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        wg_(scope / "wg", c.hidden_size, c.num_experts, false, DType::float32) {}

  Routing forward(const Tensor& x) {
    Tensor hidden_states = x.reshape({-1, x.size(-1)});
    if (wg_.weight.dtype() == DType::float32) hidden_states = hidden_states.to_float();
    Tensor router_logits = wg_(hidden_states);
    Tensor routing_weights = ghost::softmax(router_logits, DType::float32);
    Tensor selected_experts;
    std::tie(routing_weights, selected_experts) = ghost::topk(routing_weights, top_k_);
    ghost::div_(routing_weights, routing_weights.sum(-1, true));
    const bool stacked = ghost::has(changes::kExpertsAreStacked);  // before, the block cast them
    Tensor weights = routing_weights.to(stacked ? router_logits.dtype() : x.dtype());
    return {std::move(router_logits), std::move(weights), std::move(selected_experts)};
  }

 private:
  std::int64_t top_k_;
  nn::Linear wg_;
};

class HunyuanMoe : public nn::Module<HunyuanMoe> {
 public:
  HunyuanMoe(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        gate_(scope / "gate", c),
        experts_(scope / "experts", c),
        shared_mlp_(scope / "shared_mlp", c) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_mlp = shared_mlp_(x);
    const Tensor hidden_states = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states);
    const Tensor final_hidden_states =
        experts_(hidden_states, routing.indices, routing.weights).reshape(x.sizes());
    return final_hidden_states.add(hidden_states_mlp);
  }

 private:
  HunyuanMoeGate gate_;
  Experts experts_;
  LlamaMLP shared_mlp_;
};

struct HunyuanMoeParts : HunyuanParts {
  using Settings = HunyuanMoeConfig;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<HunyuanSteps>, HunyuanMoe>;
};

ModelPointer build_hunyuan_v1_moe(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<HunyuanMoeParts>>(c, HunyuanMoeConfig(c, options),
                                                            options);
}

ModelPointer build_hunyuan_v1_dense(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {.vocab_size = 290943});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  return build_checked<DecoderForCausalLM<HunyuanParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kHunyuanV1Moe{.model_type = "hunyuan_v1_moe",
                                       .first = {4, 56, 0},
                                       .ties_head = Known::no,
                                       .has_bos = Known::yes,
                                       .modeling = kDecoder,
                                       .classifiers = {.sequences = true},
                                       .build = build_hunyuan_v1_moe};

extern const FamilyFacts kHunyuanV1Dense{.model_type = "hunyuan_v1_dense",
                                         .first = {4, 56, 0},
                                         .ties_head = Known::no,
                                         .has_bos = Known::yes,
                                         .modeling = kDecoder,
                                         .classifiers = {.sequences = true},
                                         .build = build_hunyuan_v1_dense};

}  // namespace memtape::family
