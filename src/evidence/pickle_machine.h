// SPDX-License-Identifier: Apache-2.0
// PickleMachine: the stack machine of Python's pickles, protocols 2 to 5, over the opcodes that
// make plain data: dicts, lists, tuples, texts, numbers. An opcode that imports, calls or builds
// anything ends the reading with its name: nothing of a file is ever executed.
//
// The machine does not recurse, and what it keeps is bounded by what it has read: a few bytes of a
// file can ask for a few bytes of memory, never for many. A file that ends early is closed as far
// as it goes.
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
  std::size_t bytes = 0;  ///< how much was read
};

class PickleMachine {
 public:
  PickleMachine(ByteStream& stream, PickleObjects& objects);

  /// The object of the pickle. An Error says what was found at which byte.
  Result<PickleEnd> run();

 private:
  enum class Step : std::uint8_t { next, stop, ended, failed };

  /// At least `count` bytes in the window, or false at the end of the stream.
  bool need(std::size_t count) {
    return static_cast<std::size_t>(end_ - at_) >= count || refill(count);
  }
  bool refill(std::size_t count);
  std::size_t offset() const { return before_ + static_cast<std::size_t>(at_ - window_.data()); }
  std::uint64_t little_endian(int bytes);

  /// The opcodes that most of a snapshot consists of, as many as lie in the window whole; how many
  /// there were. What is wrong with one is left for `step` to say.
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
  std::size_t before_ = 0;  ///< bytes before the window
  std::size_t opcode_at_ = 0;
  std::vector<PickleValue> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::string problem_;
};

}  // namespace memtape
