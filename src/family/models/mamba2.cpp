// SPDX-License-Identifier: Apache-2.0
// Mamba 2, mirroring transformers 5.17 models/mamba2/modeling_mamba2.py.
#include "family/facts.h"
#include "family/models/mamba.h"
#include "family/parts/activations.h"
#include "family/parts/mamba2_mixer.h"

namespace memtape::family {
namespace {

struct Mamba2Config {
  explicit Mamba2Config(const Config& c)
      : vocab_size(c.dimension("vocab_size", 32768)),
        hidden_size(c.dimension("hidden_size", 4096)),
        num_hidden_layers(c.layers("num_hidden_layers", 64)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", false)),
        residual_in_fp32(c.boolean("residual_in_fp32", true)),
        mixer{.hidden_size = hidden_size,
              .intermediate_size = c.dimension("expand", 2) * hidden_size,
              .num_heads = c.dimension("num_heads", 128),
              .head_dim = c.dimension("head_dim", 64),
              .state_size = c.dimension("state_size", 128),
              .n_groups = c.dimension("n_groups", 8),
              .conv_kernel = c.dimension("conv_kernel", 4),
              .chunk_size = c.dimension("chunk_size", 256),
              .norm_group_size = 0,
              .use_bias = c.boolean("use_bias", false),
              .use_conv_bias = c.boolean("use_conv_bias", true),
              .activation = activation(c, "hidden_act", "silu")} {
    check_mixer(c, "num_heads", mixer);
    mixer.norm_group_size = gated_norm_group_size(mixer);
  }

  static bool shifts_logits() { return false; }
  static Tensor mixer_mask(const Tensor& attention_mask) {
    return create_recurrent_attention_mask(attention_mask,
                                           attention_mask.defined() ? attention_mask.size(1) : 0);
  }

  std::int64_t vocab_size, hidden_size, num_hidden_layers;
  bool tie_word_embeddings, residual_in_fp32;
  Mamba2MixerConfig mixer;
};

ModelPointer build_mamba2(const Config& c, const ModelOptions& options) {
  return build_checked<MambaForCausalLM<Mamba2Mixer, Mamba2Config>>(c, Mamba2Config(c), options);
}

}  // namespace

extern const FamilyFacts kMamba2{.model_type = "mamba2",
                                 .ties_head = Known::no,
                                 .has_bos = Known::yes,
                                 .modeling = kScan,
                                 .build = build_mamba2};

}  // namespace memtape::family
