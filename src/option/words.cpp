// SPDX-License-Identifier: Apache-2.0
#include "option/words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/letter_case.h"
#include "option/value.h"

namespace memtape::option {

const Option kHelp{"--help -h", "", "this text"};

namespace {

bool is_number(std::string_view word) {
  return word.size() > 1 && word.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && !is_number(word);
}

/// Python's way to say a switch.
std::optional<bool> truth(std::string_view word) {
  const std::string value = lower_case(std::string(word));
  if (value == "true") return true;
  return value == "false" ? std::optional(false) : std::nullopt;
}

class WordReader {
 public:
  WordReader(const Syntax& syntax, Arguments arguments) : syntax_(syntax), left_(arguments) {
    const bool takes_many = std::ranges::any_of(syntax.operands, &Operand::is_many);
    most_operands_ = takes_many ? std::string::npos : syntax.operands.size();
    required_ =
        static_cast<std::size_t>(std::ranges::count_if(syntax.operands, &Operand::is_required));
    words_.table = syntax.table;
    if (!syntax.takes_tail) return;
    const auto dashes = std::ranges::find(arguments, std::string_view("--"));
    left_ = {arguments.begin(), dashes};
    if (dashes != arguments.end()) words_.tail.assign(dashes + 1, arguments.end());
  }

  Result<Words> read() && {
    while (!left_.empty() && !problem_) next();
    return std::move(*this).finish();
  }

  Result<Words> read_values(std::vector<std::string> operands,
                            std::span<const GivenValue> given) && {
    for (const std::string& word : operands) operand(word);
    for (const GivenValue& one : given)
      if (!one.is_absent) value_given(one);
    return std::move(*this).finish();
  }

 private:
  Result<Words> finish() && {
    if (words_.asks_help) return std::move(words_);
    for (const std::optional<Error>& error : {unknown_, extra_, problem_})
      if (error) return tl::unexpected(*error);
    if (words_.operands.size() < required_)
      return tl::unexpected(mistake(
          syntax_, fmt::format("{} is required", syntax_.operands[words_.operands.size()].name)));
    if (const std::optional<Error> twice = said_twice()) return tl::unexpected(*twice);
    return std::move(words_);
  }

  /// By any of its names. A truth, where the first of that name takes none, is meant for the one
  /// that does: for transformers' gradient_checkpointing, not --gradient-checkpointing.
  const Option* option_given(const GivenValue& given) const {
    const bool is_truth =
        given.truth || (given.texts.size() == 1 && truth(given.texts.front()).has_value());
    const Option* first = nullptr;
    for (const Option* option : syntax_.table) {
      const bool is_it = any_word(option->spellings, [&](std::string_view spelling) {
        return is_same_name(spelling.substr(spelling.find_first_not_of('-')), given.name);
      });
      if (is_it && (!is_truth || !option->needs_value())) return option;
      if (is_it && !first) first = option;
    }
    return first;
  }

  void value_given(const GivenValue& given) {
    const Option* option = option_given(given);
    if (!option) {
      std::string name = "--" + given.name;
      std::ranges::replace(name, '_', '-');
      return refuse(name);
    }
    const bool one_text = given.texts.size() == 1;
    const std::optional<bool> on =
        given.truth || !option->is_switch() || !one_text ? given.truth : truth(given.texts.front());
    if (option->is_switch()) {
      if (!on) return fail(fmt::format("--{} takes no value", option->name()));
      if (*on) words_.typed.push_back({option, "true"});
    } else if (on) {
      const bool may_be_bare = !option->needs_value();
      words_.typed.push_back({option, *on && may_be_bare ? "" : *on ? "true" : "false"});
    } else if (given.is_list && !option->repeatable) {
      words_.typed.push_back({option, fmt::format("{}", fmt::join(given.texts, ","))});
    } else {
      for (const std::string& text : given.texts) words_.typed.push_back({option, text});
    }
  }

  void next() {
    const std::string_view word = take();
    if (!looks_like_option(word)) return operand(word);
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : std::string_view::npos;
    const std::string_view name = word.substr(0, equals);
    const Option* option = find(syntax_.table, name);
    if (!option) return refuse(name);
    if (option->is_spelled("--help")) {
      words_.asks_help = true;
      return;
    }
    equals == std::string_view::npos ? value_of(*option, name)
                                     : value_of(*option, name, word.substr(equals + 1));
  }

  void operand(std::string_view word) {
    if (words_.operands.size() < most_operands_)
      words_.operands.emplace_back(word);
    else if (!extra_)
      extra_ = mistake(syntax_, fmt::format("one argument too many: {}", word),
                       std::string(syntax_.too_many));
  }

  void refuse(std::string_view typed) {
    if (unknown_) return;
    if (syntax_.unknown) unknown_ = syntax_.unknown(typed);
    if (unknown_) return;
    unknown_ = mistake(syntax_, fmt::format("unknown option {}", typed));
    if (std::string meant = operand_meant(typed); !meant.empty())
      unknown_->hint = std::move(meant);
    else if (std::string near = near_option(syntax_.table, typed); !near.empty())
      unknown_->hint = std::move(near);
  }

  /// What stands without an option of its own, where people type one: "" if it is no such word.
  std::string operand_meant(std::string_view typed) const {
    const auto found = std::ranges::find_if(syntax_.operands, [&](const Operand& o) {
      return any_word(o.meant, [&](std::string_view word) { return is_same_name(word, typed); });
    });
    if (found == syntax_.operands.end()) return "";
    std::string usage(syntax_.command);
    for (std::size_t i = 0; i < syntax_.operands.size(); ++i) {
      const bool typed_before = i < words_.operands.size();
      usage += " ";
      usage += typed_before ? words_.operands[i] : syntax_.operands[i].name;
    }
    return fmt::format("the {} has no option of its own: memtape {}",
                       lower_case(std::string(found->name)), usage);
  }

  /// "--name=value"
  void value_of(const Option& option, std::string_view name, std::string_view value) {
    const bool may_be_off = std::holds_alternative<OnOff>(option.kind);
    if (option.is_switch() && !may_be_off) return fail(fmt::format("{} takes no value", name));
    if (value.empty() && option.needs_value()) return fail(fmt::format("{} needs a value", name));
    words_.typed.push_back({&option, std::string(value)});
  }

  void value_of(const Option& option, std::string_view name) {
    std::string value;
    if (option.needs_value()) {
      if (left_.empty()) return fail(fmt::format("{} needs a value", name));
      value = take();
    } else if (option.is_switch()) {
      value = "true";
      if (const auto on =
              syntax_.truths_follow && !left_.empty() ? truth(left_.front()) : std::nullopt) {
        take();
        if (!*on) return;
      }
    } else if (!left_.empty() && !looks_like_option(left_.front()) &&
               left_.size() > required_ - std::min(required_, words_.operands.size())) {
      value = take();
      if (value.empty() && !syntax_.takes_empty) return fail(fmt::format("{} needs a value", name));
    }
    words_.typed.push_back({&option, std::move(value)});
  }

  void fail(std::string what) { problem_ = mistake(syntax_, std::move(what)); }

  std::string_view take() {
    const std::string_view word = left_.front();
    left_ = left_.subspan(1);
    return word;
  }

  /// Which of two values is meant cannot be known. What may come without a value is another
  /// program's, whose parser takes the last.
  std::optional<Error> said_twice() const {
    for (std::size_t i = 0; i < words_.typed.size(); ++i) {
      const auto& [option, value] = words_.typed[i];
      if (option->repeatable || (!option->is_switch() && !option->needs_value())) continue;
      for (std::size_t j = i + 1; j < words_.typed.size(); ++j)
        if (words_.typed[j].option == option && words_.typed[j].value != value)
          return Error{ErrorKind::bad_input,
                       fmt::format("is given twice, as {} and {}", value, words_.typed[j].value),
                       fmt::format("--{}", option->name()), "leave out one of them"};
    }
    return std::nullopt;
  }

  const Syntax& syntax_;
  Arguments left_;
  std::size_t most_operands_ = 0, required_ = 0;
  Words words_;
  std::optional<Error> unknown_, extra_, problem_;
};

}  // namespace

const std::string* Words::find(std::string_view name) const {
  const auto at = std::find_if(typed.rbegin(), typed.rend(),
                               [&](const Typed& one) { return one.option->name() == name; });
  return at == typed.rend() ? nullptr : &at->value;
}

std::string Words::text(std::string_view name, std::string_view otherwise) const {
  const std::string* value = find(name);
  return value ? *value : std::string(otherwise);
}

std::string Words::text_or_default(std::string_view name) const {
  const Option* option = named(table, name);
  return text(name, option ? option->default_text : "");
}

std::optional<std::int64_t> Words::whole(std::string_view name) const {
  const Option* option = named(table, name);
  const Result<Value> value =
      option ? memtape::option::read(*option, text_or_default(name)) : Result<Value>();
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number ? std::optional(*number) : std::nullopt;
}

std::string Words::operand(std::size_t index) const {
  return index < operands.size() ? operands[index] : "";
}

Result<void> check_values(const Words& words, std::span<const Option> own) {
  for (const Option& option : own)
    for (const Typed& one : words.typed)
      if (one.option == &option)
        if (const Result<Value> value = read(option, one.value); !value)
          return tl::unexpected(value.error());
  return {};
}

Result<Words> read_words(const Syntax& syntax, Arguments arguments) {
  return WordReader(syntax, arguments).read();
}

Result<Words> read_values(const Syntax& syntax, std::vector<std::string> operands,
                          std::span<const GivenValue> given) {
  return WordReader(syntax, {}).read_values(std::move(operands), given);
}

std::vector<std::string> as_arguments(const Words& words) {
  std::vector<std::string> all = words.operands;
  for (const auto& [option, value] : words.typed) {
    const std::string name(option->spellings.substr(0, option->spellings.find(' ')));
    const bool may_be_bare = !option->is_switch() && !option->needs_value();
    if (may_be_bare && value == "false") {
      all.push_back(name + "=false");
      continue;
    }
    all.push_back(name);
    if (!option->is_switch() && !(may_be_bare && value.empty())) all.push_back(value);
  }
  return all;
}

Error mistake(const Syntax& syntax, std::string what, std::string hint) {
  if (hint.empty()) hint = fmt::format("see memtape {} --help", syntax.command);
  return {ErrorKind::bad_input, std::move(what), std::string(syntax.command), std::move(hint)};
}

NamedValues in_table_order(const Words& words, const Table& table) {
  NamedValues values;
  for (const Option* option : table) {
    const std::size_t first = values.size();
    for (const Typed& one : words.typed) {
      if (one.option != option) continue;
      if (!option->repeatable) values.resize(first);
      values.emplace_back(option->name(), one.value);
    }
  }
  return values;
}

}  // namespace memtape::option
