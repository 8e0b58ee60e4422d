// SPDX-License-Identifier: Apache-2.0
// BitNet: Llama with a norm before the last projection of attention and MLP, as its weights lie
// unpacked; mirroring transformers 5.17 models/bitnet/modular_bitnet.py.
#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {
namespace {

struct BitNetSteps : Rotated<apply_rotary_pos_emb> {
  BitNetSteps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : Rotated(scope, c, layer), attn_sub_norm(scope / "attn_sub_norm", c.hidden_size) {}
  Tensor attended(const Tensor& attn_output) { return attn_sub_norm(attn_output); }
  LlamaRMSNorm attn_sub_norm;
};

class BitNetMLP : public nn::Module<BitNetMLP> {
 public:
  BitNetMLP(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, false),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, false),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, false),
        act_fn_(c.hidden_act),
        ffn_sub_norm_(scope / "ffn_sub_norm", c.intermediate_size) {}

  Tensor forward(const Tensor& x) {
    return down_proj_(ffn_sub_norm_(act_fn_(gate_proj_(x)).mul(up_proj_(x))));
  }

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
  LlamaRMSNorm ffn_sub_norm_;
};

struct BitNetParts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<BitNetSteps>, BitNetMLP>;
  using Norm = LlamaRMSNorm;
};

ModelPointer build_bitnet(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 128256,
                        .hidden_size = 2560,
                        .intermediate_size = 6912,
                        .num_hidden_layers = 30,
                        .num_attention_heads = 20,
                        .num_key_value_heads = 5,
                        .hidden_act = "relu2"});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  check_heads_fill(c, config.num_attention_heads, config.head_dim, config.hidden_size);
  return build_checked<DecoderForCausalLM<BitNetParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kBitnet{.model_type = "bitnet",
                                 .first = {4, 52, 0},
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .modeling = kDecoder,
                                 .build = build_bitnet};

}  // namespace memtape::family
