// SPDX-License-Identifier: Apache-2.0
#include "evidence/pickle_machine.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace memtape {
namespace {

constexpr std::size_t kStepsBetweenChecks = 8192;
constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kLongestText = std::size_t{64} << 20;
/// What may be kept beside twice what was read: small files are allowed what they like.
constexpr std::size_t kAlwaysAllowed = std::size_t{256} << 20;

/// Opcodes by their letters in Python's pickle.py.
enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kNone = 'N',
  kTrue = 0x88,
  kFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kShortBinBytes = 'C',
  kBinBytes = 'B',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kAppend = 'a',
  kAppends = 'e',
  kSetItem = 's',
  kSetItems = 'u',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kMemoize = 0x94,
  kProto = 0x80,
  kFrame = 0x95,
};

struct RefusedOpcode {
  std::uint8_t code;
  std::string_view name;
};
constexpr std::array<RefusedOpcode, 12> kRefused{{{'c', "GLOBAL"},
                                                  {0x93, "STACK_GLOBAL"},
                                                  {'R', "REDUCE"},
                                                  {'b', "BUILD"},
                                                  {'i', "INST"},
                                                  {'o', "OBJ"},
                                                  {0x81, "NEWOBJ"},
                                                  {0x92, "NEWOBJ_EX"},
                                                  {'P', "PERSID"},
                                                  {'Q', "BINPERSID"},
                                                  {0x82, "EXT1"},
                                                  {0x83, "EXT2"}}};

}  // namespace

PickleMachine::PickleMachine(ByteStream& stream, PickleObjects& objects)
    : stream_(stream), objects_(objects), window_(kWindow) {
  at_ = end_ = window_.data();
}

bool PickleMachine::refill(std::size_t count) {
  const auto left = static_cast<std::size_t>(end_ - at_);
  before_ += static_cast<std::size_t>(at_ - window_.data());
  if (count > window_.size()) {
    if (count > kLongestText) return false;
    std::vector<char> larger(count);
    std::memcpy(larger.data(), at_, left);
    window_ = std::move(larger);
  } else {
    std::memmove(window_.data(), at_, left);
  }
  at_ = window_.data();
  std::size_t filled = left;
  while (filled < count) {
    const std::size_t got = stream_.read(window_.data() + filled, window_.size() - filled);
    if (got == 0) break;
    filled += got;
  }
  end_ = window_.data() + filled;
  return filled >= count;
}

std::uint64_t PickleMachine::little_endian(int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(at_[i])) << (8 * i);
  at_ += bytes;
  return value;
}

PickleMachine::Step PickleMachine::fail(std::string what) {
  problem_ = std::move(what);
  return Step::failed;
}

PickleMachine::Step PickleMachine::refuse(std::uint8_t opcode) {
  for (const RefusedOpcode& refused : kRefused)
    if (refused.code == opcode)
      return fail(fmt::format("the opcode {}, which would run code of the file", refused.name));
  return fail(fmt::format("0x{:02x}, which is no opcode of plain data", opcode));
}

PickleMachine::Step PickleMachine::text(int length_bytes, bool is_text) {
  if (!need(static_cast<std::size_t>(length_bytes))) return Step::ended;
  const std::uint64_t length = little_endian(length_bytes);
  if (length > kLongestText) return fail(fmt::format("a text of {} bytes", length));
  if (!need(length)) return Step::ended;
  const std::string_view words(at_, length);
  at_ += length;
  return push(is_text ? objects_.text(words) : PickleValue(PickleValue::Kind::other, 0));
}

PickleMachine::Step PickleMachine::long_integer(int length_bytes) {
  if (!need(static_cast<std::size_t>(length_bytes))) return Step::ended;
  const std::uint64_t length = little_endian(length_bytes);
  if (length > 4096) return fail(fmt::format("a number of {} bytes", length));
  if (!need(length)) return Step::ended;
  if (length > 8) {
    at_ += length;
    return push(PickleValue(PickleValue::Kind::other, 0));
  }
  std::uint64_t bits = little_endian(static_cast<int>(length));
  if (length > 0 && length < 8 && (bits >> (8 * length - 1)) != 0) bits |= ~0ULL << (8 * length);
  return push(PickleValue::integer(static_cast<std::int64_t>(bits)));
}

PickleMachine::Step PickleMachine::step_number(std::uint8_t opcode) {
  const std::size_t bytes = opcode == kBinInt    ? 4
                            : opcode == kBinInt1 ? 1
                            : opcode == kBinInt2 ? 2
                                                 : 8;
  if (!need(bytes)) return Step::ended;
  const std::uint64_t bits = little_endian(static_cast<int>(bytes));
  if (opcode == kBinFloat) return push(PickleValue(PickleValue::Kind::real, 0));
  const std::int64_t number = opcode == kBinInt
                                  ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))
                                  : static_cast<std::int64_t>(bits);
  return push(PickleValue::integer(number));
}

PickleMachine::Step PickleMachine::remember(std::size_t index) {
  if (stack_.empty()) return fail("a memo of nothing");
  if (index > offset()) return fail(fmt::format("memo entry {} of fewer objects", index));
  if (index >= memo_.size()) memo_.resize(index + 1);
  memo_[index] = stack_.back();
  return Step::next;
}

PickleMachine::Step PickleMachine::recall(std::size_t index) {
  if (index >= memo_.size())
    return fail(fmt::format("memo entry {}, where {} are known", index, memo_.size()));
  return push(memo_[index]);
}

PickleMachine::Step PickleMachine::step_memo(std::uint8_t opcode) {
  if (opcode == kMemoize) return remember(memo_.size());
  const bool is_long = opcode == kLongBinGet || opcode == kLongBinPut;
  if (!need(is_long ? 4 : 1)) return Step::ended;
  const std::size_t index = little_endian(is_long ? 4 : 1);
  return opcode == kBinGet || opcode == kLongBinGet ? recall(index) : remember(index);
}

PickleMachine::Step PickleMachine::append_items() {
  if (marks_.empty()) return fail("APPENDS without a mark");
  const std::size_t first = marks_.back();
  marks_.pop_back();
  if (first == 0 || !stack_[first - 1].is(PickleValue::Kind::list))
    return fail("APPENDS to what is no list");
  objects_.append(stack_[first - 1], std::span(stack_).subspan(first));
  stack_.resize(first);
  return Step::next;
}

PickleMachine::Step PickleMachine::set_items() {
  if (marks_.empty()) return fail("SETITEMS without a mark");
  const std::size_t first = marks_.back();
  marks_.pop_back();
  if (first == 0 || !stack_[first - 1].is(PickleValue::Kind::dict))
    return fail("SETITEMS of what is no dict");
  if ((stack_.size() - first) % 2 != 0) return fail("SETITEMS of a key without a value");
  objects_.set_items(stack_[first - 1], std::span(stack_).subspan(first));
  stack_.resize(first);
  return Step::next;
}

PickleMachine::Step PickleMachine::tuple(std::size_t count) {
  const std::size_t least = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() < least + count) return fail("a tuple of more than there is");
  const PickleValue made = objects_.tuple(std::span(stack_).last(count));
  stack_.resize(stack_.size() - count);
  return push(made);
}

PickleMachine::Step PickleMachine::step_container(std::uint8_t opcode) {
  const std::size_t free = stack_.size() - (marks_.empty() ? 0 : marks_.back());
  switch (opcode) {
    case kEmptyDict: return push(objects_.new_dict());
    case kEmptyList: return push(objects_.new_list());
    case kAppend:
      if (free < 2 || !stack_[stack_.size() - 2].is(PickleValue::Kind::list))
        return fail("APPEND to what is no list");
      objects_.append(stack_[stack_.size() - 2], std::span(stack_).last(1));
      stack_.pop_back();
      return Step::next;
    case kSetItem:
      if (free < 3 || !stack_[stack_.size() - 3].is(PickleValue::Kind::dict))
        return fail("SETITEM of what is no dict");
      objects_.set_items(stack_[stack_.size() - 3], std::span(stack_).last(2));
      stack_.resize(stack_.size() - 2);
      return Step::next;
    case kTuple: {
      if (marks_.empty()) return fail("TUPLE without a mark");
      const std::size_t first = marks_.back();
      marks_.pop_back();
      return tuple(stack_.size() - first);
    }
    default:
      return tuple(opcode == kEmptyTuple ? 0 : static_cast<std::size_t>(opcode - kTuple1 + 1));
  }
}

PickleMachine::Step PickleMachine::step_text(std::uint8_t opcode) {
  switch (opcode) {
    case kShortBinUnicode: return text(1, true);
    case kBinUnicode: return text(4, true);
    case kBinUnicode8: return text(8, true);
    case kShortBinBytes: return text(1, false);
    case kBinBytes: return text(4, false);
    case kLong1: return long_integer(1);
    default: return long_integer(4);
  }
}

std::size_t PickleMachine::quick_steps() {
  constexpr std::size_t kMost = 4096;
  constexpr std::ptrdiff_t kLongest = 8;
  const auto byte = [&](int i) { return static_cast<std::uint8_t>(at_[i]); };
  for (std::size_t steps = 0; steps < kMost; ++steps) {
    if (end_ - at_ < kLongest) return steps;
    switch (byte(0)) {
      case kBinGet:
        if (byte(1) >= memo_.size()) return steps;
        stack_.push_back(memo_[byte(1)]);
        at_ += 2;
        break;
      case kLongBinGet: {
        std::uint32_t index = 0;
        std::memcpy(&index, at_ + 1, sizeof index);
        if (index >= memo_.size()) return steps;
        stack_.push_back(memo_[index]);
        at_ += 5;
        break;
      }
      case kMemoize:
        if (stack_.empty()) return steps;
        memo_.push_back(stack_.back());
        ++at_;
        break;
      case kBinInt1:
        stack_.push_back(PickleValue::integer(byte(1)));
        at_ += 2;
        break;
      case kBinInt2:
        stack_.push_back(PickleValue::integer(byte(1) | byte(2) << 8));
        at_ += 3;
        break;
      case kBinInt: {
        std::int32_t number = 0;
        std::memcpy(&number, at_ + 1, sizeof number);
        stack_.push_back(PickleValue::integer(number));
        at_ += 5;
        break;
      }
      case kMark:
        marks_.push_back(stack_.size());
        ++at_;
        break;
      default: return steps;
    }
  }
  return kMost;
}

PickleMachine::Step PickleMachine::step() {
  if (!need(1)) return Step::ended;
  opcode_at_ = offset();
  const auto opcode = static_cast<std::uint8_t>(*at_++);
  switch (opcode) {
    case kBinGet:
    case kLongBinGet:
    case kBinPut:
    case kLongBinPut:
    case kMemoize: return step_memo(opcode);
    case kBinInt:
    case kBinInt1:
    case kBinInt2:
    case kBinFloat: return step_number(opcode);
    case kEmptyDict:
    case kEmptyList:
    case kEmptyTuple:
    case kTuple:
    case kTuple1:
    case kTuple2:
    case kTuple3:
    case kAppend:
    case kSetItem: return step_container(opcode);
    case kLong1:
    case kLong4:
    case kShortBinUnicode:
    case kBinUnicode:
    case kBinUnicode8:
    case kShortBinBytes:
    case kBinBytes: return step_text(opcode);
    case kSetItems: return set_items();
    case kAppends: return append_items();
    case kMark: marks_.push_back(stack_.size()); return Step::next;
    case kNone: return push({});
    case kTrue:
    case kFalse: return push({PickleValue::Kind::boolean, opcode == kTrue ? 1 : 0});
    case kProto:
    case kFrame:
      if (!need(opcode == kProto ? 1 : 8)) return Step::ended;
      at_ += opcode == kProto ? 1 : 8;
      return Step::next;
    case kStop: return Step::stop;
    default: return refuse(opcode);
  }
}

/// The file broke off: what is open is closed with what it has, innermost first.
void PickleMachine::close_what_is_open() {
  for (;;) {
    const std::size_t first = marks_.empty() ? 0 : marks_.back();
    if (first > 0) {
      const std::span<const PickleValue> items = std::span(stack_).subspan(first);
      if (stack_[first - 1].is(PickleValue::Kind::list)) objects_.append(stack_[first - 1], items);
      if (stack_[first - 1].is(PickleValue::Kind::dict)) close_dict(stack_[first - 1], items);
      stack_.resize(first);
    }
    if (marks_.empty()) return;
    marks_.pop_back();
  }
}

/// Keys and values as far as they go. A list of one item has no mark of its own: the item stands
/// behind it.
void PickleMachine::close_dict(PickleValue dict, std::span<const PickleValue> items) {
  std::vector<PickleValue> pairs;
  for (const PickleValue& item : items) {
    const bool wants_key = pairs.size() % 2 == 0;
    if (wants_key && !item.is(PickleValue::Kind::text)) {
      if (!pairs.empty() && pairs.back().is(PickleValue::Kind::list))
        objects_.append(pairs.back(), std::span(&item, 1));
      continue;
    }
    pairs.push_back(item);
  }
  if (pairs.size() % 2 != 0) pairs.pop_back();
  objects_.set_items(dict, pairs);
}

Result<PickleEnd> PickleMachine::run() {
  for (std::size_t unchecked = 0;;) {
    unchecked += 1 + quick_steps();
    const Step result = step();
    if (result == Step::next) {
      if (unchecked < kStepsBetweenChecks) continue;
      unchecked = 0;
      const std::size_t kept = objects_.bytes() + (stack_.capacity() + memo_.capacity()) * 8 +
                               marks_.capacity() * sizeof(std::size_t);
      if (kept <= kAlwaysAllowed + 2 * offset()) continue;
      problem_ = fmt::format("what was read so far takes {} of memory",
                             human_bytes(static_cast<Bytes>(kept)));
    }
    const std::size_t read = offset();
    if (result == Step::stop && !stack_.empty()) return PickleEnd{stack_.back(), true, read};
    if (result == Step::stop) problem_ = "the end of a pickle that holds nothing";
    if (!problem_.empty())
      return bad_input(problem_, fmt::format("byte {}", opcode_at_),
                       "a pickle of torch.cuda.memory._snapshot()");
    close_what_is_open();
    if (stack_.empty())
      return bad_input("ends before anything is said", fmt::format("byte {}", read),
                       "a pickle of torch.cuda.memory._snapshot()");
    return PickleEnd{stack_.front(), false, read};
  }
}

}  // namespace memtape
