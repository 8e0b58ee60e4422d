// SPDX-License-Identifier: Apache-2.0
#include "formats/step_tape.h"

#include <charconv>

namespace memtape {
namespace {

/// Takes the next word off the front of `line`.
std::string_view next_word(std::string_view& line) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) return line = {};
  const std::size_t end = line.find(' ', start);
  const std::string_view word =
      line.substr(start, end == std::string_view::npos ? end : end - start);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end);
  return word;
}

bool number(std::string_view word, std::int64_t& into) {
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), into);
  return error == std::errc() && at == word.data() + word.size() && into >= 0 && !word.empty();
}

std::string unquoted_word(std::string_view word) {
  return word == "-" ? std::string() : std::string(word);
}

bool parse_line(std::string_view line, StepTapeEvent& event) {
  const std::string_view sign = next_word(line);
  event.is_alloc = sign == "+";
  if (!event.is_alloc && sign != "-") return false;
  if (!number(next_word(line), event.number)) return false;
  if (!event.is_alloc) return next_word(line).empty();
  if (!number(next_word(line), event.bytes)) return false;
  event.place = unquoted_word(next_word(line));
  event.op = unquoted_word(next_word(line));
  event.node = unquoted_word(next_word(line));
  return next_word(line).empty();
}

}  // namespace

Result<std::vector<StepTapeEvent>> parse_step_tape(std::string_view text, std::string_view where) {
  std::vector<StepTapeEvent> events;
  std::int64_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (line.empty() || line.front() == '#') continue;
    StepTapeEvent event;
    if (!parse_line(line, event))
      return bad_input("not an event of a step tape",
                       std::string(where) + ":" + std::to_string(line_number),
                       "\"+ NUMBER BYTES PLACE OP NODE\" or \"- NUMBER\"");
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace memtape
