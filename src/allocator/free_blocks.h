// SPDX-License-Identifier: Apache-2.0
// FreeBlocks: the free blocks of one pool and one stream, in the order of PyTorch's best fit: by
// size, then by address.
//
// PyTorch keeps one std::set per pool. Here the order is cut into bins, 16 to each power of two of
// the size, and a bin is a flat vector; a bit per bin says which hold something. A training step
// asks for few distinct sizes, so a bin holds blocks of one size nearly always, and best fit is its
// last entry. Inside a bin entries are sorted downwards, so the lowest of equal blocks, the one to
// take next, stands at the end where removing it moves nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/block.h"

namespace memtape {

class FreeBlocks {
 public:
  /// A place in the order; `bin == kEnd` is behind the last block.
  struct Cursor {
    std::uint32_t bin;
    std::uint32_t index;
  };
  static constexpr std::uint32_t kEnd = 640;

  /// The first block of at least `size` bytes: the smallest, the lowest of equals.
  Cursor lower_bound(Bytes size) const {
    const std::uint32_t bin = bin_of(size);
    const Bin& entries = bins_[bin];
    if (!entries.empty() && entries.front().size >= size) {
      std::size_t i = entries.size() - 1;
      while (entries[i].size < size) --i;
      return {bin, static_cast<std::uint32_t>(i)};
    }
    return first_from(bin + 1);
  }
  Cursor begin() const { return first_from(0); }
  Cursor next(Cursor c) const {
    return c.index > 0 ? Cursor{c.bin, c.index - 1} : first_from(c.bin + 1);
  }
  /// The one before `c`, or the end when there is none.
  Cursor previous(Cursor c) const;

  static bool is_end(Cursor c) { return c.bin >= kEnd; }
  Block* at(Cursor c) const { return bins_[c.bin][c.index].block; }

  void insert(Block* block) {
    const std::uint32_t bin = bin_of(block->size);
    Bin& entries = bins_[bin];
    occupied_[bin / 64] |= std::uint64_t{1} << (bin % 64);
    const Entry entry{block->size, block->address, block};
    if (entries.empty() || before(entry, entries.back())) {
      entries.push_back(entry);
      return;
    }
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(position(entries, entry)), entry);
  }

  void erase(Cursor c) {
    Bin& entries = bins_[c.bin];
    entries.erase(entries.begin() + c.index);
    if (entries.empty()) occupied_[c.bin / 64] &= ~(std::uint64_t{1} << (c.bin % 64));
  }
  void erase(const Block* block) { erase(find(block)); }
  Cursor find(const Block* block) const {
    const std::uint32_t bin = bin_of(block->size);
    const Entry entry{block->size, block->address, nullptr};
    return {bin, static_cast<std::uint32_t>(position(bins_[bin], entry))};
  }

  std::size_t size() const;

 private:
  struct Entry {
    Bytes size;
    Address address;
    Block* block;
  };
  using Bin = std::vector<Entry>;

  static bool before(const Entry& a, const Entry& b) {
    return a.size != b.size ? a.size < b.size : a.address < b.address;
  }

  /// Bins follow the leading five bits of the size in units of 512 bytes: exact below 16 KiB, then
  /// 16 to an octave.
  static std::uint32_t bin_of(Bytes size) {
    const auto units = static_cast<std::uint64_t>(size) / kMinBlockSize;
    if (units < 32) return static_cast<std::uint32_t>(units);
    const auto shift = static_cast<std::uint32_t>(std::bit_width(units)) - 5;
    return shift * 16 + static_cast<std::uint32_t>(units >> shift);
  }

  /// How many entries of the bin come after `entry` in best-fit order, which is its index.
  static std::size_t position(const Bin& entries, const Entry& entry) {
    std::size_t low = 0, count = entries.size();
    while (count > 0) {
      const std::size_t half = count / 2;
      const bool right = before(entry, entries[low + half]);
      low = right ? low + half + 1 : low;
      count = right ? count - half - 1 : half;
    }
    return low;
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

  std::array<Bin, kEnd> bins_;
  std::array<std::uint64_t, kEnd / 64> occupied_{};
};

}  // namespace memtape
