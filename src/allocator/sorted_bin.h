// SPDX-License-Identifier: Apache-2.0
// SortedBin: free blocks of nearly one size, from the last in best-fit order down to the first, in
// one flat array with room at both ends. The next to take stands at the back; what comes or goes
// elsewhere moves the shorter side.
//
//     [ . . . | 2.0 MiB @90  2.0 MiB @70  1.9 MiB @80 | . . ]
//             begin                       next to take
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "allocator/block.h"

namespace memtape {

struct FreeEntry {
  Bytes size = 0;
  Address address = 0;
  Block* block = nullptr;
  std::uint32_t order = 0;

  /// Best-fit order: by size, then by the order of equals, then by address.
  bool before(const FreeEntry& other) const {
    if (size != other.size) return size < other.size;
    return order != other.order ? order < other.order : address < other.address;
  }
};

class SortedBin {
 public:
  bool empty() const { return begin_ == end_; }
  std::size_t size() const { return end_ - begin_; }
  const FreeEntry& operator[](std::size_t i) const { return entries_[begin_ + i]; }
  const FreeEntry& front() const { return entries_[begin_]; }
  const FreeEntry& back() const { return entries_[end_ - 1]; }

  /// How many entries come after `entry` in best-fit order: its index here.
  std::size_t position(const FreeEntry& entry) const {
    if (empty() || entry.before(back())) return size();
    if (entry.address == back().address) return size() - 1;
    const FreeEntry* first = entries_.get() + begin_;
    std::size_t count = size();
    while (count > 0) {
      const std::size_t half = count / 2;
      const bool behind = entry.before(first[half]);
      first = behind ? first + half + 1 : first;
      count = behind ? count - half - 1 : half;
    }
    return static_cast<std::size_t>(first - entries_.get()) - begin_;
  }

  void insert(const FreeEntry& entry) {
    if (begin_ == 0 || end_ == capacity_) make_room();
    const std::size_t index = position(entry);
    if (index == size())
      entries_[end_++] = entry;
    else
      insert_at(begin_ + index, entry);
  }

  void erase(std::size_t index) {
    if (index + 1 == size())
      --end_;
    else
      erase_at(begin_ + index);
  }

 private:
  void insert_at(std::size_t i, const FreeEntry& entry) {
    FreeEntry* at = entries_.get();
    if (2 * i >= begin_ + end_) {
      std::copy_backward(at + i, at + end_, at + end_ + 1);
      ++end_;
      at[i] = entry;
    } else {
      std::copy(at + begin_, at + i, at + begin_ - 1);
      --begin_;
      at[i - 1] = entry;
    }
  }

  void erase_at(std::size_t i) {
    FreeEntry* at = entries_.get();
    if (2 * i + 1 >= begin_ + end_) {
      std::copy(at + i + 1, at + end_, at + i);
      --end_;
    } else {
      std::copy_backward(at + begin_, at + i, at + i + 1);
      ++begin_;
    }
  }

  /// Puts the entries into the middle, of a larger array unless half of this one is free.
  void make_room() {
    const std::size_t count = size();
    const std::size_t capacity =
        std::max(kLeast, 2 * count < capacity_ ? capacity_ : 2 * capacity_);
    auto entries = std::make_unique<FreeEntry[]>(capacity);
    const std::size_t begin = (capacity - count) / 2;
    std::copy(entries_.get() + begin_, entries_.get() + end_, entries.get() + begin);
    entries_ = std::move(entries);
    capacity_ = capacity;
    begin_ = begin;
    end_ = begin + count;
  }

  static constexpr std::size_t kLeast = 8;

  std::unique_ptr<FreeEntry[]> entries_;
  std::size_t begin_ = 0, end_ = 0, capacity_ = 0;
};

}  // namespace memtape
