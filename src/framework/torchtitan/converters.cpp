// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/converters.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::torchtitan {
namespace {

struct Converter {
  std::string_view name;
  LowBits bits;
  bool experts = false;
};
/// The names under which release 0.2.2 and those before register them (register_model_converter).
constexpr auto kConverters =
    std::to_array<Converter>({{"float8", LowBits::fp8},
                              {"mx", LowBits::mxfp8},
                              {"quantize.linear.float8", LowBits::fp8},
                              {"quantize.linear.mx", LowBits::mxfp8},
                              {"quantize.dense.float8", LowBits::fp8},
                              {"quantize.dense.mx", LowBits::mxfp8},
                              {"quantize.grouped_mm.float8", LowBits::fp8, true},
                              {"quantize.grouped_mm.mx", LowBits::mxfp8, true},
                              {"quantize.moe.float8", LowBits::fp8, true},
                              {"quantize.moe.mx", LowBits::mxfp8, true}});
/// Float8LinearRecipeName (torchao/float8/config.py).
constexpr auto kRecipes =
    std::to_array<std::string_view>({"tensorwise", "rowwise", "rowwise_with_gw_hp"});

std::optional<LowBits> bits_of(const std::vector<std::string>& names, bool experts) {
  for (const Converter& known : kConverters)
    if (known.experts == experts && std::ranges::find(names, known.name) != names.end())
      return known.bits;
  return std::nullopt;
}

}  // namespace

std::optional<LowBits> Converters::linears() const { return bits_of(names, false); }
std::optional<LowBits> Converters::experts() const { return bits_of(names, true); }

Result<void> check(const Converters& converters, bool compiles, std::int64_t tp) {
  std::vector<std::string_view> known;
  for (const Converter& each : kConverters) known.push_back(each.name);
  for (const std::string& name : converters.names)
    if (std::ranges::find(known, name) == known.end())
      return unsupported(fmt::format("torchtitan's converter {} is not modelled", name),
                         "--strategy: converters", suggestion(name, known));
  const std::string& recipe = converters.float8_recipe;
  if (!recipe.empty() && std::ranges::find(kRecipes, recipe) == kRecipes.end())
    return bad_input(fmt::format("torchao has no recipe {}", recipe),
                     "--strategy: float8_recipe_name", suggestion(recipe, kRecipes));
  if (!recipe.empty() && converters.gathers_float8 && converters.linears() == LowBits::fp8)
    return bad_input("torchtitan gathers in float8 only where no recipe is named",
                     "--strategy: enable_fsdp_float8_all_gather", "false, or no recipe_name");
  if (converters.linears() == LowBits::mxfp8 && compiles && tp > 1)
    return bad_input("torchtitan's mxfp8 has no tensor parallel ranks where blocks are compiled",
                     "--tp", "1, or quantize.linear.float8");
  return {};
}

void read_converters(const Converters& converters, time::TrainSetup& setup) {
  const std::optional<LowBits> linears = converters.linears(), experts = converters.experts();
  if (linears) setup.compute = time::compute_of(*linears);
  if (experts != linears)
    setup.expert_compute = experts ? time::compute_of(*experts) : time::Compute::bf16;
  if (!linears) return;
  const bool gathers = converters.gathers_float8 && setup.zero == 3;
  if (gathers) setup.parameter_bytes = 1;
  setup.casts_by_maximum = true;
  setup.casts_weights = !gathers;
  setup.weights_in_16_bits = converters.float8_recipe == "rowwise_with_gw_hp";
}

}  // namespace memtape::torchtitan
