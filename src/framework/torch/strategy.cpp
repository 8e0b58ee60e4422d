// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/strategy.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace memtape::torch {
namespace {

constexpr const char* kOption = "--strategy";

}  // namespace

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

Result<Config> read_strategy(const TrainRecipe& recipe, std::span<const std::string_view> known) {
  const std::string& text = recipe.layout.strategy;
  Result<Config> config = Config::parse(text.empty() ? "{}" : text, kOption);
  if (!config) return config;
  for (const std::string& key : config->keys())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return unsupported("\"" + key + "\" is not modelled", kOption, suggestion(key, known));
  return config;
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

Result<Config> read_data_parallel_strategy(const TrainRecipe& recipe,
                                           std::span<const std::string_view> known) {
  if (const Result<void> fine = check_axes(recipe.layout, {"dp"}); !fine)
    return tl::unexpected(fine.error());
  const auto dp = remaining_axis(recipe.layout, "dp", recipe.layout.dp, 1);
  if (!dp) return tl::unexpected(dp.error());
  return read_strategy(recipe, known);
}

Result<std::optional<DType>> optional_dtype(const Config& config, std::string_view key) {
  struct Name {
    std::string_view name;
    DType dtype;
  };
  constexpr auto kNames = std::to_array<Name>({{"bf16", DType::bfloat16},
                                               {"bfloat16", DType::bfloat16},
                                               {"torch.bfloat16", DType::bfloat16},
                                               {"fp16", DType::float16},
                                               {"float16", DType::float16},
                                               {"torch.float16", DType::float16},
                                               {"fp32", DType::float32},
                                               {"float32", DType::float32},
                                               {"torch.float32", DType::float32}});
  const std::optional<std::string> text = config.optional_text(key);
  if (!text) return std::nullopt;
  std::vector<std::string_view> names;
  for (const Name& name : kNames) {
    if (name.name == *text) return name.dtype;
    names.push_back(name.name);
  }
  return bad_input("unknown dtype \"" + *text + "\"",
                   std::string(kOption) + ": " + std::string(key), suggestion(*text, names));
}

}  // namespace memtape::torch
