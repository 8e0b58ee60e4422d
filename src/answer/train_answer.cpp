// SPDX-License-Identifier: Apache-2.0
#include "answer/train_answer.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "answer/as_family.h"
#include "answer/comparison_table.h"
#include "answer/device_options.h"
#include "answer/exit_code.h"
#include "predict/program.h"
#include "predict/releases_meant.h"
#include "predict/settings.h"
#include "predict/unread_release.h"
#include "report/json.h"

namespace memtape::answer {
namespace {

constexpr auto kQuestions = std::to_array<std::string_view>({"solve", "grid", "compare"});

/// The model that MODEL names, or the one that a launch command describes.
Result<ModelSource> model_source(const RawOptions& options, const Outside& outside) {
  if (options.config.empty()) return outside.model(options.model);
  Result<Config> config = Config::parse(options.config, "the launch command");
  if (!config) return tl::unexpected(config.error());
  ModelSource source;
  source.id = config->text("program", "");
  source.where = "the launch command";
  source.config = std::move(*config);
  return source;
}

/// The command as it was typed, for advice to change.
CommandWords command_words(const RawOptions& options, const TrainRequest& request) {
  CommandWords words{.head = {"memtape"},
                     .typed = options.typed,
                     .tail = options.tail,
                     .values = request.values,
                     .read = request.read};
  if (options.tail.empty()) words.head.insert(words.head.end(), {"train", options.model});
  return words;
}

/// What is asked: the options' meaning, and the model.
struct AskedTraining {
  TrainRequest request;
  ModelSource source;

  ModelRequest model() const {
    return {.id = source.id,
            .config = *source.config,
            .header = source.header ? &*source.header : nullptr};
  }
};

Result<AskedTraining> read(RawOptions options, const Outside& outside) {
  if (std::string part = estimated_part(options.values); !part.empty())
    options.remarks.not_modelled.push_back(std::move(part));
  Result<TrainRequest> request = train_request(options, outside);
  if (!request) return tl::unexpected(request.error());
  Result<ModelSource> source = model_source(options, outside);
  if (source) source = as_asked(*std::move(source), options.values);
  if (!source) return tl::unexpected(source.error());
  if (!source->config)
    return unsupported("a checkpoint without a config.json says nothing about the step",
                       source->where, "put its config.json beside it");
  return AskedTraining{std::move(*request), std::move(*source)};
}

/// What the one who asks wants of the answer, beside its figures.
struct Detail {
  bool trace = false;
  std::size_t largest = 0;
};

Result<OneTraining> predicted(const RawOptions& options, const AskedTraining& asked,
                              const CommandWords& command, Detail detail, const Outside& outside) {
  const auto& [request, source] = asked;
  const ModelRequest model = asked.model();
  Result<TrainAnswer> answer =
      predict_train(model, request.recipe, request.device,
                    {.largest = detail.largest,
                     .trace = detail.trace,
                     .advise = !options.output.quiet || !options.html.empty(),
                     .workers = outside.workers(),
                     .command = &command});
  if (!answer) return tl::unexpected(named_ways(answer.error(), source));
  std::vector<std::string>& warnings = answer->prediction.warnings;
  warnings.insert(warnings.begin(), source.warnings.begin(), source.warnings.end());
  warnings.insert(warnings.end(), options.remarks.warnings.begin(), options.remarks.warnings.end());
  OneTraining all{std::move(*answer), {}};
  if (options.rules)
    if (const auto recipe = resolved(request.recipe, *source.config))
      all.rules = rules_of_thumb(*source.config, *recipe, all.train.prediction);
  return all;
}

Result<OneTraining> recorded(const RawOptions& options, const Outside& outside) {
  if (options.csv || options.rules || options.output.explain || !options.html.empty() ||
      !options.snapshot.empty())
    return unsupported("a recorded step has figures alone", "--real",
                       "memtape run --html for its time line, or --real never");
  Result<TrainAnswer> answer = outside.recorded(options);
  if (!answer) return tl::unexpected(answer.error());
  return OneTraining{std::move(*answer), {}};
}

enum class Real { never, automatic, always };

Result<Real> real_choice(const RawOptions& options) {
  constexpr std::array<std::string_view, 3> kChoices{"never", "auto", "always"};
  const std::string* said = last_value(options.values, "real");
  if (!said) return Real::never;
  const auto found = std::ranges::find(kChoices, *said);
  if (found == kChoices.end())
    return bad_input("unusable value \"" + *said + "\"", "--real", "never, auto or always");
  return static_cast<Real>(found - kChoices.begin());
}

/// Whether the releases that are meant lie outside of those known, or changed the family unread.
bool is_of_unknown_release(const AskedTraining& asked) {
  const TrainRecipe& recipe = asked.request.recipe;
  return !release_warnings(recipe).empty() || !unread_warning(*asked.source.config, recipe).empty();
}

/// Predicted or recorded, as --real says.
Result<OneTraining> predicted_or_recorded(const RawOptions& options,
                                          const Result<AskedTraining>& asked,
                                          const CommandWords& command, Detail detail,
                                          const Outside& outside) {
  const Result<Real> real = real_choice(options);
  if (!real) return tl::unexpected(real.error());
  if (*real == Real::always) return recorded(options, outside);
  Result<OneTraining> answer = asked ? predicted(options, *asked, command, detail, outside)
                                     : Result<OneTraining>(tl::unexpected(asked.error()));
  if (*real == Real::never) return answer;
  const bool is_unknown =
      answer ? is_of_unknown_release(*asked) : answer.error().kind == ErrorKind::unsupported;
  return is_unknown ? recorded(options, outside) : answer;
}

/// What draws or explains one training has nothing to say of many.
Result<void> check_of_many(const RawOptions& options, std::string_view question) {
  const auto refuse = [&](const char* option) {
    return bad_input("is of one training, not of many", option,
                     "leave it out, or --" + std::string(question));
  };
  if (!options.html.empty()) return refuse("--html");
  if (!options.snapshot.empty()) return refuse("--snapshot");
  if (options.csv) return refuse("--csv");
  if (options.rules) return refuse("--rules");
  if (options.output.explain) return refuse("--explain");
  return {};
}

/// The question that the options ask, or "".
Result<std::string_view> only_question(const RawOptions& options) {
  std::string_view asked;
  for (const std::string_view question : kQuestions) {
    if (!last_value(options.values, question)) continue;
    if (!asked.empty())
      return bad_input("is another question than --" + std::string(asked),
                       "--" + std::string(question), "one of them at a time");
    asked = question;
  }
  if (const Result<void> alone = compares_alone("train", options.values); !alone)
    return tl::unexpected(alone.error());
  if (last_value(options.values, "price") && asked != "compare")
    return bad_input("prices are compared", "--price", "--compare GPU,...");
  if (!asked.empty())
    if (const auto fine = check_of_many(options, asked); !fine) return tl::unexpected(fine.error());
  return asked;
}

template <class Answer>
Result<Training> training(Result<Answer> answer) {
  if (!answer) return tl::unexpected(answer.error());
  return Training(std::move(*answer));
}

/// The settings of the command as it is; none where it is refused, which its answer says.
std::vector<Setting> settings_of(const AskedTraining& asked) {
  const Result<TrainRecipe> recipe = resolved(asked.request.recipe, *asked.source.config);
  return recipe ? resolved_settings(*recipe) : std::vector<Setting>{};
}

Result<Training> answer_question(const RawOptions& options, const AskedTraining& asked,
                                 const CommandWords& command, std::string_view what,
                                 const Outside& outside) {
  const ModelRequest model = asked.model();
  const Question question{model,
                          without_questions(command),
                          asked.request.device,
                          outside.workers(),
                          options.output.strict,
                          settings_of(asked)};
  const std::string& value = *last_value(options.values, what);
  if (what == "solve") return training(solution_of(question, value));
  if (what == "grid") return training(grid_of(question, value));
  const std::string* price = last_value(options.values, "price");
  return training(comparison_of(question, value, price ? *price : ""));
}

struct Json {
  std::string operator()(const OneTraining& one) const {
    return report::json(one.train.prediction, one.rules);
  }
  template <class Many>
  std::string operator()(const Many& many) const {
    return json(many);
  }
};

struct Passes {
  bool strict;

  bool operator()(const OneTraining& one) const {
    const Prediction& told = one.train.prediction;
    const VerdictWord verdict = told.verdict.value_or(
        told.fits.value_or(true) ? VerdictWord::fits : VerdictWord::does_not_fit);
    return verdict == VerdictWord::fits || (verdict == VerdictWord::may_not_fit && !strict);
  }
  template <class Many>
  bool operator()(const Many& many) const {
    return many.fits();
  }
};

}  // namespace

Result<Training> answer_train(const RawOptions& options, bool trace, const Outside& outside,
                              std::size_t largest) {
  const Result<AskedTraining> asked = read(options, outside);
  const CommandWords command = asked ? command_words(options, asked->request) : CommandWords{};
  if (asked) {
    const Result<std::string_view> question = only_question(options);
    if (!question) return tl::unexpected(question.error());
    if (!question->empty()) return answer_question(options, *asked, command, *question, outside);
  }
  return training(predicted_or_recorded(options, asked, command, {trace, largest}, outside));
}

std::string json(const Training& training) { return std::visit(Json{}, training); }

int exit_code(const Training& training, bool strict) {
  return std::visit(Passes{strict}, training) ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::answer
