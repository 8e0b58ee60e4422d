// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/reward_objective.h"

#include <algorithm>
#include <array>

#include "framework/transformers/trl/pair.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/reductions.h"
#include "nn/layers.h"

namespace memtape::transformers::trl {

using ghost::Tensor;

bool scores_sequences(std::string_view model_type) {
  constexpr auto kGeneric = std::to_array<std::string_view>(
      {"deepseek_v2", "deepseek_v3", "gemma", "gemma2", "gemma3_text", "llama", "mistral", "olmo",
       "olmo2", "olmo3", "phi", "phi3", "qwen2", "qwen3", "smollm3", "stablelm", "starcoder2"});
  return std::ranges::find(kGeneric, model_type) != kGeneric.end();
}

family::ModelOutput classify_sequences(family::PretrainedModel& model, const family::Batch& batch) {
  const Tensor hidden_states = model.last_hidden_state(batch);
  const Tensor logits = (*model.head())(hidden_states);
  const std::int64_t count = batch.input_ids.size(0), length = batch.input_ids.size(1);
  const Tensor non_pad_mask = ghost::comparison("ne", batch.input_ids).to(DType::int32);
  const Tensor token_indices = ghost::arange(length, DType::int32);
  Tensor last_non_pad_token;
  {
    const Tensor places = token_indices.mul(non_pad_mask);
    last_non_pad_token = ghost::argmax(places);
  }
  const Tensor rows = ghost::arange(count, DType::int64);
  return {{}, ghost::index_pairs(logits, rows, last_non_pad_token)};
}

namespace {

/// all_rewards.min().item() and .max().item()
void log_extreme(const Tensor& rewards) { const Tensor extreme = ghost::max_all(rewards); }

/// What is logged; the mean of the margins is read last and lives on.
Tensor log_metrics(const Tensor& logits, const Pair& rewards, std::int64_t ranks) {
  const ghost::GradMode no_grad(false);
  const Tensor all_rewards = gather(logits, ranks);
  log_extreme(all_rewards);
  log_mean(all_rewards.view({-1}), 1);
  log_extreme(all_rewards);
  {
    const Tensor accuracy =
        ghost::comparison("gt", rewards.chosen).to_float().mean(0);  // gathered and averaged
    gathered(accuracy, ranks);
  }
  Tensor margin = rewards.chosen.sub(rewards.rejected).mean(0);
  return gathered(margin, ranks);
}

}  // namespace

Tensor RewardObjective::compute_loss(const family::Batch& inputs) {
  const family::ModelOutput outputs = model_(inputs);
  const Pair rewards(outputs.logits.squeeze(-1));
  Tensor loss = ghost::log_sigmoid(rewards.chosen.sub(rewards.rejected)).mean(0).neg();
  if (centers_rewards_) {
    const Tensor centered = rewards.chosen.add(rewards.rejected).pow(2).mean(0).mul(0.01);
    ghost::add_(loss, centered);
  }
  gathered(ghost::sum_all(inputs.attention_mask), ranks_);
  const Tensor mean_margin = log_metrics(outputs.logits, rewards, ranks_);
  return loss;
}

}  // namespace memtape::transformers::trl
