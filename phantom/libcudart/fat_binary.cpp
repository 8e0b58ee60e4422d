// SPDX-License-Identifier: Apache-2.0
#include "libcudart/fat_binary.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace memtape::phantom {
namespace {

// The layout that cuobjdump and LLVM's offloading tools read ("fatbin" container).
constexpr std::uint32_t kWrapperMagic = 0x466243b1, kHeaderMagic = 0xba55ed50;
struct Wrapper {
  std::uint32_t magic, version;
  const char* data;
};
struct Header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  ///< of the entries that follow
};
struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  ///< of the code that follows
  std::uint32_t compressed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t architecture;
};
constexpr std::uint16_t kPtx = 1, kMachineCode = 2;

template <class T>
T read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::vector<int> architectures_of(const void* wrapper) {
  const auto outer = read<Wrapper>(static_cast<const char*>(wrapper));
  if (outer.magic != kWrapperMagic || !outer.data) return {};
  const auto header = read<Header>(outer.data);
  if (header.magic != kHeaderMagic) return {};
  std::vector<int> code, ptx;
  const char* at = outer.data + header.header_bytes;
  for (const char* end = at + header.bytes; at + sizeof(Entry) <= end;) {
    const auto entry = read<Entry>(at);
    if (entry.header_bytes < sizeof(Entry)) break;
    if (entry.kind == kMachineCode) code.push_back(static_cast<int>(entry.architecture));
    if (entry.kind == kPtx) ptx.push_back(static_cast<int>(entry.architecture));
    at += entry.header_bytes + entry.bytes;
  }
  return code.empty() ? ptx : code;
}

int architecture_for(const std::vector<int>& architectures, int capability) {
  int below = 0, of_generation = 0;
  for (const int a : architectures) {
    if (a > capability) continue;
    below = std::max(below, a);
    if (a / 10 == capability / 10) of_generation = std::max(of_generation, a);
  }
  if (of_generation) return of_generation;
  return below ? below : capability;
}

}  // namespace memtape::phantom
