// SPDX-License-Identifier: Apache-2.0
// Any bytes as YAML: read or refused, and what was read can be said as JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/settings.h"
#include "formats/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto documents = memtape::read_yaml_documents(text, "f"))
    for (const memtape::YamlNode& document : *documents)
      static_cast<void>(memtape::to_json(document).size());
  if (const auto settings = memtape::read_settings(text, "f"))
    static_cast<void>(settings->says("bf16"));
  return 0;
}
