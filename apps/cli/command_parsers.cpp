// SPDX-License-Identifier: Apache-2.0
// CLI11 is included here and nowhere else: it costs seconds per file that sees it.
#include "command_parsers.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "answer/given_twice.h"
#include "answer/plan_options.h"
#include "answer/serve_words.h"
#include "answer/train_options.h"
#include "base/text.h"
#include "help_text.h"
#include "run_options.h"
#include "workload/training_arguments.h"

namespace memtape::cli {
namespace {

using answer::is_shared_with_plan;
using answer::NamedOption;
using answer::plan_options;
using answer::plan_serve_options;
using answer::read_serve_words;
using answer::ServeWords;
using answer::train_options;

std::string help_hint(const Command& command) {
  return fmt::format("see memtape {} --help", command.name);
}

Error mistake(const Command& command, std::string what) {
  return {ErrorKind::bad_input, std::move(what), std::string(command.name), help_hint(command)};
}

std::unique_ptr<CLI::App> app_of(const Command& command) {
  auto app = std::make_unique<CLI::App>(std::string(command.summary),
                                        fmt::format("memtape {}", command.name));
  app->footer(fmt::format("\nExample:\n  {}\n", command.example));
  app->allow_extras();
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app->set_help_flag("-h,--help", "this text");
  app->get_formatter()->column_width(42);
  app->get_formatter()->label("REQUIRED", "");
  app->get_formatter()->label("OPTIONS", "options");
  return app;
}

void add_output_options(CLI::App& app, OutputOptions& output) {
  app.add_flag("--json", output.json, "the answer as JSON, alone on the output")->group("Answer");
  app.add_flag("--quiet", output.quiet, "only the answer itself")->group("Answer");
  app.add_flag("--explain", output.explain, "show how each number comes about")->group("Answer");
}

/// What CLI11 could not place, if anything: an option that is not there, or one word too many.
std::optional<Error> leftover(const CLI::App& app, const Command& command) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return std::nullopt;
  const auto option = std::ranges::find_if(words, [](auto& word) { return word.starts_with('-'); });
  if (option == words.end()) {
    return mistake(command, fmt::format("one argument too many: {}", words.front()));
  }
  std::vector<std::string> names;
  for (const CLI::Option* known : app.get_options())
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  if (command.takes_training_arguments)
    for (const std::string_view name : training_argument_names())
      names.push_back(fmt::format("--{}", name));
  const std::string typed = option->substr(0, option->find('='));
  Error error = mistake(command, fmt::format("unknown option {}", typed));
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  if (const std::string_view meant = answer::option_meant(typed);
      !meant.empty() && std::ranges::find(candidates, meant) != candidates.end())
    error.hint = fmt::format("did you mean {}?", meant);
  else if (const std::string_view best = nearest(typed, candidates); !best.empty())
    error.hint = fmt::format("did you mean {}?", best);
  return error;
}

std::vector<std::string> reversed(Arguments arguments) {
  return {arguments.rbegin(), arguments.rend()};
}

/// --micro_batch_size is --micro-batch-size where only that is an option.
std::vector<std::string> as_written(const CLI::App& app, Arguments arguments) {
  std::vector<std::string> words;
  for (const std::string_view word : arguments) {
    const std::string name(word.substr(0, word.find('=')));
    std::string other = name;
    std::replace(other.begin() + std::min<std::ptrdiff_t>(2, std::ssize(other)), other.end(), '_',
                 '-');
    const bool turns = name.starts_with("--") && other != name &&
                       app.get_option_no_throw(name) == nullptr &&
                       app.get_option_no_throw(other) != nullptr;
    words.push_back(turns ? other + std::string(word.substr(name.size())) : std::string(word));
  }
  return words;
}

template <class Options>
OutputOptions& output_of(Options& options) {
  return options.output;
}
OutputOptions& output_of(DiffOptions& options) { return options.train.output; }
OutputOptions& output_of(VerifyOptions& options) { return options.train.output; }
OutputOptions& output_of(LaunchOptions& options) { return options.given.output; }

/// Reads the words into `options`, which `app` is bound to.
template <class Options>
Result<Request> parse_into(Options& options, CLI::App& app, const Command& command,
                           Arguments typed) {
  add_output_options(app, output_of(options));
  const std::vector<std::string> written = as_written(app, typed);
  std::vector<const char*> arguments;
  for (const std::string& word : written) arguments.push_back(word.c_str());
  std::optional<Error> failure;
  try {
    app.parse(reversed(arguments));
  } catch (const CLI::CallForHelp&) {
    return Message{with_fewer_blank_lines(app.help())};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();
    failure = mistake(command, fmt::format("{} needs a value", text.substr(0, text.find(':'))));
  } catch (const CLI::ParseError& error) {
    failure = mistake(command, error.what());
  }
  if (std::optional<Error> unplaced = leftover(app, command)) failure = unplaced;
  if (failure) return tl::unexpected<Error>(*failure);
  return std::move(options);
}

void add_number(CLI::App& app, const char* name, int& value, const char* help, int least,
                int most) {
  app.add_option(name, value, help)->type_name("N")->check(CLI::Range(least, most));
}

CLI::Option* add_operand(CLI::App& app, const char* name, std::string& value, const char* help) {
  return app.add_option(name, value, help)->type_name("")->option_text(" ");
}

/// Adds the table's options; the values arrive in the options' results, word for word.
std::vector<CLI::Option*> add_named(CLI::App& app, std::span<const NamedOption> table,
                                    std::vector<std::string>& sink) {
  std::vector<CLI::Option*> added;
  for (const NamedOption& row : table) {
    const std::string name = fmt::format("--{}", row.name), help(row.help);
    if (row.value.empty()) {
      added.push_back(app.add_flag(name, help)->group(std::string(row.group)));
      continue;
    }
    CLI::Option* option = app.add_option(name, sink, help);
    option->type_name(std::string(row.value))->group(std::string(row.group));
    option->expected(1)->allow_extra_args(false);  // else CLI11 takes [a,b] apart
    if (row.repeatable) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    added.push_back(option);
  }
  return added;
}

/// "--logging_steps=5" names logging_steps.
bool names_option(std::string_view word, std::string_view name) {
  return word.starts_with("--") && word.substr(2, word.find('=') - 2) == name;
}

/// TrainingArguments by their own names: taken, but too many for the help, and to be made when they
/// are not used. A switch may come without a value.
void add_training_arguments(CLI::App& app, Arguments arguments, std::vector<std::string>& sink,
                            std::vector<CLI::Option*>& added) {
  for (const std::string_view name : training_argument_names()) {
    if (std::ranges::none_of(arguments, [&](auto word) { return names_option(word, name); }))
      continue;
    CLI::Option* option = app.add_option(fmt::format("--{}", name), sink);
    option->group("")->expected(0, 1)->allow_extra_args(false);
    added.push_back(option);
  }
}

void add_report_options(CLI::App& app, RawOptions& options) {
  app.add_option("--html", options.html, "write a page with the interactive time line")
      ->type_name("FILE")
      ->group("Answer");
  app.add_option("--snapshot", options.snapshot, "write a pickle for PyTorch's memory_viz")
      ->type_name("FILE")
      ->group("Answer");
  app.add_flag("--strict", options.output.strict, "exit 1 also where it may not fit")
      ->group("Answer");
  app.add_flag("--rules", options.rules, "the well-known rules of thumb beside the answer")
      ->group("Answer");
  app.add_flag("--csv", options.csv, "the answer as CSV, alone on the output")->group("Answer");
}

void add_model(CLI::App& app, RawOptions& options) {
  add_operand(app, "MODEL", options.model,
              "catalog name, hub id, directory, config.json or .safetensors file")
      ->required();
}

std::vector<std::pair<std::string, std::string>> values_of(
    const std::vector<CLI::Option*>& options) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const CLI::Option* option : options)
    for (const std::string& value : option->reduced_results())
      values.emplace_back(option->get_lnames().front(), value);
  return values;
}

/// The table's options as they were typed, in that order; a switch has the value "".
std::vector<std::pair<std::string, std::string>> typed_of(const CLI::App& app,
                                                          const std::vector<CLI::Option*>& named) {
  std::vector<std::pair<std::string, std::string>> typed;
  std::vector<std::pair<const CLI::Option*, std::size_t>> seen;
  for (const CLI::Option* option : app.parse_order()) {
    if (std::ranges::find(named, option) == named.end()) continue;
    auto at = std::ranges::find(seen, option, [](const auto& pair) { return pair.first; });
    if (at == seen.end()) at = seen.insert(seen.end(), {option, 0});
    const CLI::results_t& all = option->results();
    const bool is_switch = option->get_expected_max() == 0;
    const std::string value = is_switch || at->second >= all.size() ? "" : all[at->second];
    ++at->second;
    typed.emplace_back(option->get_lnames().front(), value);
  }
  return typed;
}

/// What was typed of `named`, as values in the order of the table and as words.
Result<void> take_values(RawOptions& options, const CLI::App& app,
                         const std::vector<CLI::Option*>& named) {
  options.values = values_of(named);
  options.typed = typed_of(app, named);
  if (const auto twice = answer::said_twice(options.typed)) return tl::unexpected<Error>(*twice);
  return {};
}

/// `memtape plan serve MODEL`
Result<Request> parse_plan_serve(const Command& command, Arguments arguments) {
  PlanServeOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  std::string question;
  add_operand(*app, "QUESTION", question, "what is planned: serve")->required();
  add_operand(*app, "MODEL", options.model, "catalog name, hub id or directory")->required();
  std::vector<std::string> sink;
  const std::vector<CLI::Option*> own = add_named(*app, plan_serve_options(), sink);
  app->add_flag("--csv", options.csv, "the plans as CSV, alone on the output")->group("Answer");
  Result<Request> request = parse_into(options, *app, command, arguments);
  if (request && std::holds_alternative<PlanServeOptions>(*request))
    std::get<PlanServeOptions>(*request).values = values_of(own);
  return request;
}

/// `memtape verify serve MODEL [serve options]`: the words of `serve`, and those of verify among
/// them.
Result<Request> parse_verify_serve(const Command& command, Arguments arguments) {
  VerifyServeOptions options;
  std::vector<const char*> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--show-script") {
      options.show_script = true;
    } else if (word.starts_with("--python=")) {
      options.python = word.substr(word.find('=') + 1);
    } else if (word == "--python") {
      if (++i == arguments.size())
        return tl::unexpected(mistake(command, "--python needs a value"));
      options.python = arguments[i];
    } else {
      words.push_back(arguments[i]);
    }
  }
  Result<ServeWords> read = read_serve_words(words);
  if (!read) return tl::unexpected(read.error());
  if (!read->help.empty()) return Message{std::move(read->help)};
  options.serve = std::move(read->command);
  return options;
}

template <class Options>
Result<Request> parse_catalog(const Command& command, Arguments arguments) {
  Options options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  if constexpr (std::is_same_v<Options, TimeOptions>)
    add_operand(*app, "QUESTIONS", options.file, "a JSON object a line")->required();
  else
    add_operand(*app, "ID", options.id, "only this entry, in full");
  return parse_into(options, *app, command, arguments);
}

}  // namespace

Result<Request> parse_train(const Command& command, Arguments arguments) {
  RawOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  add_model(*app, options);
  std::vector<std::string> sink;
  std::vector<CLI::Option*> named = add_named(*app, train_options(), sink);
  add_training_arguments(*app, arguments, sink, named);
  add_report_options(*app, options);
  Result<Request> request = parse_into(options, *app, command, arguments);
  if (request && std::holds_alternative<RawOptions>(*request))
    if (const auto taken = take_values(std::get<RawOptions>(*request), *app, named); !taken)
      return tl::unexpected(taken.error());
  return request;
}

/// `memtape plan train MODEL`: the options of train, whose sizes may be lists, and plan's own.
Result<Request> parse_plan(const Command& command, Arguments arguments) {
  if (!arguments.empty() && arguments.front() == std::string_view("serve"))
    return parse_plan_serve(command, arguments);
  PlanTrainOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  std::string question;
  add_operand(*app, "QUESTION", question, "what is planned: train, or serve with its own options")
      ->required();
  add_model(*app, options.train);
  std::vector<std::string> sink;
  std::vector<NamedOption> shared;
  std::ranges::copy_if(train_options(), std::back_inserter(shared), is_shared_with_plan);
  const std::vector<CLI::Option*> own = add_named(*app, plan_options(), sink);
  std::vector<CLI::Option*> named = add_named(*app, shared, sink);
  add_training_arguments(*app, arguments, sink, named);
  app->add_flag("--csv", options.train.csv, "the plans as CSV, alone on the output")
      ->group("Answer");
  Result<Request> request = parse_into(options, *app, command, arguments);
  if (!request || !std::holds_alternative<PlanTrainOptions>(*request)) return request;
  if (question != "train")
    return tl::unexpected(
        mistake(command, fmt::format("cannot plan '{}', only train and serve", question)));
  PlanTrainOptions& read = std::get<PlanTrainOptions>(*request);
  if (const auto taken = take_values(read.train, *app, named); !taken)
    return tl::unexpected(taken.error());
  read.values = values_of(own);
  return request;
}

Result<Request> parse_serve(const Command&, Arguments arguments) {
  Result<ServeWords> words = read_serve_words(arguments);
  if (!words) return tl::unexpected(words.error());
  if (!words->help.empty()) return Message{std::move(words->help)};
  return std::move(words->command);
}

Result<Request> parse_diff(const Command& command, Arguments arguments) {
  DiffOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  add_operand(*app, "TAPE", options.tape, "a recorded step tape (.tape)")->required();
  add_model(*app, options.train);
  std::vector<std::string> sink;
  std::vector<CLI::Option*> named = add_named(*app, train_options(), sink);
  add_training_arguments(*app, arguments, sink, named);
  Result<Request> request = parse_into(options, *app, command, arguments);
  if (request && std::holds_alternative<DiffOptions>(*request))
    if (const auto taken = take_values(std::get<DiffOptions>(*request).train, *app, named); !taken)
      return tl::unexpected(taken.error());
  return request;
}

Result<Request> parse_scoreboard(const Command& command, Arguments arguments) {
  ScoreboardOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  app->add_option("FILE", options.files, "truth rows (.jsonl)")->type_name("")->required();
  app->add_flag("--markdown", options.markdown, "tables for docs/accuracy.md");
  return parse_into(options, *app, command, arguments);
}

Result<Request> parse_replay(const Command& command, Arguments arguments) {
  ReplayOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  add_operand(*app, "TRACE", options.trace,
              "a memory snapshot (.pickle) or a recorded trace (.jsonl, .jsonl.gz)")
      ->required();
  app->add_flag("--place-segments", options.place_segments,
                "put segments where the driver would, not where the trace says");
  app->add_option("--driver-placement", options.driver_placement, "how the driver places segments")
      ->type_name("{linux,first-fit}");
  app->add_option("--device", options.device, "of a snapshot of several devices")->type_name("N");
  return parse_into(options, *app, command, arguments);
}

/// `memtape explain FILE... [--against 'train MODEL ...' | --against -- COMMAND]`
Result<Request> parse_explain(const Command& command, Arguments arguments) {
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  ExplainOptions options;
  Arguments before(arguments.begin(), dashes);
  if (dashes != arguments.end()) {
    if (before.empty() || before.back() != std::string_view("--against"))
      return tl::unexpected(mistake(command, "a command stands without --against before its --"));
    before = before.first(before.size() - 1);
    options.against.assign(dashes, arguments.end());
  }
  const std::unique_ptr<CLI::App> app = app_of(command);
  std::string against;
  app->add_option("FILE", options.files, "snapshots, traces, logs or messages; - is standard input")
      ->type_name("")
      ->option_text(" ")
      ->required();
  app->add_option("--against", against, "a prediction to lay it beside, or: --against -- COMMAND")
      ->type_name("'train MODEL ...'");
  app->add_option("--device", options.device, "only this one, of a snapshot of several")
      ->type_name("N");
  app->add_option("--html", options.html, "write a page: memory over time, by stack, by segment")
      ->type_name("FILE")
      ->group("Answer");
  Result<Request> request = parse_into(options, *app, command, before);
  if (!request || !std::holds_alternative<ExplainOptions>(*request)) return request;
  ExplainOptions& read = std::get<ExplainOptions>(*request);
  if (!against.empty() && !read.against.empty())
    return tl::unexpected(mistake(command, "--against is given twice"));
  if (!against.empty()) read.against = {against};
  return request;
}

/// `memtape detect`
Result<Request> parse_detect(const Command& command, Arguments arguments) {
  DetectOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  app->add_flag("--watch", options.watch, "again every second, until it is ended");
  return parse_into(options, *app, command, arguments);
}

/// `memtape check [FILE]`
Result<Request> parse_check(const Command& command, Arguments arguments) {
  CheckOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  add_operand(*app, "FILE", options.file, "the runs and their limits (memtape.toml)");
  app->add_flag("--update", options.update, "write the lock file, whatever has grown");
  return parse_into(options, *app, command, arguments);
}

/// `memtape watch [options] -- COMMAND...`
Result<Request> parse_watch(const Command& command, Arguments arguments) {
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  WatchCommand options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  app->add_option("--snapshot", options.snapshot,
                  "where the snapshot of a run that ran out is kept (memtape-oom.pickle)")
      ->type_name("FILE")
      ->group("Answer");
  Result<Request> request = parse_into(options, *app, command, {arguments.begin(), dashes});
  if (!request || !std::holds_alternative<WatchCommand>(*request)) return request;
  if (dashes == arguments.end() || dashes + 1 == arguments.end())
    return tl::unexpected(mistake(command, "a command is missing behind --"));
  std::get<WatchCommand>(*request).command.assign(dashes + 1, arguments.end());
  return request;
}

/// `memtape run [options] -- COMMAND...`
Result<Request> parse_run(const Command& command, Arguments arguments) {
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  RunCommand options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  std::vector<std::string> sink;
  const std::vector<CLI::Option*> named = add_named(*app, run_options(), sink);
  app->add_option("--snapshot", options.snapshot, "write the pickle of the fullest process' torch")
      ->type_name("FILE")
      ->group("Answer");
  app->add_option("--html", options.html, "write a page of the last step, tensor by tensor")
      ->type_name("FILE")
      ->group("Answer");
  Result<Request> request = parse_into(options, *app, command, {arguments.begin(), dashes});
  if (!request || !std::holds_alternative<RunCommand>(*request)) return request;
  RunCommand& read = std::get<RunCommand>(*request);
  read.values = values_of(named);
  if (dashes != arguments.end()) read.command.assign(dashes + 1, arguments.end());
  return request;
}

/// `memtape verify train MODEL [train options]` and `memtape record train MODEL [train options]`.
Result<Request> parse_verify(const Command& command, Arguments arguments) {
  if (command.name == "verify" && !arguments.empty() &&
      arguments.front() == std::string_view("serve"))
    return parse_verify_serve(command, arguments.subspan(1));
  VerifyOptions options;
  options.records = command.name == "record";
  const std::unique_ptr<CLI::App> app = app_of(command);
  std::string step;
  add_operand(
      *app, "STEP", step,
      options.records ? "what is run: train" : "what is run: train, or serve with its own options")
      ->required();
  add_model(*app, options.train);
  std::vector<std::string> sink;
  std::vector<CLI::Option*> named = add_named(*app, train_options(), sink);
  add_training_arguments(*app, arguments, sink, named);
  app->add_flag("--show-script", options.show_script, "print the script of the real step and stop");
  if (options.records) {
    app->add_option("--into", options.into, "folder for the row, its tape and its trace")
        ->type_name("FOLDER")
        ->required();
    app->add_option("--id", options.id, "name of the row")->type_name("NAME");
  }
  Result<Request> request = parse_into(options, *app, command, arguments);
  if (!request || !std::holds_alternative<VerifyOptions>(*request)) return request;
  if (step != "train")
    return tl::unexpected(
        mistake(command, fmt::format("cannot run a step of '{}', only of {}", step,
                                     options.records ? "train" : "train and serve")));
  VerifyOptions& read = std::get<VerifyOptions>(*request);
  if (const auto taken = take_values(read.train, *app, named); !taken)
    return tl::unexpected(taken.error());
  for (const auto& [name, value] : read.train.values)
    if (name == "python") read.python = value;
  return request;
}

/// `memtape [options] -- COMMAND...`: options as for train, and the words of a launch command.
Result<Request> parse_launch(const Command& command, Arguments before, Arguments launched) {
  LaunchOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  std::vector<std::string> sink;
  std::vector<NamedOption> of_training;
  std::ranges::copy_if(train_options(), std::back_inserter(of_training), [](const auto& option) {
    return std::ranges::find(kServerQuestions, option.name) == kServerQuestions.end();
  });
  std::vector<CLI::Option*> named = add_named(*app, of_training, sink);
  for (const std::string_view name : kServerQuestions) {
    CLI::Option* option = app->add_option(fmt::format("--{}", name), sink, "of a server");
    option->group("Serving")->expected(name == "compare" ? 0 : 1, 1)->allow_extra_args(false);
    named.push_back(option);
  }
  add_training_arguments(*app, before, sink, named);
  add_report_options(*app, options.given);
  Result<Request> request = parse_into(options, *app, command, before);
  if (!request || !std::holds_alternative<LaunchOptions>(*request)) return request;
  LaunchOptions& read = std::get<LaunchOptions>(*request);
  if (const auto taken = take_values(read.given, *app, named); !taken)
    return tl::unexpected(taken.error());
  read.command.assign(launched.begin(), launched.end());
  return request;
}

Result<Request> parse_fits(const Command& command, Arguments arguments) {
  FitsOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  std::vector<std::string> sink;
  const std::vector<CLI::Option*> named = add_named(*app, answer::fits_options(), sink);
  app->add_flag("--strict", options.output.strict, "without what may not fit")->group("Answer");
  Result<Request> request = parse_into(options, *app, command, arguments);
  if (!request || !std::holds_alternative<FitsOptions>(*request)) return request;
  FitsOptions& read = std::get<FitsOptions>(*request);
  read.values = typed_of(*app, named);
  if (const auto twice = answer::said_twice(read.values)) return tl::unexpected<Error>(*twice);
  return request;
}

Result<Request> parse_time(const Command& command, Arguments arguments) {
  return parse_catalog<TimeOptions>(command, arguments);
}

Result<Request> parse_models(const Command& command, Arguments arguments) {
  return parse_catalog<ModelsOptions>(command, arguments);
}

Result<Request> parse_gpus(const Command& command, Arguments arguments) {
  return parse_catalog<GpusOptions>(command, arguments);
}

Result<Request> parse_mcp(const Command& command, Arguments arguments) {
  McpOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  add_number(*app, "--seconds", options.seconds, "the longest that one answer may take (60)", 1,
             86400);
  return parse_into(options, *app, command, arguments);
}

Result<Request> parse_serve_http(const Command& command, Arguments arguments) {
  HttpOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  add_number(*app, "--port", options.port, "0: one that is free (8471)", 0, 65535);
  app->add_option("--host", options.host, "the address that is listened on (127.0.0.1)")
      ->type_name("ADDRESS");
  add_number(*app, "--seconds", options.seconds, "the longest that one answer may take (30)", 1,
             86400);
  add_number(*app, "--workers", options.workers, "answers at a time (one a core)", 1, 1024);
  add_number(*app, "--max-request-bytes", options.request_bytes, "the largest request (8388608)", 1,
             1 << 30);
  return parse_into(options, *app, command, arguments);
}

Result<Request> parse_web(const Command& command, Arguments arguments) {
  WebOptions options;
  const std::unique_ptr<CLI::App> app = app_of(command);
  add_number(*app, "--port", options.port, "0: one that is free (8472)", 0, 65535);
  app->add_option("--folder", options.folder, "the built page (build/web beside the program)")
      ->type_name("FOLDER");
  app->add_flag("--no-open", options.no_open, "do not start a browser");
  return parse_into(options, *app, command, arguments);
}

}  // namespace memtape::cli
