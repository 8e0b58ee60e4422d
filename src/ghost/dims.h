// SPDX-License-Identifier: Apache-2.0
// Dims: the sizes or strides of a tensor, at most kMaxRank of them, without allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace memtape::ghost {

class Dims {
 public:
  static constexpr int kMaxRank = 7;

  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) {
    for (std::int64_t v : values) push_back(v);
  }
  static Dims filled(int rank, std::int64_t value) {
    Dims d;
    for (int i = 0; i < rank; ++i) d.push_back(value);
    return d;
  }

  int rank() const { return rank_; }
  /// Python's indexing: -1 is the last.
  std::int64_t& operator[](int i) {
    return values_[static_cast<std::size_t>(i < 0 ? i + rank_ : i)];
  }
  std::int64_t operator[](int i) const {
    return values_[static_cast<std::size_t>(i < 0 ? i + rank_ : i)];
  }
  std::int64_t back() const { return (*this)[-1]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }

  void push_back(std::int64_t v) { values_[static_cast<std::size_t>(rank_++)] = v; }
  void pop_back() { --rank_; }
  void insert(int at, std::int64_t v) {
    ++rank_;
    for (int i = rank_ - 1; i > at; --i) (*this)[i] = (*this)[i - 1];
    (*this)[at] = v;
  }
  void erase(int at) {
    for (int i = at; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
    --rank_;
  }
  /// All but the last.
  Dims leading() const {
    Dims d = *this;
    d.pop_back();
    return d;
  }
  /// These, followed by `last`.
  Dims with(std::int64_t last) const {
    Dims d = *this;
    d.push_back(last);
    return d;
  }

  bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (values_[static_cast<std::size_t>(i)] != other.values_[static_cast<std::size_t>(i)])
        return false;
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

/// Product of the sizes; saturates at the largest int64 so that an absurd shape is seen as too
/// large, never as small.
std::int64_t numel(const Dims& sizes);

/// Strides of a densely packed tensor, last dimension fastest.
Dims contiguous_strides(const Dims& sizes);

/// Whether a tensor of these sizes and strides is packed, last dimension fastest (sizes of 1 may
/// have any stride).
bool is_contiguous(const Dims& sizes, const Dims& strides);

/// Whether it fills its memory without gaps or overlap in some order of dimensions.
bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides);

/// `d` within [0, rank).
constexpr int wrap(int d, int rank) { return d < 0 ? d + rank : d; }

}  // namespace memtape::ghost
