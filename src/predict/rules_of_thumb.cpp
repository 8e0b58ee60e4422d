// SPDX-License-Identifier: Apache-2.0
#include "predict/rules_of_thumb.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "workload/train_recipe.h"

namespace memtape {
namespace {

constexpr const char* kZero = "ZeRO, Rajbhandari et al. 2020, section 3.1";
constexpr const char* kHuggingFace =
    "transformers' guide to GPU memory, \"Anatomy of model's memory\"";
constexpr const char* kEstimate = "accelerate estimate-memory";
constexpr const char* kKorthikanti = "Korthikanti et al. 2022, table 2";

/// s, b, h, a, L of the papers; nothing where the configuration does not say them by their usual
/// names.
struct Shape {
  std::int64_t s = 0, b = 0, h = 0, a = 0, layers = 0;
};
std::optional<Shape> shape_of(const Config& config, const TrainRecipe& recipe) {
  const auto h = config.optional_dimension({"hidden_size", "n_embd"}),
             a = config.optional_dimension({"num_attention_heads", "n_head"}),
             layers = config.optional_dimension({"num_hidden_layers", "n_layer"});
  if (!h || !a || !layers) return std::nullopt;
  return Shape{recipe.sequence_length, recipe.micro_batch_size, *h, *a, *layers};
}

class Rules {
 public:
  Rules(const Config& config, const TrainRecipe& recipe, const Prediction& prediction)
      : recipe_(recipe),
        rank_(prediction.ranks.front()),
        parameters_(prediction.model.parameters),
        trainable_(prediction.model.trainable_parameters),
        shape_(shape_of(config, recipe)) {}

  std::vector<RuleOfThumb> all() {
    weights();
    states_by_parameter();
    whole_by_weights();
    if (shape_ && !recipe_.quantization) activations();
    return std::move(rules_);
  }

 private:
  bool full_adamw() const {
    return !recipe_.lora && recipe_.freeze.empty() && !recipe_.bitsandbytes_optim &&
           recipe_.optimizer == OptimizerName::adamw;
  }

  Bytes bytes_per_weight() const { return bits(recipe_.parameter_dtype()) / 8; }

  void weights() {
    if (recipe_.quantization && !recipe_.quantization->int8) {
      add({"weights in 4 bits", fmt::format("{} parameters x 0.5 bytes", base_parameters()),
           "QLoRA, Dettmers et al. 2023", base_parameters() / 2, "parameters",
           rank_.parameter_bytes,
           "only the linear layers' weights are packed; embeddings, head and norms stay as they "
           "are or become float32, each block of 64 weights has a scale, and the adapters come on "
           "top."});
      return;
    }
    const Bytes each = recipe_.quantization ? 1 : bytes_per_weight();
    add({"weights", fmt::format("{} parameters x {} bytes", parameters_, each), kEstimate,
         parameters_ * each, "parameters", rank_.parameter_bytes,
         recipe_.lora ? "adapters are kept in float32 whatever the base is held in."
                      : "the same sum, tied weights counted once."});
  }

  std::int64_t base_parameters() const { return parameters_ - trainable_; }

  void states_by_parameter() {
    const Bytes states = rank_.parameter_bytes + rank_.gradient_bytes + rank_.optimizer_state_bytes;
    if (full_adamw()) {
      const std::string mixed =
          bytes_per_weight() == 4
              ? "float32 weights, gradients and states come to 16 bytes, too, by another way: 4 + "
                "4 "
                "+ 8; autocast's 16-bit copies live within forward only."
              : "the rule counts a float32 master copy and float32 states beside 16-bit weights; "
                "this loop keeps weights, gradients and both states in 16 bits.";
      add({"16 bytes a parameter", fmt::format("{} parameters x (2 + 2 + 12)", parameters_), kZero,
           parameters_ * 16, "parameters + gradients + optimizer states", states, mixed});
      add({"18 bytes a parameter", fmt::format("{} parameters x (6 + 4 + 8)", parameters_),
           kHuggingFace, parameters_ * 18, "parameters + gradients + optimizer states", states,
           "it adds a 16-bit copy of the weights for good; autocast drops its casts when forward "
           "ends."});
    }
    if (recipe_.lora)
      add({"adapters x 16", fmt::format("{} trainable x (4 + 4 + 8)", trainable_),
           "LoRA, Hu et al. 2021: only adapters have gradients and states", trainable_ * 16,
           "trainable parameters + gradients + optimizer states",
           rank_.gradient_bytes + rank_.optimizer_state_bytes + trainable_ * 4,
           "states follow the optimizer and its dtypes; a paged optimizer's are not in the GPU's "
           "allocator at all."});
  }

  void whole_by_weights() {
    if (recipe_.quantization) return;
    add({"4 x the model", fmt::format("4 x {} bytes of weights", rank_.parameter_bytes),
         std::string(kEstimate) + ", training with Adam", 4 * rank_.parameter_bytes,
         "peak allocated", rank_.peak.allocated,
         recipe_.lora ? "frozen weights have neither gradients nor states; what activations take "
                        "is not in the rule."
                      : "weights, gradients and two states in one dtype; activations, logits and "
                        "the optimizer's temporaries are not in the rule."});
  }

  /// The most that activations take at once, over the phases.
  Bytes exact_activations() const {
    Bytes most = 0;
    for (const PhaseReport& phase : rank_.phases)
      most = std::max(most, phase.at_peak[Category::activation]);
    return most;
  }

  void activations() {
    const Shape& n = *shape_;
    const Bytes token = n.s * n.b * n.h, exact = exact_activations();
    const std::string sizes = fmt::format("s={} b={} h={} a={} L={}", n.s, n.b, n.h, n.a, n.layers);
    const char* of = "activations kept for backward";
    if (recipe_.checkpointing != Checkpointing::none) {
      add({"2 s b h L, checkpointed", sizes, kKorthikanti, 2 * token * n.layers, of, exact,
           "it counts the input of each layer in 16 bits; the layer that is computed again, the "
           "logits and the loss come on top, and autocast over float32 weights keeps inputs in "
           "float32."});
      return;
    }
    const Bytes linear = 34 * token * n.layers, scores = 5 * n.a * n.s * n.s * n.b * n.layers;
    add({"s b h (34 + 5 a s / h) L", sizes, kKorthikanti, linear + scores, of, exact,
         "it is GPT-3's layer: an MLP of 4 h with one product, dropout masks, eager attention with "
         "its s x s scores. Gated MLPs, grouped keys, fused attention and the float32 of norms "
         "and of the loss each change it."});
    add({"34 s b h L", sizes, std::string(kKorthikanti) + ", without attention scores", linear, of,
         exact,
         "flash attention keeps no s x s scores, so that term goes; the rest is still GPT-3's "
         "layer, and neither logits nor loss are counted."});
  }

  void add(RuleOfThumb rule) { rules_.push_back(std::move(rule)); }

  const TrainRecipe& recipe_;
  const RankReport& rank_;
  std::int64_t parameters_, trainable_;
  std::optional<Shape> shape_;
  std::vector<RuleOfThumb> rules_;
};

}  // namespace

std::vector<RuleOfThumb> rules_of_thumb(const Config& config, const TrainRecipe& recipe,
                                        const Prediction& prediction) {
  return Rules(config, recipe, prediction).all();
}

}  // namespace memtape
