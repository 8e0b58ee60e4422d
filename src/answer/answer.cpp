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
#include "report/json_writer.h"

namespace memtape::answer {
namespace {

constexpr std::array<std::string_view, 9> kCommands{
    "train", "serve", "fits", "plan train", "plan serve", "models", "gpus", "options", "--"};

using PlainWords = std::vector<const char*>;

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

Result<Answered> train_words(Arguments words, Form form, const Outside& outside) {
  const Result<RawOptions> options = read_train_words(words);
  if (!options) return tl::unexpected(options.error());
  return train(*options, form, outside);
}

Result<Answered> serve_words(Arguments words, Form form, const Outside& outside) {
  const Result<ServeWords> read = read_serve_words(words);
  if (!read) return tl::unexpected(read.error());
  if (!read->help.empty()) return Answered{read->help, ExitCode::fits};
  return serve(read->command, form, outside);
}

Result<Answered> fits_words(Arguments words, Form form, const Outside& outside) {
  const Result<FitsOptions> options = read_fits_words(words);
  if (!options) return tl::unexpected(options.error());
  const Result<FitsAnswer> answer = fits(*options, outside);
  if (!answer) return tl::unexpected(answer.error());
  Result<std::string> text = shown(*answer, form);
  if (!text) return tl::unexpected(text.error());
  return Answered{std::move(*text),
                  answer->models.empty() ? ExitCode::does_not_fit : ExitCode::fits};
}

/// `plan train MODEL ...` and `plan serve MODEL ...`, after the first word.
Result<Answered> plan(Arguments words, Form form, const Outside& outside) {
  constexpr std::array<std::string_view, 2> kQuestions{"train", "serve"};
  const std::string_view asked = words.empty() ? "" : words.front();
  if (std::ranges::find(kQuestions, asked) == kQuestions.end())
    return bad_input(fmt::format("cannot plan '{}', only train and serve", asked), "plan",
                     suggestion(asked, kQuestions));
  Result<PlanAnswer> plans = [&]() -> Result<PlanAnswer> {
    if (asked == "serve") {
      const auto options = read_plan_serve_words(words.subspan(1));
      if (!options) return tl::unexpected(options.error());
      return plan_serve(*options, outside);
    }
    const auto options = read_plan_train_words(words.subspan(1));
    if (!options) return tl::unexpected(options.error());
    return plan_train(*options, outside);
  }();
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

/// `models [MODEL]` and `gpus [ID]`: the operand; switches of the answer are passed over.
Result<std::string> operand_of(Arguments words, const char* command) {
  std::string operand;
  for (const std::string_view word : words) {
    if (word == "--json" || word == "--quiet" || word == "--explain") continue;
    if (word.starts_with('-')) return bad_input(fmt::format("unknown option {}", word), command);
    if (!operand.empty()) return bad_input(fmt::format("one argument too many: {}", word), command);
    operand = word;
  }
  return operand;
}

Result<Answered> gpus(Arguments words) {
  const Result<std::string> id = operand_of(words, "gpus");
  if (!id) return tl::unexpected(id.error());
  const Result<std::vector<Gpu>> found = gpus_named(*id);
  if (!found) return tl::unexpected(found.error());
  return Answered{gpus_json(*found), ExitCode::fits};
}

Result<Answered> models(Arguments words, const Outside& outside) {
  const Result<std::string> name = operand_of(words, "models");
  if (!name) return tl::unexpected(name.error());
  if (name->empty()) return Answered{models_json(), ExitCode::fits};
  const Result<ModelSource> source = outside.model(*name);
  if (!source) return tl::unexpected(source.error());
  const ModelFacts facts = facts_of(*source);
  if (source->config)
    if (const Result<void> checked = source->config->check(); !checked)
      return tl::unexpected(checked.error());
  return Answered{model_json(facts), ExitCode::fits};
}

Result<Answered> answer_words(Arguments words, Form form, const Outside& outside) {
  if (words.empty())
    return bad_input("names no command", "request.argv", fmt::format("{}", kCommands.front()));
  const std::string_view first = words.front();
  const auto dashes = std::ranges::find(words, std::string_view("--"));
  if (first.starts_with('-') && dashes != words.end())
    return launch({words.begin(), dashes}, {dashes + 1, words.end()}, form, outside);
  const Arguments rest = words.subspan(1);
  if (first == "train") return train_words(rest, form, outside);
  if (first == "serve") return serve_words(rest, form, outside);
  if (first == "fits") return fits_words(rest, form, outside);
  if (first == "plan") return plan(rest, form, outside);
  if (first == "models") return models(rest, outside);
  if (first == "gpus") return gpus(rest);
  if (first == "options") return Answered{options_json(), ExitCode::fits};
  return bad_input(fmt::format("unknown command {}", first), {}, suggestion(first, kCommands));
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

Result<Answered> answer_request(const Request& request, const Outside& outside) {
  if (request.form == Form::argv) return Answered{argv_json(request.words), ExitCode::fits};
  PlainWords words;
  for (const std::string& word : request.words) words.push_back(word.c_str());
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
