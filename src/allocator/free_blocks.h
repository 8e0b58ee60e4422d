// SPDX-License-Identifier: Apache-2.0
// FreeBlocks: the free blocks of one pool and one stream, in the order of PyTorch's best fit: by
// size, then by the order of equals that the release has, then by address.
//
// PyTorch keeps one std::set per pool. Here the order is cut into bins, 16 to each power of two of
// the size, and a bin is a flat array; a bit per bin says which hold something. A training step
// asks for few distinct sizes, so a bin holds blocks of one size nearly always, and best fit is its
// last entry. Inside a bin entries are sorted downwards, so the lowest of equal blocks, the one to
// take next, stands at the end where removing it moves nothing.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "allocator/block.h"
#include "allocator/sorted_bin.h"

namespace memtape {

class FreeBlocks {
 public:
  /// A place in the order; `bin == kEnd` is behind the last block.
  struct Cursor {
    std::uint32_t bin;
    std::uint32_t index;
  };
  static constexpr std::uint32_t kEnd = 640;
  static constexpr Address kLowest = std::numeric_limits<Address>::min();

  /// The first block of at least `size` bytes: the smallest, the lowest of equals.
  Cursor lower_bound(Bytes size) const {
    const std::uint32_t bin = bin_of(size);
    const SortedBin& entries = bins_[bin];
    if (entries.empty() || entries.front().size < size) return first_from(bin + 1);
    if (entries.back().size >= size) return {bin, static_cast<std::uint32_t>(entries.size() - 1)};
    const std::size_t fitting = entries.position({size, kLowest, nullptr, 0});
    return {bin, static_cast<std::uint32_t>(fitting - 1)};
  }
  Cursor begin() const { return first_from(0); }
  Cursor next(Cursor c) const {
    return c.index > 0 ? Cursor{c.bin, c.index - 1} : first_from(c.bin + 1);
  }
  /// The block before `c`, or the end if there is none.
  Cursor previous(Cursor c) const;

  static bool is_end(Cursor c) { return c.bin >= kEnd; }
  Block* at(Cursor c) const { return bins_[c.bin][c.index].block; }

  void insert(Block* block) {
    const std::uint32_t bin = bin_of(block->size);
    occupied_[bin / 64] |= std::uint64_t{1} << (bin % 64);
    bins_[bin].insert({block->size, block->address, block, block->order});
  }
  void erase(Cursor c) {
    bins_[c.bin].erase(c.index);
    if (bins_[c.bin].empty()) occupied_[c.bin / 64] &= ~(std::uint64_t{1} << (c.bin % 64));
  }
  void erase(const Block* block) {
    const std::uint32_t bin = bin_of(block->size);
    const std::size_t index =
        bins_[bin].position({block->size, block->address, nullptr, block->order});
    erase(Cursor{bin, static_cast<std::uint32_t>(index)});
  }

  std::size_t size() const;

 private:
  /// Bins follow the leading five bits of the size in units of 512 bytes: exact below 16 KiB, then
  /// 16 to an octave.
  static std::uint32_t bin_of(Bytes size) {
    const auto units = static_cast<std::uint64_t>(size) / kMinBlockSize;
    if (units < 32) return static_cast<std::uint32_t>(units);
    const auto shift = static_cast<std::uint32_t>(std::bit_width(units)) - 5;
    return shift * 16 + static_cast<std::uint32_t>(units >> shift);
  }

  Cursor first_from(std::uint32_t bin) const {
    std::uint32_t word = bin / 64;
    if (word >= occupied_.size()) return {kEnd, 0};
    std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << (bin % 64));
    while (bits == 0) {
      if (++word == occupied_.size()) return {kEnd, 0};
      bits = occupied_[word];
    }
    const auto found = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    return {found, static_cast<std::uint32_t>(bins_[found].size() - 1)};
  }

  std::array<SortedBin, kEnd> bins_;
  std::array<std::uint64_t, kEnd / 64> occupied_{};
};

}  // namespace memtape
