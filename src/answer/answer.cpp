// SPDX-License-Identifier: Apache-2.0
#include "answer/answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "answer/catalog_json.h"
#include "answer/command_words.h"
#include "answer/exit_code.h"
#include "answer/fits.h"
#include "answer/launch_request.h"
#include "answer/options_json.h"
#include "answer/plan_serve.h"
#include "answer/plan_train.h"
#include "answer/release_options.h"
#include "answer/request.h"
#include "answer/serve_answer.h"
#include "answer/show.h"
#include "answer/train_answer.h"
#include "base/text.h"
#include "framework/train_arguments.h"
#include "report/json_writer.h"

namespace memtape::answer {
namespace {

constexpr std::array<std::string_view, 9> kCommands{
    "train", "serve", "fits", "plan train", "plan serve", "models", "gpus", "options", "--"};

Result<void> check_no_files(const std::string& html, const std::string& snapshot) {
  const bool page = !html.empty();
  if (!page && snapshot.empty()) return {};
  return unsupported("no files are written here", page ? "--html" : "--snapshot",
                     page ? R"("as": "html")" : R"("as": "snapshot")");
}

Result<Answered> train(const RawOptions& options, Form form, const Outside& outside) {
  if (const auto fine = check_no_files(options.html, options.snapshot); !fine)
    return tl::unexpected(fine.error());
  const Result<Training> training = answer_train(options, form != Form::json, outside);
  if (!training) return tl::unexpected(training.error());
  Result<std::string> text = shown(*training, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text), exit_code(*training, options.output.strict)};
}

Result<Answered> serve(const ServeCommand& command, Form form, const Outside& outside) {
  if (const auto fine = check_no_files(command.html, ""); !fine)
    return tl::unexpected(fine.error());
  const Result<Serving> serving = answer_serving(command, outside);
  if (!serving) return tl::unexpected(serving.error());
  Result<std::string> text = shown(*serving, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text), exit_code(*serving, command.strict)};
}

/// Reads what is told by the command's syntax and hands it on.
template <class Answer>
Result<Answered> read_by(const option::Syntax& syntax, const Told& told, const Answer& answer) {
  const Result<option::Words> words = told.by(syntax);
  if (!words) return tl::unexpected(words.error());
  return answer(*words);
}

Result<Answered> serve_told(const Told& told, Form form, const Outside& outside) {
  const Result<ServeWords> read = read_serve_words(told);
  if (!read) return tl::unexpected(read.error());
  if (!read->help.empty()) return Answered{read->help, ExitCode::fits};
  return serve(read->command, form, outside);
}

Result<Answered> show_fits(const FitsOptions& options, Form form, const Outside& outside) {
  const Result<FitsAnswer> answer = fits(options, outside);
  if (!answer) return tl::unexpected(answer.error());
  Result<std::string> text = shown(*answer, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text),
                  answer->models.empty() ? ExitCode::does_not_fit : ExitCode::fits};
}

Result<Answered> show_plans(const Result<PlanAnswer>& plans, Form form) {
  if (!plans) return tl::unexpected(plans.error());
  Result<std::string> text = shown(*plans, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text), plans->fits() ? ExitCode::fits : ExitCode::does_not_fit};
}

Result<Answered> launch(Arguments before, Arguments words, Form form, const Outside& outside) {
  const Result<LaunchOptions> options = read_launch_words(before, words);
  if (!options) return tl::unexpected(options.error());
  const Result<Launched> meant = launched(*options, outside);
  if (!meant) return tl::unexpected(meant.error());
  if (const auto* training = std::get_if<RawOptions>(&*meant))
    return train(*training, form, outside);
  return serve(std::get<ServeCommand>(*meant), form, outside);
}

Result<Answered> show_gpus(const std::string& id) {
  const Result<std::vector<Gpu>> found = gpus_named(id);
  if (!found) return tl::unexpected(found.error());
  return Answered{gpus_json(*found), ExitCode::fits};
}

Result<Answered> show_models(const std::string& name, const Outside& outside) {
  if (name.empty()) return Answered{models_json(), ExitCode::fits};
  const Result<ModelSource> source = outside.model(name);
  if (!source) return tl::unexpected(source.error());
  const ModelFacts facts = facts_of(*source);
  if (source->config)
    if (const Result<void> checked = source->config->check(); !checked)
      return tl::unexpected(checked.error());
  return Answered{model_json(facts), ExitCode::fits};
}

/// `models [MODEL]`, `gpus [ID]` and `options`, whose answer is JSON however it is asked for.
option::Syntax catalog_syntax(std::string_view command) {
  option::Syntax syntax{.command = command};
  if (command != "options") syntax.operands.push_back({"ID", "", false});
  option::add(output_options(), syntax.table);
  return syntax;
}

/// "plan serve": what the command takes.
option::Syntax syntax_of(std::string_view command) {
  if (command == "train") return train_syntax();
  if (command == "fits") return fits_syntax();
  if (command == "plan train") return plan_train_syntax();
  if (command == "plan serve") return plan_serve_syntax();
  return catalog_syntax(command);
}

Result<Answered> answer_told(std::string_view command, const Told& told, Form form,
                             const Outside& outside) {
  if (command == "serve") return serve_told(told, form, outside);
  return read_by(syntax_of(command), told, [&](const option::Words& words) -> Result<Answered> {
    if (command == "train") return train(train_of(words, all_train_options()), form, outside);
    if (command == "fits") return show_fits(fits_of(words), form, outside);
    if (command == "plan train") return show_plans(plan_train(plan_train_of(words), outside), form);
    if (command == "plan serve") return show_plans(plan_serve(plan_serve_of(words), outside), form);
    if (command == "models") return show_models(words.operand(), outside);
    if (command == "gpus") return show_gpus(words.operand());
    return Answered{options_json(), ExitCode::fits};
  });
}

Result<void> check_command(std::string_view command) {
  constexpr std::array<std::string_view, 2> kQuestions{"train", "serve"};
  if (std::ranges::find(kCommands, command) != kCommands.end()) return {};
  if (command != "plan" && !command.starts_with("plan "))
    return bad_input(fmt::format("unknown command {}", command), {},
                     suggestion(command, kCommands));
  const std::string_view asked = command.substr(std::min<std::size_t>(command.size(), 5));
  return bad_input(fmt::format("cannot plan '{}', only train and serve", asked), "plan",
                   suggestion(asked, kQuestions));
}

Result<Answered> answer_words(Arguments words, Form form, const Outside& outside) {
  const std::string_view first = words.front();
  const auto dashes = std::ranges::find(words, std::string_view("--"));
  if (first.starts_with('-') && dashes != words.end())
    return launch({words.begin(), dashes}, {dashes + 1, words.end()}, form, outside);
  const bool has_question = first == "plan" && words.size() > 1;
  const std::string command =
      has_question ? fmt::format("{} {}", first, words[1]) : std::string(first);
  if (const Result<void> known = check_command(command); !known)
    return tl::unexpected(known.error());
  return answer_told(command, {.words = words.subspan(has_question ? 2 : 1)}, form, outside);
}

Told told_by(const Request& request) {
  Told told{.is_values = true, .values = request.options};
  if (!request.model.empty()) told.operands.push_back(request.model);
  return told;
}

std::string argv_json(const std::vector<std::string>& words) {
  report::JsonWriter out(report::JsonWriter::Layout::compact);
  out.begin_object();
  out.key("argv");
  out.begin_array();
  for (const std::string& word : words) out.value(std::string_view(word));
  out.end_array();
  out.end_object();
  return std::move(out).take() + "\n";
}

}  // namespace

Answered answer_of(const Error& error, const std::vector<Wanted>& wanted) {
  report::JsonWriter out(report::JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.key("error");
  out.begin_object();
  out.member("what", error.what);
  out.member("where", error.where);
  out.member("hint", error.hint);
  out.end_object();
  if (!wanted.empty()) {
    out.key("wanted");
    out.begin_array();
    for (const Wanted& file : wanted) {
      out.begin_object();
      out.member("name", file.name);
      out.member("bytes", file.bytes);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
  return {std::move(out).take() + "\n",
          error.kind == ErrorKind::internal ? ExitCode::internal_error : ExitCode::bad_input};
}

Handed handed_with(const Request& request, std::vector<HandedFile> files) {
  for (const auto& [name, text] : request.files)
    files.push_back({name, text, static_cast<Bytes>(text.size())});
  return {std::move(files), request.config, request.environment,
          releases_of(request.installed, request.place)};
}

Result<std::vector<std::string>> words_of(const Request& request) {
  if (!request.argv.empty()) return request.argv;
  if (const Result<void> known = check_command(request.command); !known)
    return tl::unexpected(known.error());
  const Told told = told_by(request);
  const Result<option::Syntax> syntax =
      request.command == "serve" ? serve_syntax_of(told) : syntax_of(request.command);
  if (!syntax) return tl::unexpected(syntax.error());
  const Result<option::Words> words = told.by(*syntax);
  if (!words) return tl::unexpected(words.error());
  std::vector<std::string> all = option::as_arguments(*words);
  const std::size_t space = request.command.find(' ');
  if (space != std::string::npos) all.insert(all.begin(), request.command.substr(space + 1));
  all.insert(all.begin(), request.command.substr(0, space));
  return all;
}

Result<Answered> answer_request(const Request& request, const Outside& outside) {
  if (request.form == Form::argv) {
    const Result<std::vector<std::string>> words = words_of(request);
    if (!words) return tl::unexpected(words.error());
    return Answered{argv_json(*words), ExitCode::fits};
  }
  if (request.argv.empty()) {
    const Result<void> known = check_command(request.command);
    return known ? answer_told(request.command, told_by(request), request.form, outside)
                 : tl::unexpected(known.error());
  }
  std::vector<const char*> words;
  for (const std::string& word : request.argv) words.push_back(word.c_str());
  return answer_words(words, request.form, outside);
}

Answered answer(std::string_view request, const std::vector<HandedFile>& files) {
  const Result<Request> read = read_request(request);
  if (!read) return answer_of(read.error());
  const Handed handed = handed_with(*read, files);
  const Result<Answered> answered = answer_request(*read, handed);
  return answered ? *answered : answer_of(answered.error(), handed.wanted());
}

}  // namespace memtape::answer
