// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/file_type.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/letter_case.h"
#include "base/text.h"

namespace memtape::llamacpp {
namespace {

struct Row {
  FileType type;
  std::string_view name;
};

constexpr std::array kRows{
    Row{FileType::f32, "F32"},
    Row{FileType::f16, "F16"},
    Row{FileType::q4_0, "Q4_0"},
    Row{FileType::q4_1, "Q4_1"},
    Row{FileType::q8_0, "Q8_0"},
    Row{FileType::q5_0, "Q5_0"},
    Row{FileType::q5_1, "Q5_1"},
    Row{FileType::q2_k, "Q2_K"},
    Row{FileType::q3_k_s, "Q3_K_S"},
    Row{FileType::q3_k_m, "Q3_K_M"},
    Row{FileType::q3_k_l, "Q3_K_L"},
    Row{FileType::q4_k_s, "Q4_K_S"},
    Row{FileType::q4_k_m, "Q4_K_M"},
    Row{FileType::q5_k_s, "Q5_K_S"},
    Row{FileType::q5_k_m, "Q5_K_M"},
    Row{FileType::q6_k, "Q6_K"},
    Row{FileType::iq2_xxs, "IQ2_XXS"},
    Row{FileType::iq2_xs, "IQ2_XS"},
    Row{FileType::q2_k_s, "Q2_K_S"},
    Row{FileType::iq3_xs, "IQ3_XS"},
    Row{FileType::iq3_xxs, "IQ3_XXS"},
    Row{FileType::iq1_s, "IQ1_S"},
    Row{FileType::iq4_nl, "IQ4_NL"},
    Row{FileType::iq3_s, "IQ3_S"},
    Row{FileType::iq3_m, "IQ3_M"},
    Row{FileType::iq2_s, "IQ2_S"},
    Row{FileType::iq2_m, "IQ2_M"},
    Row{FileType::iq4_xs, "IQ4_XS"},
    Row{FileType::iq1_m, "IQ1_M"},
    Row{FileType::bf16, "BF16"},
    Row{FileType::tq1_0, "TQ1_0"},
    Row{FileType::tq2_0, "TQ2_0"},
    Row{FileType::mxfp4_moe, "MXFP4_MOE"},
    Row{FileType::nvfp4, "NVFP4"},
    Row{FileType::q1_0, "Q1_0"},
    Row{FileType::q2_0, "Q2_0"},
};

/// llama-quantize's short names.
constexpr std::array kAliases{Row{FileType::q3_k_m, "Q3_K"}, Row{FileType::q4_k_m, "Q4_K"},
                              Row{FileType::q5_k_m, "Q5_K"}};

}  // namespace

std::string_view name(FileType type) { return std::ranges::find(kRows, type, &Row::type)->name; }

std::optional<FileType> file_type_from_number(std::int64_t number) {
  for (const Row& row : kRows)
    if (static_cast<std::int64_t>(row.type) == number) return row.type;
  return std::nullopt;
}

Result<FileType> file_type_from_name(std::string_view typed) {
  const std::string wanted = upper_case(std::string(typed));
  std::vector<std::string_view> names;
  for (const Row& row : kRows) {
    if (row.name == wanted) return row.type;
    names.push_back(row.name);
  }
  for (const Row& row : kAliases)
    if (row.name == wanted) return row.type;
  return bad_input(fmt::format("unknown file type {}", typed), "--quantize",
                   suggestion(typed, names));
}

}  // namespace memtape::llamacpp
