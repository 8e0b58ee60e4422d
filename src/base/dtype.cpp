// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <array>

namespace memtape {
namespace {

struct Names {
  DType dtype;
  std::string_view torch, brief, safetensors;
};

constexpr std::array<Names, 13> kNames{{
    {DType::float64, "float64", "fp64", "F64"},
    {DType::float32, "float32", "fp32", "F32"},
    {DType::float16, "float16", "fp16", "F16"},
    {DType::bfloat16, "bfloat16", "bf16", "BF16"},
    {DType::float8_e4m3fn, "float8_e4m3fn", "fp8", "F8_E4M3"},
    {DType::float8_e5m2, "float8_e5m2", "fp8_e5m2", "F8_E5M2"},
    {DType::int64, "int64", "i64", "I64"},
    {DType::int32, "int32", "i32", "I32"},
    {DType::int16, "int16", "i16", "I16"},
    {DType::int8, "int8", "i8", "I8"},
    {DType::uint8, "uint8", "u8", "U8"},
    {DType::boolean, "bool", "b8", "BOOL"},
    {DType::int4, "int4", "i4", "I4"},
}};

}  // namespace

std::string_view name(DType t) {
  for (const Names& n : kNames)
    if (n.dtype == t) return n.torch;
  return "?";
}

std::optional<DType> dtype_from_name(std::string_view text) {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  for (const Names& n : kNames)
    if (text == n.torch || text == n.brief || text == n.safetensors) return n.dtype;
  return std::nullopt;
}

}  // namespace memtape
