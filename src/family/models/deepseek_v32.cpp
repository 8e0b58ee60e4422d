// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V3.2: V3 with sparse attention, mirroring transformers 5.17
// models/deepseek_v32/modular_deepseek_v32.py.
#include "family/facts.h"
#include "family/parts/sparse_attention.h"

namespace memtape::family {
namespace {

struct DeepseekV32Config : SparseAttentionConfig {
  DeepseekV32Config(const Config& c, const ModelOptions& options)
      : SparseAttentionConfig(
            c, options,
            {.vocab_size = 129280,
             .hidden_size = 7168,
             .intermediate_size = 18432,
             .num_hidden_layers = 61,
             .num_attention_heads = 128,
             .num_key_value_heads = 128},
            {.experts_key = {"num_experts", "n_routed_experts", "num_local_experts"},
             .num_experts = 256,
             .num_experts_per_tok = 8,
             .intermediate_size = 2048}) {
    read_groups_of_two_best(c, 8, 4);
  }
};

/// A layer forgets what its indexer chose.
class DeepseekV32Attention {
 public:
  DeepseekV32Attention(const nn::Scope& scope, const SparseAttentionConfig& c)
      : attention_(scope, c) {}
  Tensor operator()(const Tensor& hidden_states, const Tensor& attention_mask,
                    const CosSin& position_embeddings) {
    Tensor topk_indices;
    return attention_(hidden_states, attention_mask, position_embeddings, topk_indices);
  }

 private:
  SparseAttention attention_;
};

struct DeepseekV32Parts : MoeParts {
  using Settings = DeepseekV32Config;
  using DecoderLayer =
      PreNormDecoderLayer<DeepseekV32Attention, MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
  static LayerMasks make_masks(const DeepseekV32Config& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return create_sparse_attention_mask(c, attention_mask, inputs_embeds, position_ids);
  }
};

ModelPointer build_deepseek_v32(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<DeepseekV32Parts>>(c, DeepseekV32Config(c, options),
                                                             options);
}

}  // namespace

extern const FamilyFacts kDeepseekV32{.model_type = "deepseek_v32",
                                      .first = {5, 11, 0},
                                      .ties_head = Known::no,
                                      .has_bos = Known::yes,
                                      .modeling = kDecoder,
                                      .build = build_deepseek_v32};

}  // namespace memtape::family
