// SPDX-License-Identifier: Apache-2.0
// What trl's trainers are told, as far as it affects memory: one struct for each of trl's
// configurations (trl 1.16, trainer/*_config.py and experimental/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtape::transformers {

/// trl's SFTConfig, as far as it affects memory.
struct SftRecipe {
  bool packing = false;
  bool wraps =
      false;  ///< packing_strategy="wrapped": rows are cut anywhere, as if each were one text
  bool padding_free = false;
  std::optional<bool> eval_packing;              ///< not said: as in training
  std::optional<std::int64_t> packed_sequences;  ///< those of a micro-batch that is flattened
  std::string loss_type = "nll";

  /// Whether all sequences of a batch are in one row, with positions that start again in each
  /// sequence.
  bool flattens() const { return padding_free || (packing && !wraps); }
};

/// trl's DPOConfig, as far as it affects memory. The size of a micro-batch counts pairs.
struct DpoRecipe {
  bool precompute_ref_log_probs = false;
  bool disable_dropout = true;
  std::vector<std::string> loss_types;  ///< none said: sigmoid
  std::string f_divergence_type = "reverse_kl";
  /// Of releases that cut a pair's prompt and completions apart.
  std::optional<std::int64_t> max_prompt_length, max_completion_length;
};

/// CPOConfig or ORPOConfig of trl.experimental, as far as it affects memory. The size of a
/// micro-batch counts pairs.
struct CpoRecipe {
  bool takes_odds_ratio = false;  ///< ORPOTrainer in its place
  std::string loss_type = "sigmoid";
  /// The weight of the chosen sequences' likelihood; 0: it is not computed.
  double cpo_alpha = 1.0;
  bool transforms_rewards = false;            ///< alpha, AlphaPO's, is not 0
  std::optional<std::int64_t> prompt_length;  ///< the part of a sequence; if not set, half of it
  bool disable_dropout = true;
};

/// trl's RewardConfig, as far as it affects memory. The size of a micro-batch counts pairs.
struct RewardRecipe {
  bool centers_rewards = false;  ///< center_rewards_coefficient is set
  bool disable_dropout = true;
};

/// trl's KTOConfig, as far as it affects memory. The size of a micro-batch counts sequences; if the
/// loss has a KL term, there are as many mismatched ones.
struct KtoRecipe {
  bool precompute_ref_log_probs = false;
  bool has_kl_term = true;
  bool disable_dropout = true;
};

/// trl's GRPOConfig, as far as it affects memory. The size of a micro-batch counts completions.
struct GrpoRecipe {
  std::int64_t num_generations = 8, max_completion_length = 512, num_iterations = 1;
  /// If not set, what the sequence has besides the completion.
  std::optional<std::int64_t> prompt_length;
  std::optional<std::int64_t> max_prompt_length;  ///< of releases that cut prompts
  std::optional<std::int64_t> steps_per_generation, generation_batch_size;
  double temperature = 1.0, top_p = 1.0;
  std::int64_t top_k = 0;
  double beta = 0.0;
  std::string loss_type = "dapo";
  bool per_sequence = false;     ///< importance_sampling_level="sequence"
  bool clips_two_sided = false;  ///< delta is set
  bool leaves_one_out = false;   ///< RLOOTrainer in its place
  bool penalizes_repetition = false, has_min_p = false;
  std::string cache_implementation;   ///< empty: a dynamic one
  bool masks_by_entropy = false;      ///< top_entropy_quantile below 1
  bool adds_entropy_bonus = false;    ///< entropy_coef is not 0
  bool adapts_entropy_bonus = false;  ///< use_adaptive_entropy
  bool corrects_bias_of_kl = true;    ///< use_bias_correction_kl
  bool masks_off_policy = false;      ///< off_policy_mask_threshold is set
  bool masks_truncated = false;       ///< mask_truncated_completions
  bool disable_dropout = false;
  bool use_vllm = false;          ///< vLLM makes the completions
  std::string vllm_mode;          ///< empty: the release's default
  double vllm_share = 0.3;        ///< vllm_gpu_memory_utilization
  bool vllm_sleeps = false;       ///< vllm_enable_sleep_mode
  bool corrects_sampling = true;  ///< vllm_importance_sampling_correction

  bool has_vllm_beside() const { return use_vllm && vllm_mode == "colocate"; }
};

}  // namespace memtape::transformers
