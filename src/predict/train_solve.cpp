// SPDX-License-Identifier: Apache-2.0
#include "predict/train_solve.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/dialects.h"
#include "framework/train_arguments.h"
#include "model/json_members.h"

namespace memtape {
namespace {

constexpr auto kQuestions =
    std::to_array<std::string_view>({"micro-batch-size", "sequence-length", "lora-rank", "gpus"});

/// The dialect of the command's framework.
const Dialect& dialect_of_command(const CommandWords& command) {
  const Result<const Framework*> found = framework_named(command.values);
  return dialect_of(found ? *found : nullptr);
}

bool says_lora_config(const CommandWords& command) {
  return last_value(command.values, "peft") != nullptr;
}

/// The LoraConfig that is given, with another rank; a new one where there is none.
std::string with_rank(const CommandWords& command, std::int64_t rank) {
  const std::string* given = last_value(command.values, "peft");
  return with_members(given ? *given : R"({"target_modules": "all-linear"})",
                      NamedValues{{"r", fmt::format("{}", rank)}});
}

class Solver {
 public:
  Solver(const ModelRequest& model, const CommandWords& command, const DeviceSetup& device,
         std::string_view what)
      : model_(model), command_(command), device_(device), what_(what) {
    most_ = what == "gpus" ? 16384 : what == "sequence-length" ? std::int64_t{1} << 24 : 65536;
  }

  Result<SolvedTraining> solve() {
    solved_.what = what_;
    if (const auto found = find_step(); !found) return tl::unexpected(found.error());
    what_ == "gpus" ? fewest() : largest();
    return solved_;
  }

 private:
  NamedValues changes(std::int64_t value) const {
    const std::string number = fmt::format("{}", value);
    const Dialect& dialect = dialect_of_command(command_);
    if (what_ == "micro-batch-size") return {{std::string(dialect.levers.micro_batch), number}};
    if (what_ == "lora-rank" &&
        (dialect.framework.takes.training_arguments || says_lora_config(command_)))
      return {{"peft", with_rank(command_, value)}};
    return {{std::string(what_), number}};
  }

  const VariantAnswer& at(std::int64_t value) {
    const auto known = std::ranges::find(answers_, value, &Known::value);
    if (known != answers_.end()) return known->answer;
    answers_.push_back({value, answer_variant(model_, command_, {changes(value), device_})});
    return answers_.back().answer;
  }
  bool fits(std::int64_t value) { return at(value).fits.value_or(false); }
  bool is_possible(std::int64_t value) { return at(value).is_possible(); }

  /// The least value that is possible at all, of which the others are multiples: layouts cut
  /// sequences and batches.
  Result<void> find_step() {
    constexpr std::int64_t kMostStep = 4096;
    for (step_ = 1; step_ <= kMostStep; step_ *= 2)
      if (is_possible(step_)) return {};
    return bad_input(at(1).failure, fmt::format("--solve {}", what_),
                     "no value up to 4096 is possible");
  }

  void largest() {
    std::int64_t low = 0, high = step_;
    while (high <= most_ && is_possible(high) && fits(high)) low = high, high *= 2;
    if (high > most_ || !is_possible(high)) {
      solved_.limit = low;
      solved_.limit_reason = high > most_ ? "the search ends here" : at(high).failure;
    }
    // Between them all but the impossible.
    while (high - low > step_) {
      const std::int64_t middle = low + (high - low) / step_ / 2 * step_;
      (fits(middle) ? low : high) = middle;
    }
    if (low > 0) settle(low);
    if (!is_possible(high)) return;
    solved_.limit = 0;
    solved_.beyond = high;
    solved_.at_beyond = at(high);
    for (const std::int64_t times : {1, 2, 3, 4, 6, 8}) look(high + times * step_);
    for (const std::int64_t eighths : {9, 10, 12, 14, 16}) look(high * eighths / 8 / step_ * step_);
  }

  void fewest() {
    std::int64_t low = 0, high = step_;
    while (high <= most_ && !fits(high)) low = high, high *= 2;
    if (high > most_) {
      solved_.beyond = low;
      solved_.at_beyond = at(low);
      return;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (fits(middle) ? high : low) = middle;
    }
    settle(high);
    if (low == 0) return;
    solved_.beyond = low;
    solved_.at_beyond = at(low);
    for (std::int64_t fewer = 1; fewer < high; fewer = std::max(fewer + 1, fewer * 5 / 4))
      if (fewer != low) look(fewer);
  }

  void settle(std::int64_t value) {
    solved_.value = value;
    solved_.changes = changes(value);
    solved_.at_value = at(value);
  }

  void look(std::int64_t value) {
    if (value == solved_.beyond || value == solved_.value || value > most_) return;
    if (is_possible(value) && fits(value) &&
        std::ranges::find(solved_.also_fit, value) == solved_.also_fit.end())
      solved_.also_fit.push_back(value);
  }

  struct Known {
    std::int64_t value;
    VariantAnswer answer;
  };

  const ModelRequest& model_;
  const CommandWords& command_;
  const DeviceSetup& device_;
  const std::string_view what_;
  std::int64_t most_ = 0, step_ = 1;
  std::vector<Known> answers_;
  SolvedTraining solved_;
};

}  // namespace

Result<SolvedTraining> solve_training(const ModelRequest& model, const CommandWords& command,
                                      const DeviceSetup& device, std::string_view what) {
  if (std::ranges::find(kQuestions, what) == kQuestions.end())
    return bad_input(fmt::format("unusable value \"{}\"", what), "--solve",
                     suggestion(what, kQuestions));
  if (!device.total_bytes()) return bad_input("needs a GPU to fit", "--solve", "--gpu NAME");
  return Solver(model, command, device, what).solve();
}

}  // namespace memtape
