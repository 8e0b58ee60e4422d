// SPDX-License-Identifier: Apache-2.0
#include "formats/shell.h"

#include <algorithm>
#include <cctype>

#include "base/typed_number.h"

namespace memtape {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Reads a script one character at a time; quotes hide what separates words and commands.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<std::vector<std::string>> split() {
    for (; at_ < text_.size(); ++at_) next();
    end_command();
    return std::move(commands_);
  }

 private:
  void next() {
    const char c = text_[at_];
    if (quote_ != '\'' && text_.substr(at_).starts_with("$(")) return substitution();
    if (quote_ != 0) return quoted(c);
    if (c == '\\') return escaped();
    if (c == '\'' || c == '"') {
      quote_ = c;
      in_word_ = true;
    } else if (c == '#' && !in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      end_command();
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
    } else {
      add(c);
    }
  }

  /// $(...), whose words belong to another command.
  void substitution() {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      add(c);
      if (c == '(') ++depth;
      if (c == ')' && --depth == 0) return;
    }
  }

  void quoted(char c) {
    if (c == quote_)
      quote_ = 0;
    else if (c == '\\' && quote_ == '"' && at_ + 1 < text_.size() &&
             std::string_view("\"\\$`\n").find(text_[at_ + 1]) != std::string_view::npos)
      escaped();
    else
      add(c);
  }

  /// A backslash before a line's end joins the lines.
  void escaped() {
    if (++at_ < text_.size() && text_[at_] != '\n') add(text_[at_]);
  }

  void add(char c) {
    word_ += c;
    in_word_ = true;
  }
  void end_word() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }
  void end_command() {
    end_word();
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char quote_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<std::string> words_;
  std::vector<std::vector<std::string>> commands_;
};

/// A variable as it stands after its dollar: how long it is there, and what it becomes.
struct Reference {
  std::size_t length = 0;
  std::optional<std::string> value;
};

Reference braced(std::string_view text, const Lookup& lookup) {
  const std::size_t end = text.find('}');
  if (end == std::string_view::npos) return {};
  const std::string_view inside = text.substr(1, end - 1);
  std::size_t name = 0;
  while (name < inside.size() && is_name(inside[name])) ++name;
  std::optional<std::string> value = lookup(inside.substr(0, name));
  const std::string_view rest = inside.substr(name);
  if (rest.starts_with(":-") && (!value || value->empty())) value = rest.substr(2);
  if (rest.starts_with("-") && !value) value = rest.substr(1);
  return {end + 1, value};
}

Reference reference(std::string_view text, const Lookup& lookup) {
  if (text.starts_with('$')) return {1, "$"};
  if (text.starts_with('{')) return braced(text, lookup);
  std::size_t length = 0;
  while (length < text.size() && is_name(text[length])) ++length;
  if (length == 0) return {};
  return {length, lookup(text.substr(0, length))};
}

}  // namespace

std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::vector<std::string>& command : Splitter(text).split())
    words.insert(words.end(), std::make_move_iterator(command.begin()),
                 std::make_move_iterator(command.end()));
  return words;
}

std::vector<std::vector<std::string>> shell_commands(std::string_view script) {
  return Splitter(script).split();
}

std::optional<std::pair<std::string, std::string>> shell_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 ||
      !std::ranges::all_of(word.substr(0, equals), is_name))
    return std::nullopt;
  return std::pair(std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)));
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain = "_-./:=,+@%^~";
  const auto is_plain = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kPlain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string with_variables(std::string_view text, const Lookup& lookup) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    filled += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    const Reference found = reference(text.substr(1), lookup);
    filled += found.value ? *found.value : std::string(text.substr(0, found.length + 1));
    text.remove_prefix(found.length + 1);
  }
  return filled;
}

std::vector<std::string> directive_words(std::string_view script, std::string_view mark) {
  std::vector<std::string> words;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    if (const std::string_view line = script.substr(0, end); line.starts_with(mark))
      for (std::string& word : shell_words(line.substr(mark.size())))
        words.push_back(std::move(word));
    script.remove_prefix(std::min(end + 1, script.size()));
  }
  return words;
}

std::vector<std::string> filled_words(std::span<const std::string> words,
                                      std::span<const std::string> given, const Lookup& lookup) {
  // "$1" and "${1:-8}" are the words given by their places.
  const Lookup by_place = [&](std::string_view name) -> std::optional<std::string> {
    const auto place = whole_number(name);
    if (!place || *place < 1) return lookup(name);
    const auto at = static_cast<std::size_t>(*place - 1);
    return at < given.size() ? std::optional(given[at]) : std::nullopt;
  };
  std::vector<std::string> filled;
  for (const std::string& word : words) {
    if (word == "$@")
      filled.insert(filled.end(), given.begin(), given.end());
    else
      filled.push_back(with_variables(word, by_place));
  }
  return filled;
}

std::string with_script_folder(std::string_view script, std::string_view folder) {
  std::string filled(script);
  for (const std::string_view form :
       {"$(dirname \"$0\")", "$(dirname $0)", "$(dirname \"${BASH_SOURCE[0]}\")"})
    for (std::size_t at = 0; (at = filled.find(form, at)) != std::string::npos; at += folder.size())
      filled.replace(at, form.size(), folder);
  return filled;
}

}  // namespace memtape
