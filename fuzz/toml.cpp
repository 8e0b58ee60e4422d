// SPDX-License-Identifier: Apache-2.0
// Any bytes as TOML: read or refused, and what was read can be said as JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/toml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto document = memtape::read_toml(text, "f"))
    static_cast<void>(memtape::to_json(*document).size());
  return 0;
}
