// SPDX-License-Identifier: Apache-2.0
// `memtape train MODEL`: resolve the model, read the options, predict, report.
#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "predict/program.h"
#include "predict/rules_of_thumb.h"
#include "predict/train.h"
#include "recorded_answer.h"
#include "report/csv.h"
#include "report/explain.h"
#include "report/html.h"
#include "report/json.h"
#include "report/snapshot.h"
#include "report/text.h"
#include "sources/files.h"
#include "sources/model_source.h"
#include "threads.h"
#include "train_questions.h"
#include "train_request.h"

namespace memtape::cli {
namespace {

Result<void> write_files(const RawOptions& options, const TrainAnswer& answer) {
  if (!options.html.empty())
    if (const auto done =
            sources::write_file(options.html, report::html(answer.prediction, *answer.trace));
        !done)
      return done;
  if (!options.snapshot.empty())
    return sources::write_file(options.snapshot, report::snapshot(*answer.trace));
  return {};
}

struct Answer {
  TrainAnswer train;
  std::vector<RuleOfThumb> rules;  ///< where they are asked for
};

void print(const RawOptions& options, const Answer& all, Terminal& terminal) {
  const TrainAnswer& answer = all.train;
  const report::Style style{.colour = terminal.colour()};
  if (options.output.json) return terminal.print(report::json(answer.prediction, all.rules));
  if (options.csv) return terminal.print(report::csv(*answer.trace));
  if (options.output.quiet) return terminal.print(report::quiet_text(answer.prediction));
  terminal.print(report::text(answer.prediction, answer.trace ? &*answer.trace : nullptr,
                              {.width = terminal.width(), .style = style}));
  if (!all.rules.empty())
    terminal.print("\n" + report::rules_of_thumb(all.rules, terminal.width(), style));
  if (options.output.explain)
    terminal.print("\n" + report::explain(answer.prediction, *answer.trace,
                                          {.width = terminal.width(), .style = style}));
}

/// A family that is not there has no step, but its checkpoint still has a size.
Error with_checkpoint_size(Error error, const TensorList& header) {
  error.hint += (error.hint.empty() ? "" : "; ") +
                fmt::format("the weights alone are {} parameters, {}",
                            with_commas(header.total_elements()), gib(header.total_bytes()));
  return error;
}

/// The model that MODEL names, or the one that a launch command describes.
Result<sources::ModelSource> model_source(const RawOptions& options) {
  if (options.config.empty())
    return sources::find_model_source(options.model, sources::HubSettings::of_process());
  Result<Config> config = Config::parse(options.config, "the launch command");
  if (!config) return tl::unexpected(config.error());
  sources::ModelSource source;
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
struct Asked {
  TrainRequest request;
  sources::ModelSource source;

  ModelRequest model() const {
    return {.id = source.id,
            .config = *source.config,
            .header = source.header ? &*source.header : nullptr};
  }
};

Result<Asked> read(const RawOptions& options) {
  Result<TrainRequest> request = train_request(options);
  if (!request) return tl::unexpected(request.error());
  Result<sources::ModelSource> source = model_source(options);
  if (!source) return tl::unexpected(source.error());
  if (!source->config)
    return unsupported("a checkpoint without a config.json says nothing about the step",
                       source->where, "put its config.json beside it");
  return Asked{std::move(*request), std::move(*source)};
}

Result<Answer> answer_of(const RawOptions& options, const Asked& asked,
                         const CommandWords& command) {
  const auto& [request, source] = asked;
  const ModelRequest model = asked.model();
  const bool draws = !options.output.json && !options.output.quiet;
  const bool wants_trace = draws || options.csv || options.output.explain ||
                           !options.html.empty() || !options.snapshot.empty();
  Result<TrainAnswer> answer =
      predict_train(model, request.recipe, request.device,
                    {.trace = wants_trace, .workers = threads(), .command = &command});
  if (!answer && answer.error().kind == ErrorKind::unsupported && source.header)
    return tl::unexpected(with_checkpoint_size(answer.error(), *source.header));
  if (!answer) return tl::unexpected(answer.error());
  answer->prediction.warnings.insert(answer->prediction.warnings.begin(), source.warnings.begin(),
                                     source.warnings.end());
  answer->prediction.warnings.insert(answer->prediction.warnings.end(),
                                     options.remarks.warnings.begin(),
                                     options.remarks.warnings.end());
  Answer all{std::move(*answer), {}};
  if (options.rules)
    if (const auto recipe = resolved(request.recipe, *source.config))
      all.rules = rules_of_thumb(*source.config, *recipe, all.train.prediction);
  return all;
}

Result<Answer> recorded(const RawOptions& options) {
  if (options.csv || options.rules || options.output.explain || !options.html.empty() ||
      !options.snapshot.empty())
    return unsupported("a recorded step has figures alone", "--real",
                       "memtape run --html for its time line, or --real never");
  Result<TrainAnswer> answer = recorded_answer(options);
  if (!answer) return tl::unexpected(answer.error());
  return Answer{std::move(*answer), {}};
}

/// Predicted or recorded, as --real says.
Result<Answer> predicted_or_recorded(const RawOptions& options, const Result<Asked>& asked,
                                     const CommandWords& command) {
  const Result<Real> real = real_choice(options);
  if (!real) return tl::unexpected(real.error());
  if (*real == Real::always) return recorded(options);
  Result<Answer> predicted =
      asked ? answer_of(options, *asked, command) : Result<Answer>(tl::unexpected(asked.error()));
  if (*real == Real::never) return predicted;
  const bool is_unknown = predicted ? is_beyond_known(asked->request.recipe)
                                    : predicted.error().kind == ErrorKind::unsupported;
  return is_unknown ? recorded(options) : predicted;
}

}  // namespace

int run_train(const RawOptions& options, Terminal& terminal) {
  const Result<Asked> asked = read(options);
  const CommandWords command = asked ? command_words(options, asked->request) : CommandWords{};
  if (asked)
    if (const auto code =
            answer_train_question(options, asked->request, asked->model(), command, terminal))
      return *code;
  const Result<Answer> answer = predicted_or_recorded(options, asked, command);
  if (!answer) return terminal.fail(answer.error());
  if (const Result<void> written = write_files(options, answer->train); !written)
    return terminal.fail(written.error());
  print(options, *answer, terminal);
  const Prediction& told = answer->train.prediction;
  const VerdictWord verdict = told.verdict.value_or(
      told.fits.value_or(true) ? VerdictWord::fits : VerdictWord::does_not_fit);
  const bool passes = verdict == VerdictWord::fits ||
                      (verdict == VerdictWord::may_not_fit && !options.output.strict);
  return passes ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::cli
