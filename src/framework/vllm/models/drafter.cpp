// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/drafter.h"

#include <algorithm>
#include <array>

#include "framework/vllm/models/decoder_layer.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/hybrid.h"
#include "framework/vllm/models/moe.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// What the families' predictors choose.
struct PredictorForm {
  LayerBlocks (*blocks)(const Place&, std::int64_t index);
  NormKind norm = NormKind::rms;
  /// Of the first position's embedding, and the embedding itself held by the caller's frame.
  bool masks_start = true;
  bool fuses_norms = false;      ///< both norms and their joining in one kernel (DeepSeek V3.2)
  bool cuts_projection = false;  ///< ColumnParallelLinear, gathered
  bool adds_residual = true;     ///< before the last norm, not in it
  /// The last norm: with the logits (SharedHead), and of what is fed back, too (DeepSeek).
  bool norms_with_logits = true, feeds_back_norm = false;
};

class Predictor final : public Drafter {
 public:
  Predictor(const Place& place, const Place& layer, const PredictorForm& form)
      : form_(form),
        runtime_(place.runtime()),
        hidden_(place.config().dimension("hidden_size")),
        embedding_norm_(place / "enorm", hidden_, form.norm),
        hidden_norm_(place / "hnorm", hidden_, form.norm),
        projection_(place / "eh_proj", 2 * hidden_, {hidden_},
                    {.cut = form.cuts_projection ? Cut::column : Cut::replicated,
                     .quantized = form.cuts_projection}),
        layer_(layer, {.blocks = form.blocks, .norm = form.norm},
               place.config().layers("num_hidden_layers")),
        norm_(place / "norm", hidden_, form.norm),
        head_(place / "head", place.config().dimension("vocab_size"), hidden_),
        embed_tokens_(place / "embed_tokens", place.config().dimension("vocab_size"), hidden_) {}

  Drafted forward(const Tensor& input_ids, const Tensor& hidden) override {
    Tensor embedded = embed_tokens_(input_ids);
    Tensor normed, before, joined;
    const Dims wide = hidden.sizes().leading().with(2 * hidden_);
    if (form_.fuses_norms) {
      joined = kernel_output("fused_eh_norm", wide, hidden.dtype());
    } else {
      normed = embedding_norm_(form_.masks_start ? with_masked_start(embedded) : embedded);
      if (!form_.masks_start) embedded.reset();
      before = hidden_norm_(hidden);
      joined = kernel_output("cat", wide, hidden.dtype());
    }
    if (form_.cuts_projection) before.reset();  // the name is given to what follows
    Stream s{projection_(joined), {}};
    if (!form_.fuses_norms) joined.reset();
    if (form_.cuts_projection && runtime_.tp() > 1) s.hidden = all_gather_last(runtime_, s.hidden);
    s = layer_.run(s);
    if (!form_.adds_residual) {
      s = norm_.add(s.hidden, s.residual);
      return {s.hidden, s.hidden};
    }
    s.hidden = s.residual.add(s.hidden);
    if (form_.feeds_back_norm) return {s.hidden, norm_(s.hidden)};
    if (!form_.norms_with_logits) s.hidden = norm_(s.hidden);
    return {s.hidden, s.hidden};
  }

  Tensor compute_logits(const Tensor& hidden) override {
    if (!form_.norms_with_logits) return head_.logits(hidden, false);
    const Tensor normed = norm_(hidden);
    return head_.logits(normed, false);
  }

  /// maybe_share_target_embed leaves the embedding where the stages lie apart.
  void share_tables(ServedModel& target) override {
    if (runtime_.parallel().pp == 1 && target.embedding_table().defined())
      embed_tokens_.share(target.embedding_table());
    if (target.head()) head_.share(*target.head());
  }

 private:
  /// torch.where(positions.unsqueeze(-1) == 0, 0, inputs_embeds).
  static Tensor with_masked_start(const Tensor& embedded) {
    const Tensor is_start = kernel_output("eq", {embedded.size(0), 1}, DType::boolean);
    const Tensor zero = kernel_output("scalar_tensor", {}, embedded.dtype());
    return kernel_output("where", embedded.sizes(), embedded.dtype());
  }

  PredictorForm form_;
  Runtime& runtime_;
  std::int64_t hidden_;
  RMSNorm embedding_norm_, hidden_norm_;
  Linear projection_;
  DecoderLayer layer_;
  RMSNorm norm_;
  ParallelLMHead head_;
  VocabParallelEmbedding embed_tokens_;
};

/// The layer's prefix follows the target's layers, or stands under "mtp": lists of layers that are
/// left unquantized name it so.
std::unique_ptr<Drafter> make_predictor(const Place& place, bool own_name,
                                        const PredictorForm& form) {
  const std::string after = std::to_string(place.config().layers("num_hidden_layers"));
  const Place drafter(place.runtime(), place.scope() / "mtp", "mtp");
  const Place layer(place.runtime(), drafter.scope() / "layer",
                    own_name ? "mtp.layers.0" : "model.layers." + after);
  return std::make_unique<Predictor>(drafter, layer, form);
}

std::unique_ptr<Drafter> make_deepseek_mtp(const Place& place) {
  return make_predictor(place, false, {.blocks = deepseek_blocks, .feeds_back_norm = true});
}
std::unique_ptr<Drafter> make_sparse_deepseek_mtp(const Place& place) {
  // The layer's own buffer of chosen tokens gives way to the target's.
  const Dims chosen{place.settings().max_num_batched_tokens,
                    place.config().dimension("index_topk")};
  const Tensor own = kernel_output("topk_indices_buffer", chosen, DType::int32);
  return make_predictor(
      place, false, {.blocks = deepseek_blocks, .fuses_norms = true, .norms_with_logits = false});
}
std::unique_ptr<Drafter> make_glm4_moe_mtp(const Place& place) {
  return make_predictor(place, false, {.blocks = glm4_moe_blocks});
}
std::unique_ptr<Drafter> make_mimo_mtp(const Place& place) {
  return make_predictor(place, false, {.blocks = qwen2_blocks, .norms_with_logits = false});
}
std::unique_ptr<Drafter> make_qwen_mtp(const Place& place) {
  return make_predictor(place, true,
                        {.blocks = qwen3_next_blocks,
                         .norm = NormKind::gemma,
                         .masks_start = false,
                         .cuts_projection = true,
                         .adds_residual = false,
                         .norms_with_logits = false});
}

struct DrafterRow {
  std::string_view architecture;
  DrafterFactory make;
};

constexpr std::array kDrafters{
    DrafterRow{"DeepseekV3ForCausalLM", make_deepseek_mtp},
    DrafterRow{"DeepseekV32ForCausalLM", make_sparse_deepseek_mtp},
    DrafterRow{"GlmMoeDsaForCausalLM", make_sparse_deepseek_mtp},
    DrafterRow{"Glm4MoeForCausalLM", make_glm4_moe_mtp},
    DrafterRow{"MiMoForCausalLM", make_mimo_mtp},
    DrafterRow{"Qwen3NextForCausalLM", make_qwen_mtp},
    DrafterRow{"Qwen3_5ForCausalLM", make_qwen_mtp},
    DrafterRow{"Qwen3_5MoeForCausalLM", make_qwen_mtp},
};

}  // namespace

Result<DrafterFactory> drafter_factory(const Config& config) {
  const std::vector<std::string> names = config.texts("architectures");
  for (const DrafterRow& row : kDrafters)
    if (std::ranges::find(names, row.architecture) != names.end()) return row.make;
  return unsupported(
      "no predictor of " + (names.empty() ? "this model" : names.front()) + " is modelled",
      "--speculative-config", "those of DeepSeek V3, GLM-4.5, MiMo, Qwen3-Next and Qwen3.5 are");
}

}  // namespace memtape::vllm
