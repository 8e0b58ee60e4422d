// SPDX-License-Identifier: Apache-2.0
// What changed between releases of trl: the defaults of its configurations, and how its trainers
// come to their losses.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kTrlHasGrpo{
    Package::trl, {0, 14, 0}, "There is a GRPOTrainer.", "trainer/grpo_trainer.py"};

inline constexpr Change kTrlCutsAt1024{
    Package::trl,
    {0, 14, 0},
    "Preference trainers and RewardTrainer cut sequences at 1,024 tokens unless they are told "
    "otherwise; before, at 512.",
    "trainer/dpo_config.py:DPOConfig.max_length, trainer/dpo_trainer.py:DPOTrainer.__init__"};

inline constexpr Change kTrlTakesLogSoftmaxByRow{
    Package::trl,
    {0, 15, 0},
    "Log-probabilities are taken one row of the batch after the other (selective_log_softmax); "
    "before, log_softmax of all logits was gathered from.",
    "trainer/utils.py:selective_log_softmax"};

inline constexpr Change kTrlCountsAccuracy{
    Package::trl,
    {0, 15, 0},
    "SFTTrainer copies the logits without the last position to count what they get right.",
    "trainer/sft_trainer.py:SFTTrainer.compute_loss"};

inline constexpr Change kTrlDividesLogits{
    Package::trl,
    {0, 16, 0},
    "GRPO divides the logits of completions by the temperature.",
    "trainer/grpo_trainer.py:GRPOTrainer._get_per_token_logps"};

inline constexpr Change kTrlGeneratesForTheStep{
    Package::trl,
    {0, 17, 0},
    "GRPO generates for all micro-batches of a step at once; before, for each of them.",
    "trainer/grpo_trainer.py:GRPOTrainer._prepare_inputs"};

inline constexpr Change kTrlAutocasts{
    Package::trl,
    {0, 19, 0},
    "Configurations have bf16 on unless fp16 is asked for; before, neither, so that products run "
    "in float32.",
    "trainer/sft_config.py:SFTConfig.__post_init__, trainer/dpo_config.py"};

inline constexpr Change kTrlGrpoHasNoReference{
    Package::trl,
    {0, 19, 0},
    "GRPO's beta is 0, so that no reference model is loaded; before, it was 0.04.",
    "trainer/grpo_config.py:GRPOConfig.beta"};

inline constexpr Change kTrlCheckpoints{
    Package::trl,
    {0, 22, 0},
    "Configurations begin with gradient checkpointing.",
    "trainer/sft_config.py:SFTConfig.gradient_checkpointing, trainer/dpo_config.py"};

inline constexpr Change kTrlHasOnlineRloo{
    Package::trl,
    {0, 22, 0},
    "RLOOTrainer generates and trains as GRPOTrainer does; before, it was a loop of its own.",
    "trainer/rloo_trainer.py"};

inline constexpr Change kTrlFlattensForEntropy{
    Package::trl,
    {0, 23, 0},
    "The entropy of logits is taken 128 tokens at a time, of a copy where sequences do not lie "
    "behind one another; before, one sequence at a time.",
    "trainer/utils.py:entropy_from_logits"};

inline constexpr Change kTrlShiftsLogits{
    Package::trl,
    {0, 29, 0},
    "DPOTrainer copies the logits without the last position and logs their entropy; before, it "
    "rolled the labels.",
    "trainer/dpo_trainer.py:DPOTrainer._compute_loss, concatenated_forward"};

inline constexpr Change kTrlDividesLogitsInPlace{
    Package::trl,
    {1, 0, 0},
    "GRPO and RLOO divide the logits in place; before, into another tensor.",
    "trainer/grpo_trainer.py:GRPOTrainer._get_per_token_logps_and_entropies"};

inline constexpr Change kTrlHasVllmBeside{
    Package::trl,
    {0, 18, 0},
    "vLLM may generate on the GPUs that train (vllm_mode colocate); before, on another GPU or by a "
    "server. Not in 0.17.0.",
    "trainer/grpo_config.py:GRPOConfig.vllm_mode"};

inline constexpr Change kTrlCorrectsSampling{
    Package::trl,
    {0, 23, 0},
    "Where vLLM generates, log-probabilities are taken by the policy again before it learns. Not "
    "in "
    "0.22.0.",
    "trainer/grpo_trainer.py:GRPOTrainer._generate_and_score_completions"};

inline constexpr Change kTrlPutsVllmBeside{
    Package::trl,
    {1, 0, 0},
    "vllm_mode is colocate unless the other is asked for; before, server. Not in 0.29.0.",
    "trainer/grpo_config.py:GRPOConfig.vllm_mode"};

inline constexpr Change kTrlTakesEntropyOfShifted{
    Package::trl,
    {1, 3, 0},
    "SFTTrainer takes the entropy of a copy of the logits without the last position, and makes a "
    "second one to count what they get right; before, the entropy of the logits.",
    "trainer/sft_trainer.py:SFTTrainer.compute_loss"};

inline constexpr Change kTrlCountsFromViews{
    Package::trl,
    {1, 6, 0},
    "SFTTrainer counts, and DPOTrainer takes log-probabilities, from the logits without the last "
    "position as they lie in memory; before, from copies.",
    "trainer/sft_trainer.py:SFTTrainer.compute_loss, trainer/dpo_trainer.py:_compute_loss"};

inline constexpr Change kTrlChunksSft{
    Package::trl,
    {1, 7, 0},
    "SFT's loss is chunked_nll unless another is asked for: the head runs in chunks.",
    "trainer/sft_config.py:SFTConfig.loss_type"};

inline constexpr Change kTrlCompletesTo512{
    Package::trl,
    {1, 10, 0},
    "GRPO's and RLOO's completions have up to 512 tokens; before, up to 256.",
    "trainer/grpo_config.py:GRPOConfig.max_completion_length"};

inline constexpr Change kTrlFusesLogSoftmax{
    Package::trl,
    {1, 14, 0},
    "selective_log_softmax is one kernel, which keeps the logits and four numbers a token.",
    "kernels/logprob_entropy.py"};

inline constexpr Change kTrlCachesNothing{
    Package::trl,
    {0, 22, 0},
    "SFTTrainer calls the model with use_cache false; before, as its configuration says. It does "
    "not in 0.21.0 and does in 0.22.2.",
    "trainer/sft_trainer.py:SFTTrainer.compute_loss"};

inline constexpr Change kTrlHalvesAdapters{
    Package::trl,
    {0, 26, 0},
    "SFTTrainer, RewardTrainer and GRPOTrainer convert the adapters of a quantized base to "
    "bfloat16 and leave the base as it is; before, prepare_model_for_kbit_training made float32 of "
    "what is not quantized, and under bf16 peft_module_casting_to_bf16 half of embeddings and head "
    "again.",
    "trainer/sft_trainer.py:SFTTrainer.__init__, models/utils.py:prepare_peft_model"};

inline constexpr Change kTrlHalvesAdaptersOfDpo{Package::trl,
                                                {0, 29, 0},
                                                "DPOTrainer does so, too.",
                                                "trainer/dpo_trainer.py:DPOTrainer.__init__"};

inline constexpr Change kTrlHalvesAdaptersOfKto{
    Package::trl,
    {1, 4, 0},
    "KTOTrainer does so, too.",
    "experimental/kto/kto_trainer.py:KTOTrainer.__init__"};

inline constexpr Change kTrlFusesHead{
    Package::trl,
    {1, 15, 0},
    "Trainers take log-probabilities from hidden states, tile by tile; before, from whole logits.",
    "trainer/utils.py:add_fused_lm_head, kernels/chunked_logprob.py"};

}  // namespace memtape::changes
