// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/layer_pattern.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace memtape::vllm {
namespace {

constexpr int kMostSteps = 100'000;  ///< backtracking is given up beyond

/// A backtracking matcher: each part of the expression tries what follows it as a continuation.
class Matcher {
 public:
  using Next = std::function<bool(std::size_t)>;

  explicit Matcher(std::string_view name) : name_(name) {}

  bool alternatives(std::string_view expression, std::size_t at, const Next& next) {
    if (++steps_ > kMostSteps) return false;
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < expression.size(); ++i) {
      const char c = expression[i];
      if (c == '\\') ++i;
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c != '|' || depth > 0) continue;
      if (sequence(expression.substr(start, i - start), at, next)) return true;
      start = i + 1;
    }
    return sequence(expression.substr(start), at, next);
  }

 private:
  /// One item, perhaps repeated, then the rest.
  bool sequence(std::string_view rest, std::size_t at, const Next& next) {
    if (++steps_ > kMostSteps) return false;
    if (rest.empty()) return next(at);
    if (rest[0] == '^') return at == 0 && sequence(rest.substr(1), at, next);
    if (rest[0] == '$') return at == name_.size() && sequence(rest.substr(1), at, next);
    const std::size_t length = item_length(rest);
    const std::string_view item = rest.substr(0, length);
    std::string_view after = rest.substr(length);
    const char repeat = after.empty() ? '\0' : after[0];
    if (repeat != '*' && repeat != '+' && repeat != '?')
      return one(item, at, [&](std::size_t end) { return sequence(after, end, next); });
    after.remove_prefix(after.size() > 1 && after[1] == '?' ? 2 : 1);
    return repeated({item, after}, at, {repeat == '+' ? 1 : 0, repeat == '?'}, next);
  }

  struct Parts {
    std::string_view item, after;
  };
  struct Count {
    int least;
    bool once;
  };
  bool repeated(const Parts& parts, std::size_t at, Count count, const Next& next) {
    if (++steps_ > kMostSteps) return false;
    const auto again = [&](std::size_t end) {
      if (end == at && count.least == 0) return false;  // an empty match leads nowhere
      if (count.once) return sequence(parts.after, end, next);
      return repeated(parts, end, {std::max(0, count.least - 1), false}, next);
    };
    if (one(parts.item, at, again)) return true;
    return count.least == 0 && sequence(parts.after, at, next);
  }

  bool one(std::string_view item, std::size_t at, const Next& next) {
    if (item.empty()) return next(at);
    if ((item[0] == '(' && !closed(item, ')')) || (item[0] == '[' && !closed(item, ']')))
      return false;
    if (item[0] == '(') {
      item = item.substr(1, item.size() - 2);
      if (item.starts_with("?:")) item.remove_prefix(2);
      return alternatives(item, at, next);
    }
    return at < name_.size() && accepts(item, name_[at]) && next(at + 1);
  }

  static bool closed(std::string_view item, char by) {
    return item.size() >= 2 && item.back() == by;
  }

  static bool accepts(std::string_view item, char c) {
    if (item == ".") return true;
    if (item[0] == '[') return in_class(item.substr(1, item.size() - 2), c);
    if (item[0] != '\\' || item.size() < 2) return item[0] == c;
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_word = is_digit || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (item[1] == 'd') return is_digit;
    if (item[1] == 'w') return is_word;
    return item[1] == c;
  }
  static bool in_class(std::string_view members, char c) {
    const bool negated = members.starts_with('^');
    if (negated) members.remove_prefix(1);
    bool found = false;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i + 2 < members.size() && members[i + 1] == '-') {
        found |= members[i] <= c && c <= members[i + 2];
        i += 2;
      } else {
        found |= members[i] == c;
      }
    }
    return found != negated;
  }

  /// How much of the expression its first item is.
  static std::size_t item_length(std::string_view text) {
    if (text[0] == '\\') return std::min<std::size_t>(2, text.size());
    if (text[0] != '(' && text[0] != '[') return 1;
    const char open = text[0], close = open == '(' ? ')' : ']';
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == open)
        ++depth;
      else if (text[i] == close && --depth == 0)
        return i + 1;
    }
    return text.size();
  }

  std::string_view name_;
  int steps_ = 0;
};

}  // namespace

bool matches_expression(std::string_view expression, std::string_view name) {
  return Matcher(name).alternatives(expression, 0, [](std::size_t) { return true; });
}

bool matches_shell_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace memtape::vllm
