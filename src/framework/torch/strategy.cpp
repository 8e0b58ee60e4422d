// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/strategy.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace memtape::torch {
std::string divisors_of(std::int64_t n) {
  std::string text;
  for (std::int64_t d = 1; d <= n && d <= 1024; ++d)
    if (n % d == 0) text += (text.empty() ? "" : ", ") + std::to_string(d);
  return "one of " + text;
}

std::vector<RankClass> all_alike(const LayoutRecipe& layout) {
  RankClass all;
  for (std::int64_t rank = 0; rank < layout.gpus; ++rank)
    all.ranks.push_back(static_cast<int>(rank));
  return {std::move(all)};
}

Result<void> check_axes(const LayoutRecipe& layout,
                        std::initializer_list<std::string_view> allowed) {
  struct Named {
    std::string_view name;
    const std::optional<std::int64_t>& size;
  };
  const std::array<Named, 8> axes{{{"dp", layout.dp},
                                   {"tp", layout.tp},
                                   {"pp", layout.pp},
                                   {"cp", layout.cp},
                                   {"ep", layout.ep},
                                   {"etp", layout.etp},
                                   {"sp", layout.sp},
                                   {"vpp", layout.vpp}}};
  for (const Named& axis : axes) {
    if (axis.size.value_or(1) <= 1) continue;
    if (std::find(allowed.begin(), allowed.end(), axis.name) == allowed.end())
      return bad_input("this framework has no such axis", "--" + std::string(axis.name), "1");
  }
  if (layout.zero.value_or(0) > 0 &&
      std::find(allowed.begin(), allowed.end(), "zero") == allowed.end())
    return bad_input("this framework has no stages of ZeRO", "--zero",
                     "0, or --framework deepspeed or megatron-core");
  return {};
}

Result<std::int64_t> remaining_axis(const LayoutRecipe& layout, std::string_view axis,
                                    std::optional<std::int64_t> given, std::int64_t others) {
  if (layout.gpus % others != 0)
    return bad_input(
        std::to_string(layout.gpus) + " GPUs do not divide by " + std::to_string(others), "--gpus",
        "a multiple of " + std::to_string(others));
  const std::int64_t left = layout.gpus / others;
  if (given && *given != left)
    return bad_input(std::to_string(*given) + " times " + std::to_string(others) + " are not the " +
                         std::to_string(layout.gpus) + " GPUs",
                     "--" + std::string(axis),
                     std::to_string(left) + "; " + std::to_string(layout.gpus) + " divides by " +
                         divisors_of(layout.gpus));
  return left;
}

Result<void> check_data_parallel(const LayoutRecipe& layout,
                                 std::initializer_list<std::string_view> allowed) {
  if (Result<void> fine = check_axes(layout, allowed); !fine) return fine;
  return remaining_axis(layout, "dp", layout.dp, 1).map([](std::int64_t) {});
}

Result<Layout> sharded_mesh(const std::vector<std::int64_t>& sizes, const LayoutRecipe& layout) {
  if (sizes.size() > 2)
    return bad_input("a mesh of more than two axes", "--strategy: mesh", "[replicate, shard]");
  const std::int64_t replicas = sizes.size() == 2 ? sizes[0] : 1;
  if (replicas < 1 || (!sizes.empty() && sizes.back() < 1))
    return bad_input("an axis without GPUs", "--strategy: mesh", "sizes of 1 or more");
  const auto given = sizes.empty() ? std::nullopt : std::optional(sizes.back());
  return remaining_axis(layout, "strategy: mesh", given, replicas).map([&](std::int64_t shards) {
    return Layout({{"replicate", replicas}, {"shard", shards}});
  });
}

Result<LossNumbers> cross_entropy_named(const std::string& loss, bool only_in_float) {
  constexpr std::string_view kInFloat = "cross_entropy(logits.flatten(0,1).float())";
  constexpr std::string_view kAsTheyAre = "cross_entropy(logits.flatten(0,1))";
  if (loss == kInFloat) return LossNumbers::in_float;
  if (loss == kAsTheyAre && !only_in_float) return LossNumbers::as_they_are;
  std::string hint(kInFloat);
  if (!only_in_float) hint += " or " + std::string(kAsTheyAre);
  return unsupported("the loss \"" + loss + "\" is not modelled", "--strategy: loss", hint);
}

}  // namespace memtape::torch
