// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/experts.h"

#include "framework/megatron/activations.h"
#include "framework/megatron/checkpoint_without_output.h"
#include "framework/megatron/lora_adapter.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"

namespace memtape::megatron {

Experts::Experts(const nn::Scope& scope, Rank& rank) : rank_(rank) {
  const Arguments& a = rank.a;
  const std::int64_t gate = gate_factor(a);
  const bool grouped = a.moe.grouped_gemm && a.transformer_engine;
  for (std::int64_t i = 0; i < a.moe.num_experts / a.ep; ++i) {
    const nn::Scope expert = scope / i;
    const auto linear = [&](const char* name, LinearShape shape) {
      shape.bias = a.add_bias_linear;
      shape.adds_bias = grouped && shape.split == Split::column;  // TEGroupedMLP's skip_bias_add
      shape.parts = a.etp;
      shape.gathers = false;
      return std::make_unique<Linear>(expert / name, rank, shape);
    };
    experts_.push_back(
        {linear("linear_fc1", {.in = a.hidden_size, .out = gate * a.moe.ffn_hidden_size}),
         linear("linear_fc2",
                {.in = a.moe.ffn_hidden_size, .out = a.hidden_size, .split = Split::row})});
  }
  share_adapters(scope, {.in = a.hidden_size, .out = gate * a.moe.ffn_hidden_size},
                 {.in = a.moe.ffn_hidden_size, .out = a.hidden_size, .split = Split::row});
}

/// One adapter beside each grouped product (share_expert_adapters of peft/lora.py).
void Experts::share_adapters(const nn::Scope& scope, LinearShape fc1, LinearShape fc2) {
  fc1.parts = fc2.parts = rank_.a.etp;
  fc1.gathers = fc2.gathers = false;
  const auto share = [&](const char* name, const LinearShape& shape, auto product) {
    if (!has_adapter(rank_.a, name)) return;
    const auto adapter = std::make_shared<LoraAdapter>(scope / name, rank_, shape);
    for (Expert& expert : experts_) (expert.*product)->use_adapter(adapter);
  };
  share("linear_fc1", fc1, &Expert::fc1);
  share("linear_fc2", fc2, &Expert::fc2);
}

/// tokens_per_expert: even shares, the last takes what is over.
std::vector<std::int64_t> Experts::counts_of(std::int64_t rows) const {
  const auto local = static_cast<std::int64_t>(experts_.size());
  std::vector<std::int64_t> counts(experts_.size(), rows / local);
  counts.back() += rows % local;
  return counts;
}

/// MLP.forward with per_token_scale. The bias of the second product is added here, weighted.
Tensor Experts::run(const Expert& expert, const Tensor& rows, const Tensor& probs) const {
  Tensor intermediate = (*expert.fc1)(rows);
  intermediate = weighted_activation(rank_.a, intermediate, expert.fc1->bias, probs.unsqueeze(-1));
  Tensor output = (*expert.fc2)(intermediate);
  if (expert.fc2->bias.defined())
    ghost::add_(output, expert.fc2->bias.unsqueeze(0).mul(probs.unsqueeze(-1)));
  return output;
}

/// Grouped products make one tensor each, which is cut here so that each expert has its own.
Tensor Experts::run_grouped(const Tokens& tokens, const std::vector<std::int64_t>& counts) {
  rank_.use_grouped_workspaces();
  const OffloadedModule fc1 = rank_.offloaded("expert_fc1"), act = rank_.offloaded("moe_act");
  std::vector<Tensor> between = fc1(tokens.hidden, [&](const Tensor& hidden) {
    std::vector<Tensor> made;
    const std::vector<Tensor> rows = hidden.split(counts, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) made.push_back((*experts_[i].fc1)(rows[i]));
    return made;
  });
  between.front() = fc1.commit(between.front(), {tokens.hidden});
  std::vector<CheckpointWithoutOutput> recomputed;
  const std::vector<Tensor> active = act(between.front(), [&](const Tensor& first) {
    between.front() = first;
    return activated(between, tokens.probs.split(counts, 0), recomputed);
  });
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < active.size(); ++i) outputs.push_back((*experts_[i].fc2)(active[i]));
  add_weighted_biases(outputs, tokens.probs.split(counts, 0));
  const Tensor output = outputs.size() > 1 ? ghost::cat(outputs, 0) : outputs.front();
  for (CheckpointWithoutOutput& one : recomputed) one.discard_output_and_register_recompute(output);
  return act.commit(output, between);
}

/// TEGroupedMLP._apply_bias: the second product's bias times the weight of each token.
void Experts::add_weighted_biases(std::vector<Tensor>& outputs,
                                  const std::vector<Tensor>& probs) const {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (const Tensor& bias = experts_[i].fc2->bias; bias.defined())
      outputs[i] = outputs[i].add(bias.mul(probs[i].unsqueeze(-1)));
}

/// The experts' activations, which may be made again in backward (--recompute-modules moe_act).
std::vector<Tensor> Experts::activated(const std::vector<Tensor>& between,
                                       const std::vector<Tensor>& probs,
                                       std::vector<CheckpointWithoutOutput>& recomputed) const {
  if (rank_.a.recomputes("moe_act")) recomputed.resize(experts_.size());
  std::vector<Tensor> active;
  for (std::size_t i = 0; i < experts_.size(); ++i) {
    const std::vector<Tensor> inputs{between[i], probs[i].unsqueeze(-1)};
    const auto run = [this](std::span<const Tensor> in) {
      return std::vector{weighted_activation(rank_.a, in[0], {}, in[1])};
    };
    active.push_back(
        (recomputed.empty() ? run(inputs) : recomputed[i].checkpoint(run, inputs)).front());
  }
  return active;
}

Tensor Experts::operator()(const Tokens& tokens) {
  const std::vector<std::int64_t> counts = counts_of(tokens.hidden.size(0));
  if (rank_.a.moe.grouped_gemm && rank_.a.transformer_engine) return run_grouped(tokens, counts);
  if (experts_.size() == 1) return run(experts_.front(), tokens.hidden, tokens.probs);
  const std::vector<Tensor> rows = tokens.hidden.split(counts, 0);
  const std::vector<Tensor> probs = tokens.probs.split(counts, 0);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < experts_.size(); ++i)
    outputs.push_back(run(experts_[i], rows[i], probs[i]));
  return ghost::cat(outputs, 0);
}

}  // namespace memtape::megatron
