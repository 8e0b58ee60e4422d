// SPDX-License-Identifier: Apache-2.0
// Names as people type them: whatever the bytes, the nearest name is one of the candidates or none.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/dtype.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array<std::string_view, 4> kNames{"bf16", "fp32", "amp-bf16", "amp-fp16"};
  const std::string_view typed(reinterpret_cast<const char*>(data), size);
  const std::string_view best = memtape::nearest(typed, kNames);
  if (!best.empty() && std::ranges::find(kNames, best) == kNames.end()) std::abort();
  if (const auto dtype = memtape::dtype_from_name(typed); dtype && memtape::name(*dtype) == "?")
    std::abort();
  return 0;
}
