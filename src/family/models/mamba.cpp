// SPDX-License-Identifier: Apache-2.0
// Mamba and FalconMamba, which has norms without weights on what the scan is given; mirroring
// transformers 5.17 models/mamba/modeling_mamba.py and
// models/falcon_mamba/modeling_falcon_mamba.py.
#include "family/models/mamba.h"

#include "family/facts.h"
#include "family/parts/activations.h"
#include "family/parts/mamba_mixer.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct MambaConfig {
  MambaConfig(const Config& c, bool falcon)
      : vocab_size(c.dimension("vocab_size", 50280)),
        hidden_size(c.dimension("hidden_size", 768)),
        num_hidden_layers(c.layers("num_hidden_layers", 32)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        residual_in_fp32(c.boolean("residual_in_fp32", true)),
        mixer{.hidden_size = hidden_size,
              .intermediate_size = intermediate_size(c),
              .state_size = c.dimension("state_size", 16),
              .conv_kernel = c.dimension("conv_kernel", 4),
              .time_step_rank = time_step_rank(c),
              .use_bias = c.boolean("use_bias", false),
              .use_conv_bias = c.boolean("use_conv_bias", true),
              .activation = activation(c, "hidden_act", "silu"),
              .norms = falcon ? ScanNorms::weightless : ScanNorms::none} {}

  static bool shifts_logits() { return !ghost::has(changes::kMambaLossIsShared); }
  static Tensor mixer_mask(const Tensor& attention_mask) { return attention_mask; }

  std::int64_t vocab_size, hidden_size, num_hidden_layers;
  bool tie_word_embeddings, residual_in_fp32;
  MambaMixerConfig mixer;

 private:
  /// A configuration that says it has the last word (PreTrainedConfig sets what is left of kwargs).
  std::int64_t intermediate_size(const Config& c) const {
    if (c.has("intermediate_size")) return c.dimension("intermediate_size");
    return c.dimension("expand", 2) * hidden_size;
  }
  /// A number, or "auto": a sixteenth of the hidden size.
  std::int64_t time_step_rank(const Config& c) const {
    if (!c.has("time_step_rank") || c.json("time_step_rank") == "\"auto\"")
      return ceil_div(hidden_size, std::int64_t{16});
    return c.dimension("time_step_rank");
  }
};

/// Llama's; before, a function did all but the product with the weight, and held nothing by then.
class FalconMambaRMSNorm : public nn::Module<FalconMambaRMSNorm> {
 public:
  FalconMambaRMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
      : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

  Tensor forward(const Tensor& x) {
    if (!ghost::has(changes::kMambaScansByFunctions)) return weight_.mul(rms_forward(x));
    const DType input_dtype = x.dtype();
    Tensor hidden_states = x.to_float();
    const Tensor variance = hidden_states.pow(2).mean(-1, true);
    hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
    return weight_.mul(hidden_states.to(input_dtype));
  }

 private:
  Tensor weight_;
};

ModelPointer build_mamba(const Config& c, const ModelOptions& options) {
  return build_checked<MambaForCausalLM<MambaMixer, MambaConfig>>(c, MambaConfig(c, false),
                                                                  options);
}

ModelPointer build_falcon_mamba(const Config& c, const ModelOptions& options) {
  return build_checked<MambaForCausalLM<MambaMixer, MambaConfig, FalconMambaRMSNorm>>(
      c, MambaConfig(c, true), options);
}

}  // namespace

extern const FamilyFacts kMamba{.model_type = "mamba",
                                .ties_head = Known::yes,
                                .has_bos = Known::yes,
                                .modeling = kScan,
                                .build = build_mamba};

extern const FamilyFacts kFalconMamba{.model_type = "falcon_mamba",
                                      .ties_head = Known::yes,
                                      .has_bos = Known::yes,
                                      .modeling = kScan,
                                      .build = build_falcon_mamba};

}  // namespace memtape::family
