// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <cctype>
#include <charconv>
#include <cstddef>
#include <functional>
#include <limits>

namespace memtape {
namespace {

constexpr int kMostSteps = 100'000;
constexpr int kDeepestMatch = 2'000;

using Rest = std::function<bool(std::size_t)>;

bool is_digit_sign(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word_sign(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space_sign(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// \d, \w, \s and their opposites, or a sign that stands for itself.
bool matches_escape(char escape, char c) {
  switch (escape) {
    case 'd': return is_digit_sign(c);
    case 'D': return !is_digit_sign(c);
    case 'w': return is_word_sign(c);
    case 'W': return !is_word_sign(c);
    case 's': return is_space_sign(c);
    case 'S': return !is_space_sign(c);
    default: return escape == c;
  }
}

/// How often a piece is repeated.
struct Repetition {
  std::size_t least = 1, most = 1;
  std::size_t end = 0;  ///< of the expression up to here, its sign included
};
constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

/// Searches by continuations: each piece of the expression gets what has to match behind it.
class Matcher {
 public:
  Matcher(std::string_view expression, std::string_view text) : p_(expression), t_(text) {}

  /// A match from `at` on, up to the end of the text or to anywhere.
  std::optional<bool> run(std::size_t at, bool to_the_end) {
    const bool matched = alternatives(
        0, p_.size(), at, [&](std::size_t end) { return !to_the_end || end == t_.size(); });
    if (unreadable_) return std::nullopt;
    return matched;
  }

 private:
  /// The first `|` of p[from, to) outside groups and classes, or `to`.
  std::size_t next_bar(std::size_t from, std::size_t to) {
    while (from < to && p_[from] != '|') from = end_of_piece(from, to);
    return from;
  }

  /// Behind the literal, escape, class or group at `from`; a sign of repetition is a piece, too.
  std::size_t end_of_piece(std::size_t from, std::size_t to) {
    const char c = p_[from];
    if (c == '\\') return from + 2 <= to && can_escape(p_[from + 1]) ? from + 2 : unreadable(to);
    if (c == '[') return end_of_class(from, to);
    if (c != '(') return c == ')' ? unreadable(to) : from + 1;
    std::size_t at = from + 1;
    while (at < to && p_[at] != ')') at = end_of_piece(at, to);
    return at < to ? at + 1 : unreadable(to);
  }

  /// Numbers would be groups that matched before, other letters are signs that no name has.
  static bool can_escape(char c) {
    return !std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("dDwWsSbB").find(c) != std::string_view::npos;
  }

  std::size_t end_of_class(std::size_t from, std::size_t to) {
    std::size_t at = from + 1;
    if (at < to && p_[at] == '^') ++at;
    for (bool first = true; at < to && (first || p_[at] != ']'); first = false)
      at += p_[at] == '\\' ? 2 : 1;
    return at < to ? at + 1 : unreadable(to);
  }

  bool alternatives(std::size_t from, std::size_t to, std::size_t at, const Rest& rest) {
    const std::size_t bar = next_bar(from, to);
    if (bar == to) return sequence(from, to, at, rest);
    return sequence(from, bar, at, rest) || alternatives(bar + 1, to, at, rest);
  }

  bool sequence(std::size_t from, std::size_t to, std::size_t at, const Rest& rest) {
    if (gives_up()) return false;
    ++depth_;
    const bool matched = from == to ? rest(at) : piece_and_rest(from, to, at, rest);
    --depth_;
    return matched;
  }

  bool piece_and_rest(std::size_t from, std::size_t to, std::size_t at, const Rest& rest) {
    if (std::string_view("*+?{").find(p_[from]) != std::string_view::npos)
      return unreadable(0) != 0;
    const std::size_t end = end_of_piece(from, to);
    const Repetition repetition = repetition_at(end, to);
    if (unreadable_) return false;
    const Rest behind = [&](std::size_t next) { return sequence(repetition.end, to, next, rest); };
    return repeated(from, end, at, repetition, behind);
  }

  /// The sign behind a piece, if one is there; a `?` behind it changes only the order of the search.
  Repetition repetition_at(std::size_t at, std::size_t to) {
    const char sign = at < to ? p_[at] : '\0';
    Repetition found{1, 1, at};
    if (sign == '*') found = {0, kAnyNumber, at + 1};
    if (sign == '+') found = {1, kAnyNumber, at + 1};
    if (sign == '?') found = {0, 1, at + 1};
    if (sign == '{') found = counts_at(at, to);
    if (found.end != at && found.end < to && p_[found.end] == '?') ++found.end;
    return found;
  }

  /// {3}, {3,} or {3,5}
  Repetition counts_at(std::size_t at, std::size_t to) {
    const char *next = p_.data() + at + 1, *end = p_.data() + to;
    Repetition found;
    const auto least = std::from_chars(next, end, found.least);
    found.most = found.least;
    next = least.ptr;
    if (next != end && *next == ',') {
      found.most = kAnyNumber;
      next = std::from_chars(next + 1, end, found.most).ptr;
    }
    const bool is_read = least.ec == std::errc() && next != end && *next == '}';
    found.end = static_cast<std::size_t>(next - p_.data()) + 1;
    if (!is_read || found.most < found.least) found.end = unreadable(at);
    return found;
  }

  bool repeated(std::size_t from, std::size_t end, std::size_t at, Repetition left,
                const Rest& behind) {
    if (left.least == 1 && left.most == 1) return one(from, end, at, behind);
    if (left.least == 0 && behind(at)) return true;
    if (left.most == 0) return false;
    return one(from, end, at, [&](std::size_t next) {
      if (next == at && left.least == 0) return false;  // an empty match leads nowhere
      const Repetition less{left.least - (left.least > 0 ? 1 : 0),
                            left.most - (left.most != kAnyNumber ? 1 : 0), left.end};
      return less.most == 0 ? behind(next) : repeated(from, end, next, less, behind);
    });
  }

  bool one(std::size_t from, std::size_t end, std::size_t at, const Rest& rest) {
    if (gives_up()) return false;
    const char c = p_[from];
    if (c == '(') return group(from, end, at, rest);
    if (c == '^') return at == 0 && rest(at);
    if (c == '$') return at == t_.size() && rest(at);
    if (c == '\\' && (p_[from + 1] == 'b' || p_[from + 1] == 'B'))
      return is_edge(at) == (p_[from + 1] == 'b') && rest(at);
    if (at == t_.size()) return false;
    ++depth_;
    const bool matched = matches_sign(from, end, t_[at]) && rest(at + 1);
    --depth_;
    return matched;
  }

  /// (...), (?:...), and looking ahead: (?=...) and (?!...).
  bool group(std::size_t from, std::size_t end, std::size_t at, const Rest& rest) {
    const std::string_view kind = p_.substr(from + 1, 2);
    if (!kind.starts_with('?')) return alternatives(from + 1, end - 1, at, rest);
    if (kind == "?:") return alternatives(from + 3, end - 1, at, rest);
    if (kind != "?=" && kind != "?!") return unreadable(0) != 0;
    const bool follows = alternatives(from + 3, end - 1, at, [](std::size_t) { return true; });
    return !unreadable_ && follows == (kind == "?=") && rest(at);
  }

  /// Whether a word begins or ends here.
  bool is_edge(std::size_t at) const {
    const bool before = at > 0 && is_word_sign(t_[at - 1]);
    const bool behind = at < t_.size() && is_word_sign(t_[at]);
    return before != behind;
  }

  bool matches_sign(std::size_t from, std::size_t end, char c) const {
    if (p_[from] == '.') return c != '\n';
    if (p_[from] == '\\') return matches_escape(p_[from + 1], c);
    if (p_[from] == '[') return in_class(from + 1, end - 1, c);
    return p_[from] == c;
  }

  bool in_class(std::size_t from, std::size_t to, char c) const {
    const bool negated = p_[from] == '^';
    bool found = false;
    for (std::size_t at = from + (negated ? 1 : 0); at < to; ++at) {
      if (p_[at] == '\\') {
        found |= matches_escape(p_[++at], c);
      } else if (at + 2 < to && p_[at + 1] == '-') {
        found |= p_[at] <= c && c <= p_[at + 2];
        at += 2;
      } else {
        found |= p_[at] == c;
      }
    }
    return found != negated;
  }

  bool gives_up() {
    if (++steps_ > kMostSteps || depth_ > kDeepestMatch) unreadable_ = true;
    return unreadable_;
  }

  std::size_t unreadable(std::size_t at) {
    unreadable_ = true;
    return at;
  }

  std::string_view p_, t_;
  int steps_ = 0, depth_ = 0;
  bool unreadable_ = false;
};

}  // namespace

std::optional<bool> full_match(std::string_view expression, std::string_view text) {
  return Matcher(expression, text).run(0, true);
}

std::optional<bool> match_at_start(std::string_view expression, std::string_view text) {
  return Matcher(expression, text).run(0, false);
}

std::optional<bool> search(std::string_view expression, std::string_view text) {
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::optional<bool> found = Matcher(expression, text).run(at, false);
    if (!found || *found) return found;
  }
  return false;
}

}  // namespace memtape
