// SPDX-License-Identifier: Apache-2.0
#include "ggml/type.h"

#include <algorithm>
#include <array>

namespace memtape::ggml {
namespace {

constexpr std::array kTraits{
    TypeTraits{Type::f32, "f32", 1, 4, false},
    TypeTraits{Type::f16, "f16", 1, 2, false},
    TypeTraits{Type::q4_0, "q4_0", 32, 18, true},
    TypeTraits{Type::q4_1, "q4_1", 32, 20, true},
    TypeTraits{Type::q5_0, "q5_0", 32, 22, true},
    TypeTraits{Type::q5_1, "q5_1", 32, 24, true},
    TypeTraits{Type::q8_0, "q8_0", 32, 34, true},
    TypeTraits{Type::q8_1, "q8_1", 32, 36, true},
    TypeTraits{Type::q2_k, "q2_K", 256, 84, true},
    TypeTraits{Type::q3_k, "q3_K", 256, 110, true},
    TypeTraits{Type::q4_k, "q4_K", 256, 144, true},
    TypeTraits{Type::q5_k, "q5_K", 256, 176, true},
    TypeTraits{Type::q6_k, "q6_K", 256, 210, true},
    TypeTraits{Type::q8_k, "q8_K", 256, 292, true},
    TypeTraits{Type::iq2_xxs, "iq2_xxs", 256, 66, true},
    TypeTraits{Type::iq2_xs, "iq2_xs", 256, 74, true},
    TypeTraits{Type::iq3_xxs, "iq3_xxs", 256, 98, true},
    TypeTraits{Type::iq1_s, "iq1_s", 256, 50, true},
    TypeTraits{Type::iq4_nl, "iq4_nl", 32, 18, true},
    TypeTraits{Type::iq3_s, "iq3_s", 256, 110, true},
    TypeTraits{Type::iq2_s, "iq2_s", 256, 82, true},
    TypeTraits{Type::iq4_xs, "iq4_xs", 256, 136, true},
    TypeTraits{Type::i8, "i8", 1, 1, false},
    TypeTraits{Type::i16, "i16", 1, 2, false},
    TypeTraits{Type::i32, "i32", 1, 4, false},
    TypeTraits{Type::i64, "i64", 1, 8, false},
    TypeTraits{Type::f64, "f64", 1, 8, false},
    TypeTraits{Type::iq1_m, "iq1_m", 256, 56, true},
    TypeTraits{Type::bf16, "bf16", 1, 2, false},
    TypeTraits{Type::tq1_0, "tq1_0", 256, 54, true},
    TypeTraits{Type::tq2_0, "tq2_0", 256, 66, true},
    TypeTraits{Type::mxfp4, "mxfp4", 32, 17, true},
    TypeTraits{Type::nvfp4, "nvfp4", 64, 36, true},
    TypeTraits{Type::q1_0, "q1_0", 128, 18, true},
    TypeTraits{Type::q2_0, "q2_0", 64, 18, true},
};

constexpr std::size_t kNumbers = 43;

constexpr auto kByNumber = [] {
  std::array<std::int8_t, kNumbers> index{};
  index.fill(-1);
  for (std::size_t i = 0; i < kTraits.size(); ++i)
    index[static_cast<std::size_t>(kTraits[i].type)] = static_cast<std::int8_t>(i);
  return index;
}();

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

const TypeTraits& traits(Type type) {
  return kTraits[static_cast<std::size_t>(kByNumber[static_cast<std::size_t>(type)])];
}

std::optional<Type> type_from_number(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(kNumbers)) return std::nullopt;
  const std::int8_t at = kByNumber[static_cast<std::size_t>(number)];
  return at < 0 ? std::nullopt : std::optional(kTraits[static_cast<std::size_t>(at)].type);
}

std::optional<Type> type_from_name(std::string_view name) {
  for (const TypeTraits& t : kTraits)
    if (std::ranges::equal(t.name, name, {}, lower, lower)) return t.type;
  return std::nullopt;
}

}  // namespace memtape::ggml
