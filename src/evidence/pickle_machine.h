// SPDX-License-Identifier: Apache-2.0
// PickleMachine: the stack machine of Python's pickles, protocols 2 to 5, for the opcodes that make
// plain data: dicts, lists, tuples, texts and numbers. An opcode that imports, calls or builds
// anything ends the reading with its name, so nothing in a file is ever executed.
//
// The machine does not recurse, and the memory it takes is bounded by what it has read: a few bytes
// of a file can only ask for a few bytes of memory. A file that ends early is closed as far as it
// goes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "evidence/byte_stream.h"
#include "evidence/pickle_objects.h"

namespace memtape {

struct PickleEnd {
  PickleValue value;
  bool complete = true;
  std::size_t bytes = 0;  ///< how many bytes were read
};

class PickleMachine {
 public:
  PickleMachine(ByteStream& stream, PickleObjects& objects);

  /// The object of the pickle. An Error says what was found and at which byte.
  Result<PickleEnd> run();

 private:
  enum class Step : std::uint8_t { next, stop, ended, failed };

  /// Makes sure that the window has at least `count` bytes. It returns false at the end of the
  /// stream.
  bool need(std::size_t count) {
    return static_cast<std::size_t>(end_ - at_) >= count || refill(count);
  }
  bool refill(std::size_t count);
  std::size_t offset() const { return before_ + static_cast<std::size_t>(at_ - window_.data()); }
  std::uint64_t little_endian(int bytes);

  /// Runs opcodes of the kinds that most of a snapshot consists of, as long as they lie in the
  /// window as a whole, and returns how many there were. `step` reports whatever is wrong with one.
  std::size_t quick_steps();
  Step step();
  Step step_container(std::uint8_t opcode);
  Step step_number(std::uint8_t opcode);
  Step step_text(std::uint8_t opcode);
  Step step_memo(std::uint8_t opcode);
  Step fail(std::string what);
  Step refuse(std::uint8_t opcode);

  Step text(int length_bytes, bool is_text);
  Step long_integer(int length_bytes);
  Step append_items();
  Step set_items();
  Step tuple(std::size_t count);
  Step remember(std::size_t index);
  Step recall(std::size_t index);
  Step push(PickleValue value) {
    stack_.push_back(value);
    return Step::next;
  }

  void close_what_is_open();
  void close_dict(PickleValue dict, std::span<const PickleValue> items);

  ByteStream& stream_;
  PickleObjects& objects_;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t before_ = 0;  ///< how many bytes lie before the window
  std::size_t opcode_at_ = 0;
  std::vector<PickleValue> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::string problem_;
};

}  // namespace memtape
