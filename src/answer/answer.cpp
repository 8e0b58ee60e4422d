// SPDX-License-Identifier: Apache-2.0
#include "answer/answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "answer/catalog_json.h"
#include "answer/command_words.h"
#include "answer/echo.h"
#include "answer/exit_code.h"
#include "answer/explain_files.h"
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
#include "report/json_writer.h"

namespace memtape::answer {
namespace {

Result<void> check_no_files(const std::string& html, const std::string& snapshot) {
  const bool page = !html.empty();
  if (!page && snapshot.empty()) return {};
  return unsupported("no files are written here", page ? "--html" : "--snapshot",
                     page ? R"("as": "html")" : R"("as": "snapshot")");
}

Result<Answered> show_training(const RawOptions& options, Form form, const Outside& outside) {
  if (const auto fine = check_no_files(options.html, options.snapshot); !fine)
    return tl::unexpected(fine.error());
  const Result<Training> training = answer_train(options, form != Form::json, outside);
  if (!training) return tl::unexpected(training.error());
  Result<std::string> text = shown(*training, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text), exit_code(*training, options.output.strict)};
}

Result<Answered> show_server(const ServeCommand& command, Form form, const Outside& outside) {
  if (const auto fine = check_no_files(command.html, ""); !fine)
    return tl::unexpected(fine.error());
  const Result<Serving> serving = answer_serving(command, outside);
  if (!serving) return tl::unexpected(serving.error());
  Result<std::string> text = shown(*serving, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text), exit_code(*serving, command.output.strict)};
}

Result<Answered> train(const option::Words& words, Form form, const Outside& outside) {
  return show_training(asked_of(words), form, outside);
}

Result<Answered> serve(const option::Words& words, Form form, const Outside& outside) {
  const Result<ServeCommand> command = server_of(words);
  if (!command) return tl::unexpected(command.error());
  return show_server(*command, form, outside);
}

Result<Answered> launch(const option::Words& words, Form form, const Outside& outside) {
  const Result<Launched> meant = launched(words, outside);
  if (!meant) return tl::unexpected(meant.error());
  if (const auto* training = std::get_if<RawOptions>(&*meant))
    return show_training(*training, form, outside);
  return show_server(std::get<ServeCommand>(*meant), form, outside);
}

Result<Answered> show_fits(const option::Words& words, Form form, const Outside& outside) {
  const Result<FitsAnswer> answer = models_that_fit(asked_of(words), outside);
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

Result<Answered> show_explanation(const option::Words& words, Form form, const Outside& outside) {
  const Result<Explanation> explanation = explain_files(words, outside);
  if (!explanation) return tl::unexpected(explanation.error());
  Result<std::string> text = shown(*explanation, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text), ExitCode::fits};
}

Result<Answered> show_gpus(const option::Words& words, Form, const Outside&) {
  const Result<std::vector<Gpu>> found = gpus_named(words.operand());
  if (!found) return tl::unexpected(found.error());
  return Answered{gpus_json(*found), ExitCode::fits};
}

Result<Answered> show_models(const option::Words& words, Form, const Outside& outside) {
  if (words.operand().empty()) return Answered{models_json(), ExitCode::fits};
  const Result<ModelSource> source = outside.model(words.operand());
  if (!source) return tl::unexpected(source.error());
  const ModelFacts facts = facts_of(*source);
  if (source->config)
    if (const Result<void> checked = source->config->check(); !checked)
      return tl::unexpected(checked.error());
  return Answered{model_json(facts), ExitCode::fits};
}

/// What takes no more than how to answer, and a name where there is a list of them.
option::Syntax listing_syntax() {
  return {.operands = {{"ID", "", false}}, .table = output_options()};
}

option::Syntax bare_syntax() { return {.table = output_options()}; }

template <option::Syntax (*made)()>
Result<option::Syntax> always(const Told&) {
  return made();
}

/// A command that answers.
struct AnsweringCommand {
  std::string_view name;
  Result<option::Syntax> (*syntax)(const Told& told);
  Result<Answered> (*answer)(const option::Words& words, Form form, const Outside& outside);
};

constexpr auto kCommands = std::to_array<AnsweringCommand>({
    {"train", always<train_syntax>, train},
    {"serve", serve_syntax, serve},
    {"fits", always<fits_syntax>, show_fits},
    {"plan train", always<plan_train_syntax>,
     [](const option::Words& words, Form form, const Outside& outside) {
       return show_plans(plan_train(asked_of(words), outside), form);
     }},
    {"plan serve", always<plan_serve_syntax>,
     [](const option::Words& words, Form form, const Outside& outside) {
       return show_plans(plan_serve(asked_of(words), outside), form);
     }},
    {"explain", always<explain_syntax>, show_explanation},
    {"models", always<listing_syntax>, show_models},
    {"gpus", always<listing_syntax>, show_gpus},
    {"options", always<bare_syntax>,
     [](const option::Words&, Form, const Outside&) -> Result<Answered> {
       return Answered{options_json(), ExitCode::fits};
     }},
    {"--", always<launch_syntax>, launch},
});

/// A command, and what was told to it.
struct Asked {
  const AnsweringCommand& command;
  option::Syntax syntax;
  option::Words words;
};

Result<const AnsweringCommand*> command_named(std::string_view command) {
  const auto found = std::ranges::find(kCommands, command, &AnsweringCommand::name);
  if (found != kCommands.end()) return &*found;
  std::vector<std::string_view> names{"train", "serve"};
  if (command == "plan" || command.starts_with("plan ")) {
    const std::string_view asked = command.substr(std::min<std::size_t>(command.size(), 5));
    return bad_input(fmt::format("cannot plan '{}', only train and serve", asked), "plan",
                     suggestion(asked, names));
  }
  names.clear();
  for (const AnsweringCommand& one : kCommands) names.push_back(one.name);
  return bad_input(fmt::format("unknown command {}", command), {}, suggestion(command, names));
}

Result<Asked> asked(std::string_view command, const Told& told) {
  const Result<const AnsweringCommand*> found = command_named(command);
  if (!found) return tl::unexpected(found.error());
  Result<option::Syntax> syntax = (*found)->syntax(told);
  if (!syntax) return tl::unexpected(syntax.error());
  if (syntax->command.empty()) syntax->command = (*found)->name;
  Result<option::Words> words = told.by(*syntax);
  if (!words) return tl::unexpected(words.error());
  return Asked{**found, std::move(*syntax), std::move(*words)};
}

Result<Answered> answer_told(std::string_view command, const Told& told, Form form,
                             const Outside& outside) {
  const Result<Asked> read = asked(command, told);
  if (!read) return tl::unexpected(read.error());
  return read->command.answer(read->words, form, outside);
}

Result<Answered> answer_words(option::Arguments words, Form form, const Outside& outside) {
  const std::string_view first = words.front();
  if (first.starts_with('-') && std::ranges::find(words, std::string_view("--")) != words.end())
    return answer_told("--", {.words = words}, form, outside);
  const bool has_question = first == "plan" && words.size() > 1;
  const std::string command =
      has_question ? fmt::format("{} {}", first, words[1]) : std::string(first);
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
  out.member("what", echoed(error.what));
  out.member("where", echoed(error.where));
  out.member("hint", echoed(error.hint));
  out.end_object();
  if (!wanted.empty()) {
    out.key("wanted");
    out.begin_array();
    for (const Wanted& file : wanted) {
      out.begin_object();
      out.member("name", echoed(file.name));
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
  const Result<Asked> read = asked(request.command, told_by(request));
  if (!read) return tl::unexpected(read.error());
  std::vector<std::string> all = option::as_arguments(read->words);
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
  if (request.argv.empty())
    return answer_told(request.command, told_by(request), request.form, outside);
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
