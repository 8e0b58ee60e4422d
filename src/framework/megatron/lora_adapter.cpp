// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/lora_adapter.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"

namespace memtape::megatron {
namespace {

/// LoRA.target_modules.
constexpr auto kTargets =
    std::to_array<std::string_view>({"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"});

LinearShape inner(const LinearShape& beside, std::int64_t in, std::int64_t out, Split split) {
  return {.in = in,
          .out = out,
          .split = split,
          .parts = beside.parts,
          .gathers = false,
          .is_adapter = true};
}

}  // namespace

Result<std::optional<LoraTargets>> lora_targets(const std::optional<LoraRecipe>& asked,
                                                const Arguments& a) {
  if (!asked) return std::nullopt;
  const LoraRecipe& lora = *asked;
  const std::int64_t tp = a.tp;
  if (!a.transformer_engine)
    return bad_input("Megatron-Bridge's adapters lie beside Transformer Engine's layers",
                     "--attention", "flash");
  LoraTargets targets{.rank = lora.rank, .dropout = lora.dropout};
  for (const std::string& target : lora.targets) {
    if (target == "all-linear") continue;
    if (std::ranges::find(kTargets, target) == kTargets.end())
      return bad_input(fmt::format("Megatron-Bridge has no target {}", target), "--lora-targets",
                       suggestion(target, kTargets));
    targets.modules.push_back(target);
  }
  if (targets.modules.empty()) targets.modules.assign(kTargets.begin(), kTargets.end());
  if (lora.rank % tp != 0)
    return bad_input(
        fmt::format("adapters of rank {} do not divide by {} tensor parallel ranks", lora.rank, tp),
        "--lora-rank", fmt::format("a multiple of {}", tp));
  return targets;
}

void freeze_all_but_adapters(const nn::ModuleNode& root) {
  for (const nn::ModuleNode::Named& parameter : nn::named_parameters(root))
    if (parameter.name.find(".adapter.") == std::string::npos)
      parameter.tensor.impl().requires_grad = false;
}

LoraAdapter::LoraAdapter(const nn::Scope& scope, Rank& rank, const LinearShape& beside)
    : rank_(rank),
      column_(beside.split == Split::column),
      scatters_(rank.a.sequence_parallel && beside.gathers && beside.parts > 1 && !column_),
      parts_(beside.parts),
      in_(scope / "adapter" / "linear_in", rank,
          inner(beside, beside.in, rank.a.lora->rank, beside.split)),
      out_(scope / "adapter" / "linear_out", rank,
           inner(beside, rank.a.lora->rank, beside.out, Split::column)) {}

Tensor LoraAdapter::operator()(const Tensor& x) {
  Tensor y = ghost::dropout(x, rank_.a.lora->dropout);
  y = in_(y);
  if (column_) y = gather_columns(y, parts_);
  y = out_(y);
  if (!column_) y = gather_columns(y, parts_);
  if (scatters_) y = own_rows(y, parts_);
  return y.mul(ghost::kScale);
}

}  // namespace memtape::megatron
