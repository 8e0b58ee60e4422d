// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/hybrid_arguments.h"

#include <algorithm>

#include <fmt/format.h>

namespace memtape::megatron {
namespace {

constexpr std::string_view kModelled = "M*-E";
constexpr std::size_t kMostLayers = 1U << 14U;

Result<void> check_letters(std::string_view letters) {
  for (const char letter : letters)
    if (kModelled.find(letter) == std::string_view::npos)
      return bad_input(fmt::format("layers \"{}\" are not modelled", letter),
                       "--hybrid-layer-pattern",
                       "M (Mamba), * (attention), - (MLP) and E (experts) are");
  return {};
}

Result<void> read_mamba(const Config& c, Arguments& a) {
  MambaArguments& m = a.mamba;
  m.head_dim = c.dimension("mamba_head_dim", 64);
  m.state = c.dimension("mamba_state_dim", 128);
  m.groups = c.dimension("mamba_num_groups", 8);
  m.heads =
      c.dimension("mamba_num_heads", std::max<std::int64_t>(1, 2 * a.hidden_size / m.head_dim));
  const std::int64_t tp = c.dimension("tensor_model_parallel_size", 1);
  for (const auto& [count, what] : {std::pair(m.heads, "heads"), std::pair(m.groups, "groups")})
    if (count % tp != 0)
      return bad_input(fmt::format("{} {} of Mamba do not divide by {}", count, what, tp),
                       "--tensor-model-parallel-size", fmt::format("a divisor of {} would", count));
  if (m.heads % m.groups != 0)
    return bad_input(fmt::format("{} heads do not divide by {} groups", m.heads, m.groups),
                     "--mamba-num-groups", fmt::format("a divisor of {} would", m.heads));
  return {};
}

}  // namespace

Result<void> read_hybrid(const Config& c, Arguments& a, std::string& layout) {
  const std::string pattern = c.text("hybrid_layer_pattern", c.text("hybrid_override_pattern", ""));
  const bool hybrid = a.program == "pretrain_hybrid.py" || a.program == "pretrain_mamba.py";
  if (pattern.empty() && hybrid)
    return bad_input("a hybrid model needs its layers", "--hybrid-layer-pattern",
                     "for example M-M-M*-");
  if (pattern.empty()) return {};
  const std::size_t slash = std::min(pattern.find('/'), pattern.size());
  for (const char letter : pattern.substr(0, slash))
    if (letter == '|')
      layout += letter;
    else
      a.hybrid_layers += letter;
  if (!layout.empty()) {
    layout.clear();
    for (const char letter : pattern.substr(0, slash)) layout += letter == '|' ? '|' : 't';
  }
  if (slash < pattern.size()) {
    const std::string rest = pattern.substr(slash + 1);
    a.mtp_layers = rest.substr(0, rest.find('/'));
    a.mtp_num_layers = std::ranges::count(rest, '/') + 1;
  }
  a.num_layers = static_cast<std::int64_t>(a.hybrid_layers.size());
  if (a.hybrid_layers.empty() || pattern.size() > kMostLayers)
    return bad_input("names no layers, or too many", "--hybrid-layer-pattern",
                     fmt::format("1 to {} would do", kMostLayers));
  for (const std::string_view letters : {a.hybrid_layers, a.mtp_layers})
    if (const auto known = check_letters(letters); !known) return known;
  return read_mamba(c, a);
}

}  // namespace memtape::megatron
