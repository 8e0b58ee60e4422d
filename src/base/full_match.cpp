// SPDX-License-Identifier: Apache-2.0
#include "base/full_match.h"

#include <cctype>
#include <cstddef>
#include <functional>

namespace memtape {
namespace {

constexpr int kMostSteps = 100'000;
constexpr int kDeepestMatch = 2'000;

using Rest = std::function<bool(std::size_t)>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit_class(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// \d, \w, \s, or a sign that stands for itself.
bool matches_escape(char escape, char c) {
  switch (escape) {
    case 'd': return is_digit_class(c);
    case 'D': return !is_digit_class(c);
    case 'w': return is_word(c);
    case 'W': return !is_word(c);
    default: return escape == c;
  }
}

/// Searches by continuations: each piece of the pattern gets what has to match behind it.
class Matcher {
 public:
  Matcher(std::string_view pattern, std::string_view text) : p_(pattern), t_(text) {}

  std::optional<bool> run() {
    const bool matched =
        alternatives(0, p_.size(), 0, [this](std::size_t at) { return at == t_.size(); });
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
    if (c == '\\') return from + 2 <= to ? from + 2 : unreadable(to);
    if (c == '[') return end_of_class(from, to);
    if (c != '(') return c == ')' ? unreadable(to) : from + 1;
    std::size_t at = from + 1;
    while (at < to && p_[at] != ')') at = end_of_piece(at, to);
    return at < to ? at + 1 : unreadable(to);
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
    if (unreadable_ || ++steps_ > kMostSteps || depth_ > kDeepestMatch) return unreadable(0) != 0;
    ++depth_;
    const bool matched = from == to ? rest(at) : piece_and_rest(from, to, at, rest);
    --depth_;
    return matched;
  }

  bool piece_and_rest(std::size_t from, std::size_t to, std::size_t at, const Rest& rest) {
    if (std::string_view("*+?{").find(p_[from]) != std::string_view::npos)
      return unreadable(0) != 0;
    const std::size_t end = end_of_piece(from, to);
    const Rest behind = [&](std::size_t next) { return sequence(end, to, next, rest); };
    if (end == to) return one(from, end, at, behind);
    const char sign = p_[end];
    if (sign == '{') return unreadable(0) != 0;
    if (sign != '*' && sign != '+' && sign != '?') return one(from, end, at, behind);
    const Rest behind_sign = [&](std::size_t next) { return sequence(end + 1, to, next, rest); };
    if (sign == '?') return behind_sign(at) || one(from, end, at, behind_sign);
    if (sign == '*') return many(from, end, at, behind_sign);
    return one(from, end, at, [&](std::size_t next) { return many(from, end, next, behind_sign); });
  }

  bool many(std::size_t from, std::size_t end, std::size_t at, const Rest& rest) {
    if (rest(at)) return true;
    return one(from, end, at,
               [&](std::size_t next) { return next != at && many(from, end, next, rest); });
  }

  bool one(std::size_t from, std::size_t end, std::size_t at, const Rest& rest) {
    if (unreadable_ || ++steps_ > kMostSteps || depth_ > kDeepestMatch) return unreadable(0) != 0;
    const char c = p_[from];
    if (c == '(') {
      const bool silent = p_.substr(from + 1, 2) == "?:";
      if (!silent && p_[from + 1] == '?') return unreadable(0) != 0;
      return alternatives(from + (silent ? 3 : 1), end - 1, at, rest);
    }
    if (c == '^') return at == 0 && rest(at);
    if (c == '$') return at == t_.size() && rest(at);
    if (at == t_.size()) return false;
    ++depth_;
    const bool matched = matches_sign(from, end, t_[at]) && rest(at + 1);
    --depth_;
    return matched;
  }

  bool matches_sign(std::size_t from, std::size_t end, char c) {
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

  std::size_t unreadable(std::size_t at) {
    unreadable_ = true;
    return at;
  }

  std::string_view p_, t_;
  int steps_ = 0, depth_ = 0;
  bool unreadable_ = false;
};

}  // namespace

std::optional<bool> full_match(std::string_view pattern, std::string_view text) {
  return Matcher(pattern, text).run();
}

}  // namespace memtape
