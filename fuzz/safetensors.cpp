// SPDX-License-Identifier: Apache-2.0
// A safetensors file, and an index, of any bytes: refused, or a list whose tensors fill the data to
// the byte.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memtape;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto list = read_safetensors(MemoryBytes(bytes, "fuzz.safetensors"))) {
    if (list->total_bytes() > static_cast<Bytes>(size)) std::abort();
    for (const StoredTensor& tensor : list->tensors)
      if (tensor.bytes < 0 || tensor.elements() < 0) std::abort();
  }
  if (const auto index = parse_safetensors_index(bytes, "fuzz.index.json")) {
    for (const auto& weight : index->weights)
      if (weight.file >= index->files.size()) std::abort();
    for (const std::string& file : index->files)
      if (file.find('/') != std::string::npos || file.front() == '.') std::abort();
  }
  return 0;
}
