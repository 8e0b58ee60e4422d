// SPDX-License-Identifier: Apache-2.0
#include "report/pickle_writer.h"

#include <limits>

namespace memtape::report {
namespace {

// Opcodes, under the names of Python's Lib/pickle.py.
constexpr char kProto = '\x80', kMark = '(', kStop = '.', kEmptyDict = '}', kEmptyList = ']';
constexpr char kTrue = '\x88', kFalse = '\x89', kTuple2 = '\x86';
constexpr char kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kLong1 = '\x8a';
constexpr char kShortText = '\x8c', kText = 'X', kMemoize = '\x94', kGet = 'h', kLongGet = 'j';
constexpr char kProtocol = 4;

}  // namespace

PickleWriter::PickleWriter() {
  op(kProto);
  op(kProtocol);
}

void PickleWriter::little_endian(std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
}

void PickleWriter::before_value() {
  if (open_.empty() || open_.back().marked) return;
  op(kMark);
  open_.back().marked = true;
}

void PickleWriter::after_value() {
  if (open_.empty()) return;
  Open& o = open_.back();
  // A dict's keys and values both count, and a batch is even, so that a key never parts from its
  // value.
  if (++o.values % kBatch != 0) return;
  op(o.closing);
  o.marked = false;
}

void PickleWriter::begin_dict() {
  before_value();
  op(kEmptyDict);
  open_.push_back({kSetItems});
}

void PickleWriter::begin_list() {
  before_value();
  op(kEmptyList);
  open_.push_back({kAppends});
}

PickleWriter::Memo PickleWriter::end(char closing, bool remember) {
  if (open_.back().marked) op(closing);
  open_.pop_back();
  if (remember) op(kMemoize);
  const Memo memo = remember ? memos_++ : 0;
  after_value();
  return memo;
}

void PickleWriter::get(Memo memo) {
  const bool is_short = memo <= std::numeric_limits<std::uint8_t>::max();
  op(is_short ? kGet : kLongGet);
  little_endian(memo, is_short ? 1 : 4);
}

void PickleWriter::recall(Memo memo) {
  before_value();
  get(memo);
  after_value();
}

void PickleWriter::new_text(std::string_view value) {
  const bool is_short = value.size() <= std::numeric_limits<std::uint8_t>::max();
  op(is_short ? kShortText : kText);
  little_endian(value.size(), is_short ? 1 : 4);
  bytes_ += value;
}

void PickleWriter::text(std::string_view value) {
  before_value();
  const auto [at, fresh] = texts_.try_emplace(std::string(value), memos_);
  if (fresh) {
    new_text(value);
    op(kMemoize);
    ++memos_;
  } else {
    get(at->second);
  }
  after_value();
}

void PickleWriter::put(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value <= 0xFF) {
    op(kBinInt1);
    little_endian(bits, 1);
  } else if (value >= 0 && value <= 0xFFFF) {
    op(kBinInt2);
    little_endian(bits, 2);
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    op(kBinInt);
    little_endian(bits, 4);
  } else {
    op(kLong1);
    op(8);
    little_endian(bits, 8);
  }
}

void PickleWriter::integer(std::int64_t value) {
  before_value();
  put(value);
  after_value();
}

void PickleWriter::boolean(bool value) {
  before_value();
  op(value ? kTrue : kFalse);
  after_value();
}

void PickleWriter::pair(std::int64_t first, std::int64_t second) {
  before_value();
  put(first);
  put(second);
  op(kTuple2);
  after_value();
}

std::string PickleWriter::take() && {
  op(kStop);
  return std::move(bytes_);
}

}  // namespace memtape::report
