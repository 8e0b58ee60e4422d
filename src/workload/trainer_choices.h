// SPDX-License-Identifier: Apache-2.0
// What a trainer around the step decides and others than the trainer ask for: optimizers of
// bitsandbytes, evaluation between steps, and what programs put in a trainer's place.
#pragma once

#include <cstdint>
#include <optional>

namespace memtape {

/// Which of trl's trainers runs in the place of Trainer.
enum class TrlTrainer : std::uint8_t { none, sft, dpo, reward, grpo, kto, rloo, cpo, orpo };

/// An optimizer of bitsandbytes.
struct BitsAndBytesOptim {
  enum class Algorithm { adamw, lion, ademamix };
  Algorithm algorithm = Algorithm::adamw;
  int bits = 32;
  bool paged = false;
};

/// Trainer.evaluate between the steps.
struct EvaluationRecipe {
  bool runs = false;      ///< eval_strategy, or do_eval with a strategy that runs it
  bool left_out = false;  ///< it would run, but it is not modelled
  /// eval_steps; if not set, only after the measured step.
  std::optional<std::int64_t> every_steps;
  std::int64_t batch_size = 8;
  /// Those of the evaluation set on all ranks; 0: as many as are needed to show the peak.
  std::int64_t samples = 0;
  bool computes_metrics = false, prediction_loss_only = false;
  bool batch_eval_metrics = false, concatenates = true;
  bool includes_inputs = false;
  std::optional<std::int64_t> accumulation_steps;
};

/// What programs around transformers replace Trainer, or parts of it, by.
struct ProgramRecipe {
  /// The pref_loss of LLaMA-Factory's CustomDPOTrainer, or its CustomKTOTrainer or PairwiseTrainer.
  /// The size of a micro-batch counts pairs, except with KTO.
  enum class Preference : std::uint8_t { none, sigmoid, orpo, simpo, kto, pairwise };
  Preference preference = Preference::none;
  bool is_plain_loop = false;      ///< a loop around accelerate
  bool keeps_outputs = false;      ///< a loop holds what the model returned until the step ends
  bool cut_cross_entropy = false;  ///< axolotl's: no logits at all
  /// If a part of the model is trained, its trained parameters become float32.
  bool upcasts_trained = false;
  /// Only this many of the last layers are trained; if negative, of the first layers.
  std::int16_t trained_layers = 0;

  bool trains_preferences() const { return preference != Preference::none; }
  bool is_kto() const { return preference == Preference::kto; }
  bool trains_value_head() const { return preference == Preference::pairwise; }
  bool has_reference() const { return preference == Preference::sigmoid || is_kto(); }
};

}  // namespace memtape
