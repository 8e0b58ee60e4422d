// SPDX-License-Identifier: Apache-2.0
#include "evidence/message_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct TracebackLine {
  std::string_view file, function;
  std::int64_t line = 0;
};

/// `File "train.py", line 42, in step`, behind any prefix.
std::optional<TracebackLine> traceback_line(std::string_view line) {
  const std::size_t at = line.find("File \"");
  if (at == line.npos) return std::nullopt;
  const std::string_view rest = line.substr(at + 6);
  const std::size_t quote = rest.find('"');
  if (quote == rest.npos) return std::nullopt;
  constexpr std::string_view kLine = "\", line ";
  if (!rest.substr(quote).starts_with(kLine)) return std::nullopt;
  const std::string_view after = rest.substr(quote + kLine.size());
  std::size_t used = 0;
  const auto number = whole_at(after, &used);
  if (!number) return std::nullopt;
  std::string_view function = after.substr(used);
  function = function.starts_with(", in ") ? trimmed(function.substr(5)) : std::string_view();
  return TracebackLine{rest.substr(0, quote), function, *number};
}

bool is_library(std::string_view file) {
  return file.find("site-packages") != file.npos || file.find("dist-packages") != file.npos ||
         file.find("/lib/python") != file.npos || file.starts_with("<");
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

MessageText::MessageText(std::string_view text) {
  flat_.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    lines_.push_back(line);
    line_starts_.push_back(flat_.size());
    for (const char c : line) {
      if (!is_space(c))
        flat_ += c;
      else if (!flat_.empty() && flat_.back() != ' ')
        flat_ += ' ';
    }
    if (!flat_.empty() && flat_.back() != ' ') flat_ += ' ';
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

std::size_t MessageText::line_of(std::size_t at) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(line_starts_, at) -
                                  line_starts_.begin());
}

std::string MessageText::place_above(std::size_t line) const {
  constexpr std::size_t kFarthest = 12;  // lines between a traceback's last frame and its error
  std::optional<TracebackLine> innermost;
  std::size_t since = 0;
  for (std::size_t i = std::min(line, lines_.size()); i-- > 0;) {
    const auto frame = traceback_line(lines_[i]);
    if (!frame) {
      if (lines_[i].find("Traceback (most recent call last)") != std::string_view::npos) break;
      if (++since > kFarthest) break;
      continue;
    }
    since = 0;
    if (!innermost) innermost = frame;
    if (is_library(frame->file)) continue;
    innermost = frame;
    break;
  }
  if (!innermost) return {};
  return fmt::format("{}:{} {}", base_name(innermost->file), innermost->line, innermost->function);
}

std::optional<Quantity> quantity_after(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  return at == text.npos ? std::nullopt : quantity_at(text.substr(at + phrase.size()));
}

std::optional<Quantity> quantity_before(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  if (at == text.npos) return std::nullopt;
  // Back over the unit, the blank and the number.
  std::size_t from = at;
  while (from > 0 && text[from - 1] != ' ') --from;
  const bool unit_apart = from > 1 && !(text[from] >= '0' && text[from] <= '9');
  if (unit_apart) {
    --from;
    while (from > 0 && text[from - 1] != ' ' && text[from - 1] != '(') --from;
  }
  return quantity_at(text.substr(from, at - from));
}

}  // namespace memtape
