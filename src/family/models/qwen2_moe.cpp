// SPDX-License-Identifier: Apache-2.0
// Qwen2-MoE: experts beside an expert that all tokens share, behind a gate of its own; mirroring
// transformers 5.17 models/qwen2_moe/modular_qwen2_moe.py.
#include "family/parts/late_shared_mask.h"
#include "family/parts/qwen2_moe_block.h"

#include "family/facts.h"
#include "release/family_changes.h"

namespace memtape::family {
namespace {

struct Qwen2MoeConfig : QwenMoeConfig {
  Qwen2MoeConfig(const Config& c, const ModelOptions& options)
      : QwenMoeConfig(c, options,
                      {.vocab_size = 151936,
                       .hidden_size = 2048,
                       .intermediate_size = 5632,
                       .num_hidden_layers = 24,
                       .num_attention_heads = 16,
                       .num_key_value_heads = 16},
                      {.num_experts = 60, .num_experts_per_tok = 4, .intermediate_size = 1408}),
        shared_expert_intermediate_size(c.dimension("shared_expert_intermediate_size", 5632)) {
    qkv_bias = c.boolean("qkv_bias", true);
    if (!ghost::has(changes::kOlderMixturesCallTheInterface)) own_ropes = OwnRopes::unread;
    read_sliding_layers(c);
  }
  std::int64_t shared_expert_intermediate_size;

 private:
  /// Every second layer slides below max_window_layers, if any may; the model makes both masks
  /// whether one does or not.
  void read_sliding_layers(const Config& c) {
    const bool slides = c.boolean("use_sliding_window", false);
    const std::int64_t below = c.count("max_window_layers", 28);
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    if (slides) sliding_window = c.optional_dimension("sliding_window").value_or(4096);
    for (std::int64_t i = 0;
         slides && !c.has("layer_types") && i < std::min(below, num_hidden_layers); i += 2)
      layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
    masks_by_layer_type = masks_both_types = true;
  }
};

struct Qwen2MoeSteps : Rotated<apply_rotary_pos_emb> {
  using Rotated::Rotated;
  static constexpr const Change& kInterfaceSince = changes::kOlderMixturesCallTheInterface;
};

struct Qwen2MoeParts : MoeParts {
  using Settings = Qwen2MoeConfig;
  using DecoderLayer =
      PreNormDecoderLayer<AttentionOf<Qwen2MoeSteps>, MaybeSparseMlp<SharedExpertMoeBlock>>;
  using Norm = LlamaRMSNorm;
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return late_windowed_mask(c, attention_mask, inputs_embeds, position_ids);
  }
};

ModelPointer build_qwen2_moe(const Config& c, const ModelOptions& options) {
  return build_moe<Qwen2MoeParts>(c, Qwen2MoeConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kQwen2Moe{
    .model_type = "qwen2_moe",
    .ties_head = Known::no,
    .has_bos = Known::no,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_qwen2_moe};

}  // namespace memtape::family
