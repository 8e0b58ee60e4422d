// SPDX-License-Identifier: Apache-2.0
#include "answer/train_words.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "answer/fits.h"
#include "answer/given_twice.h"
#include "answer/plan_options.h"
#include "answer/train_options.h"
#include "base/text.h"
#include "workload/training_arguments.h"

namespace memtape::answer {
namespace {

/// An option that may be written, and how many values it takes.
struct KnownOption {
  std::string_view name;
  bool takes_value = true;
  bool needs_value = true;
  bool is_answer = false;  ///< about the answer, not the training
};

KnownOption known_option(const NamedOption& option) {
  return {option.name, !option.value.empty(), true};
}

void add_training_arguments(std::vector<KnownOption>& known) {
  for (const std::string_view name : training_argument_names())
    known.push_back({name, true, false});
}

std::vector<KnownOption> known_options(bool launches) {
  std::vector<KnownOption> known;
  for (const NamedOption& option : train_options()) {
    const bool of_server =
        std::ranges::find(kServerQuestions, option.name) != kServerQuestions.end();
    if (launches && of_server) continue;
    known.push_back(known_option(option));
  }
  if (launches)
    for (const std::string_view name : kServerQuestions)
      known.push_back({name, true, name != "compare"});
  add_training_arguments(known);
  for (const NamedOption& option : answer_options())
    known.push_back({option.name, !option.value.empty(), true, true});
  return known;
}

void add_known(std::span<const NamedOption> options, std::vector<KnownOption>& known) {
  for (const NamedOption& option : options) known.push_back(known_option(option));
}

/// Switches about the answer: what every command has, and `own`.
void add_answers(std::string_view own, std::vector<KnownOption>& known) {
  for (const std::string_view name :
       {std::string_view("json"), std::string_view("quiet"), std::string_view("explain"), own})
    known.push_back({name, false, false, true});
}

/// Of `plan train`: its own, then those of train that it shares.
std::vector<KnownOption> known_plan_options() {
  std::vector<KnownOption> known;
  add_known(plan_options(), known);
  for (const NamedOption& option : train_options())
    if (is_shared_with_plan(option)) known.push_back(known_option(option));
  add_training_arguments(known);
  add_answers("csv", known);
  return known;
}

/// Of a command whose options are one table.
std::vector<KnownOption> known_of(std::span<const NamedOption> options,
                                  std::string_view own_answer) {
  std::vector<KnownOption> known;
  add_known(options, known);
  add_answers(own_answer, known);
  return known;
}

/// A word taken apart at its first '='.
struct OptionWord {
  std::string_view name;
  std::optional<std::string_view> value;
};

OptionWord option_word_of(std::string_view text) {
  text.remove_prefix(2);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool is_number(std::string_view word) {
  return word.size() > 1 && word.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && !is_number(word);
}

class TrainWordReader {
 public:
  /// `names_model`: its first operand is the model.
  TrainWordReader(std::string command, Arguments arguments, std::vector<KnownOption> known,
                  bool names_model)
      : command_(std::move(command)),
        known_(std::move(known)),
        left_(arguments),
        needs_model_(names_model) {}

  Result<RawOptions> read() && {
    while (!left_.empty() && !problem_) next();
    if (unknown_) return tl::unexpected(*unknown_);
    if (extra_) return mistake("one argument too many: " + *extra_);
    if (problem_) return tl::unexpected(*problem_);
    if (needs_model_ && !has_model_) return mistake("MODEL is required");
    if (const auto twice = said_twice(given())) return tl::unexpected<Error>(*twice);
    take_values();
    return std::move(options_);
  }

 private:
  struct Given {
    const KnownOption* option;
    std::string value;
  };

  tl::unexpected<Error> mistake(std::string what) const {
    return bad_input(std::move(what), command_, fmt::format("see memtape {} --help", command_));
  }

  void next() {
    const std::string_view word = left_.front();
    left_ = left_.subspan(1);
    if (!word.starts_with("--") || word.size() == 2) {
      if (is_option(word)) return refuse(word);
      return operand(word);
    }
    const OptionWord split = option_word_of(word);
    auto option = std::ranges::find(known_, split.name, &KnownOption::name);
    if (option == known_.end()) {  // '_' and '-' alike
      std::string dashed(split.name);
      std::ranges::replace(dashed, '_', '-');
      option = std::ranges::find(known_, dashed, &KnownOption::name);
    }
    if (option == known_.end()) return refuse(word.substr(0, word.find('=')));
    given(*option, split);
  }

  void operand(std::string_view word) {
    if (needs_model_ && !has_model_) {
      options_.model = word;
      has_model_ = true;
    } else if (!extra_) {
      extra_ = word;
    }
  }

  void refuse(std::string_view typed) {
    if (unknown_) return;
    std::vector<std::string> names;
    for (const KnownOption& option : known_) names.push_back(fmt::format("--{}", option.name));
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view meant = option_meant(typed);
    const bool is_there = std::ranges::find(candidates, meant) != candidates.end();
    const std::string_view best = is_there ? meant : nearest(typed, candidates);
    unknown_ = Error{ErrorKind::bad_input, fmt::format("unknown option {}", typed), command_,
                     best.empty() ? fmt::format("see memtape {} --help", command_)
                                  : fmt::format("did you mean {}?", best)};
  }

  void given(const KnownOption& option, const OptionWord& word) {
    std::string value;
    if (word.value && !(word.value->empty() && option.needs_value)) {
      value = *word.value;
    } else if (option.takes_value && option.needs_value) {
      if (left_.empty()) {
        problem_ = mistake(fmt::format("--{} needs a value", option.name)).value();
        return;
      }
      value = take();
    } else if (option.takes_value && !left_.empty() && !is_option(left_.front()) &&
               left_.size() > (needs_model_ && !has_model_ ? 1u : 0u)) {
      value = take();
    }
    if (option.is_answer) return answered(option.name, value);
    if (!option.takes_value) value = word.value ? std::string(*word.value) : "true";
    given_.push_back({&option, std::move(value)});
  }

  std::string take() {
    const std::string word = left_.front();
    left_ = left_.subspan(1);
    return word;
  }

  void answered(std::string_view name, const std::string& value) {
    if (name == "html") options_.html = value;
    if (name == "snapshot") options_.snapshot = value;
    if (name == "strict") options_.output.strict = true;
    if (name == "rules") options_.rules = true;
    if (name == "csv") options_.csv = true;
    if (name == "json") options_.output.json = true;
    if (name == "quiet") options_.output.quiet = true;
    if (name == "explain") options_.output.explain = true;
  }

  std::vector<std::pair<std::string, std::string>> given() const {
    std::vector<std::pair<std::string, std::string>> words;
    for (const Given& one : given_) words.emplace_back(one.option->name, one.value);
    return words;
  }

  /// In the order of the table; of an option that does not add up the last.
  void take_values() {
    for (const Given& one : given_)
      options_.typed.emplace_back(one.option->name, one.option->takes_value ? one.value : "");
    for (const KnownOption& option : known_) {
      const auto row = std::ranges::find(train_options(), option.name, &NamedOption::name);
      const bool adds_up = row != train_options().end() && row->repeatable;
      const std::size_t first = options_.values.size();
      for (const Given& one : given_) {
        if (one.option != &option) continue;
        if (!adds_up) options_.values.resize(first);
        options_.values.emplace_back(option.name, one.value);
      }
    }
  }

  std::string command_;
  std::vector<KnownOption> known_;
  Arguments left_;
  bool needs_model_, has_model_ = false;
  RawOptions options_;
  std::vector<Given> given_;
  std::optional<Error> unknown_, problem_;
  std::optional<std::string> extra_;
};

}  // namespace

Result<RawOptions> read_train_words(Arguments arguments) {
  return TrainWordReader("train", arguments, known_options(false), true).read();
}

Result<PlanTrainOptions> read_plan_train_words(Arguments arguments) {
  Result<RawOptions> train =
      TrainWordReader("plan train", arguments, known_plan_options(), true).read();
  if (!train) return tl::unexpected(train.error());
  PlanTrainOptions options{.train = std::move(*train), .values = {}, .output = {}};
  options.output = options.train.output;
  const auto is_own = [](const auto& value) {
    return std::ranges::find(plan_options(), value.first, &NamedOption::name) !=
           plan_options().end();
  };
  std::ranges::copy_if(options.train.values, std::back_inserter(options.values), is_own);
  std::erase_if(options.train.values, is_own);
  std::erase_if(options.train.typed, is_own);
  return options;
}

Result<PlanServeOptions> read_plan_serve_words(Arguments arguments) {
  Result<RawOptions> read =
      TrainWordReader("plan serve", arguments, known_of(plan_serve_options(), "csv"), true).read();
  if (!read) return tl::unexpected(read.error());
  return PlanServeOptions{.model = std::move(read->model),
                          .values = std::move(read->values),
                          .csv = read->csv,
                          .output = read->output};
}

Result<FitsOptions> read_fits_words(Arguments arguments) {
  Result<RawOptions> read =
      TrainWordReader("fits", arguments, known_of(fits_options(), "strict"), false).read();
  if (!read) return tl::unexpected(read.error());
  return FitsOptions{.values = std::move(read->typed), .output = read->output};
}

Result<LaunchOptions> read_launch_words(Arguments before, Arguments launched) {
  Result<RawOptions> given =
      TrainWordReader("-- COMMAND...", before, known_options(true), false).read();
  if (!given) return tl::unexpected(given.error());
  return LaunchOptions{std::move(*given), {launched.begin(), launched.end()}};
}

}  // namespace memtape::answer
