// SPDX-License-Identifier: Apache-2.0
// A log of any bytes: its messages and figures are found and explained, whatever they say.
#include <cstdint>
#include <string_view>

#include "evidence/explanation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memtape;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (OomMessage& message : oom_messages(text)) explained(std::move(message));
  log_figures(text);
  return 0;
}
