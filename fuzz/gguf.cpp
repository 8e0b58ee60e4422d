// SPDX-License-Identifier: Apache-2.0
// A GGUF file of any bytes: refused, or a header whose tensors have sizes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memtape;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = read_gguf(MemoryBytes(bytes, "fuzz.gguf"));
  if (!header) return 0;
  for (const auto& [name, tensor] : header->tensors)
    for (const std::int64_t n : tensor.ne)
      if (n <= 0) std::abort();
  return 0;
}
