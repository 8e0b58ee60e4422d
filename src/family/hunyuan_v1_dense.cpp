// SPDX-License-Identifier: Apache-2.0
// Hunyuan dense: Llama with norms on the heads of q and k once they are rotated; mirroring
// transformers 5.17 models/hunyuan_v1_dense/modular_hunyuan_v1_dense.py.
#include "family/attention_of.h"
#include "family/decoder.h"
#include "family/families.h"
#include "family/llama.h"

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

}  // namespace

ModelPointer build_hunyuan_v1_dense(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {.vocab_size = 290943});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  return build_checked<DecoderForCausalLM<HunyuanParts>>(c, config, options);
}

}  // namespace memtape::family
