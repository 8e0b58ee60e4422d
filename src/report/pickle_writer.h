// SPDX-License-Identifier: Apache-2.0
// PickleWriter: writes Python's pickle, protocol 4, as far as plain values need it. It writes only
// opcodes that PyTorch's own viewer reads (torch/utils/viz/MemoryViz.js, `unpickle`): no classes,
// no code, no frames and nothing of protocol 5. Text that occurs again is written once and fetched
// from the memo, and so are values that the caller asks to remember.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace memtape::report {

class PickleWriter {
 public:
  PickleWriter();

  using Memo = std::uint32_t;

  void begin_dict();
  void end_dict() { end(kSetItems, false); }
  void begin_list();
  void end_list() { end(kAppends, false); }
  /// Ends the list or dict and keeps it for `recall`.
  Memo end_and_remember_dict() { return end(kSetItems, true); }
  Memo end_and_remember_list() { return end(kAppends, true); }
  void recall(Memo memo);

  void key(std::string_view name) { text(name); }
  void text(std::string_view value);
  void integer(std::int64_t value);
  void boolean(bool value);
  void pair(std::int64_t first, std::int64_t second);

  template <class T>
  void member(std::string_view name, T value) {
    key(name);
    if constexpr (std::is_same_v<T, bool>)
      boolean(value);
    else if constexpr (std::is_integral_v<T>)
      integer(static_cast<std::int64_t>(value));
    else
      text(value);
  }

  /// The whole pickle. Everything that was begun must have ended.
  std::string take() &&;

 private:
  static constexpr char kSetItems = 'u', kAppends = 'e';
  /// The viewer passes the values of one APPENDS as arguments of a call, whose number engines
  /// limit. So many small batches are written, as Python's own pickler does (pickle.py,
  /// _BATCHSIZE).
  static constexpr int kBatch = 1000;

  struct Open {
    char closing;
    int values = 0;
    bool marked = false;
  };

  void op(char code) { bytes_ += code; }
  void little_endian(std::uint64_t value, int count);
  void before_value();
  void after_value();
  Memo end(char closing, bool remember);
  void get(Memo memo);
  void put(std::int64_t value);
  void new_text(std::string_view value);

  std::string bytes_;
  std::vector<Open> open_;
  std::unordered_map<std::string, Memo> texts_;
  Memo memos_ = 0;
};

}  // namespace memtape::report
