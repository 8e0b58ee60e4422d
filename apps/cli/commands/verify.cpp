// SPDX-License-Identifier: Apache-2.0
// `memtape verify train MODEL`: the predicted step beside the same step run by real torch on a
// phantom GPU. `memtape record train MODEL`: that step alone, as a row of truth with its tape and
// its trace.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "predict/program.h"
#include "predict/step_play.h"
#include "real_question.h"
#include "report/verification.h"
#include "show_verification.h"

namespace memtape::cli {
namespace {

namespace fs = std::filesystem;

/// The figure at a dotted path of the real step's JSON; -1 where it has none.
std::int64_t real_figure(const nlohmann::json& expect, const std::string& path) {
  const nlohmann::json* at = &expect;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const auto found = at->find(path.substr(from, dot - from));
    if (found == at->end()) return -1;
    at = &*found;
    from = dot + 1;
  }
  return at->is_number_integer() ? at->get<std::int64_t>() : -1;
}

Result<report::Verification> training_verification(const RealQuestion& q,
                                                   const phantom_run::RealStep& real) {
  const ModelRequest model{.id = q.source.id, .config = *q.source.config, .header = nullptr};
  const auto answer = predict_train(model, q.request.recipe, q.request.device, {.advise = false});
  if (!answer) return tl::unexpected(answer.error());
  const auto run = run_program(*q.source.config, q.recipe, device_traits(q.request.device));
  if (!run) return tl::unexpected(run.error());
  const auto tape = parse_step_tape(real.tape_text, "the real step");
  if (!tape) return tl::unexpected(tape.error());
  report::Verification v{.model = q.source.id,
                         .stack = real.stack,
                         .figures = report::predicted_figures(answer->prediction),
                         .tape = report::compare_tapes(
                             run->tape, first_event_of_step(run->tape, torch::kSteps - 1), *tape)};
  const nlohmann::json expect = nlohmann::json::parse(real.expect_json, nullptr, false);
  for (report::Figure& f : v.figures) f.real = real_figure(expect, f.name);
  return v;
}

std::vector<std::string> row_arguments(const RawOptions& options) {
  std::vector<std::string> words{"train", "{config}"};
  for (const auto& [name, value] : options.values) {
    if (name == "python") continue;  // the row's stack says what ran
    words.push_back("--" + name);
    words.push_back(value);
  }
  return words;
}

Result<void> keep_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return memtape::bad_input("cannot be written: " + error.message(), to.string());
  return {};
}

/// Appends the row to torch_steps.jsonl and puts tape and trace beside it.
Result<void> keep(const RealQuestion& q, const RawOptions& asked,
                  const phantom_run::StepRequest& step, const std::string& folder_of_rows,
                  const phantom_run::RealStep& real, const phantom_run::RunFolder& folder) {
  const std::string id = step.name;
  std::string stem = id;
  std::ranges::replace(stem, '/', '_');
  const fs::path into = folder_of_rows;
  for (const auto& [file, end] :
       {std::pair("step.tape", ".tape"), std::pair("trace.jsonl.gz", ".jsonl.gz")})
    if (const Result<void> kept =
            keep_file(folder.path() / file, into / "torch_traces" / (stem + end));
        !kept)
      return kept;
  nlohmann::ordered_json row{{"id", id}, {"model", q.source.id}, {"args", row_arguments(asked)}};
  row["config"] = nlohmann::ordered_json::parse(q.source.config->json(), nullptr, false);
  row["stack"] = real.stack;
  row["expect"] = nlohmann::ordered_json::parse(real.expect_json, nullptr, false);
  row["trace"] = "torch_traces/" + stem + ".jsonl.gz";
  row["tape"] = "torch_traces/" + stem + ".tape";
  std::ofstream file(into / "torch_steps.jsonl", std::ios::app);
  file << row.dump() << "\n";
  file.close();
  if (!file) return memtape::bad_input("cannot be written", (into / "torch_steps.jsonl").string());
  return {};
}

constexpr auto kVerifyOptions = std::to_array<Option>({
    {"--show-script", "", "print the script of the real step and stop"},
});
/// Beside a server's own options.
constexpr auto kVerifyServerOptions = std::to_array<Option>({
    kVerifyOptions.front(),
    {"--python", "PATH", "the interpreter that runs the engine"},
});
constexpr auto kRecordOptions = std::to_array<Option>({
    {"--show-script", "", "print the script of the real step and stop"},
    {"--into", "FOLDER", "folder for the row, its tape and its trace"},
    {"--id", "NAME", "name of the row"},
});
constexpr std::array kVerifyOperands{
    Operand{"STEP", "what is run: train, or serve with its own options"}, answer::kModel};
constexpr std::array kRecordOperands{Operand{"STEP", "what is run: train"}, answer::kModel};

int run_step(const Words& words, bool records, Terminal& terminal) {
  const RawOptions asked = answer::asked_of(
      words, 1, records ? std::span<const Option>(kRecordOptions) : kVerifyOptions);
  const Result<RealQuestion> question = real_question(asked);
  if (!question) return terminal.fail(question.error());
  const phantom_run::StepRequest step = step_of(*question, words.text("python"), words.text("id"));
  if (words.has("show-script")) return show(phantom_run::step_script(step, "/tmp"), terminal);
  const auto folder = phantom_run::RunFolder::make();
  if (!folder) return terminal.fail(folder.error());
  const auto real = phantom_run::run_step(step, *folder);
  if (!real) return terminal.fail(real.error());
  if (records) {
    if (const Result<void> kept = keep(*question, asked, step, words.text("into"), *real, *folder);
        !kept)
      return terminal.fail(kept.error());
    if (!asked.output.quiet)
      terminal.print(fmt::format("{}: recorded by {}\n", question->source.id, real->stack));
    return ExitCode::fits;
  }
  const Result<report::Verification> v = training_verification(*question, *real);
  if (!v) return terminal.fail(v.error());
  return show(*v, asked.output, terminal);
}

int refuse(std::string_view command, std::string what, Terminal& terminal) {
  return terminal.fail(option::mistake({.command = command}, std::move(what)));
}

int run_verify(const Words& words, Terminal& terminal) {
  if (words.operand() == "serve") return verify_server(words, kVerifyServerOptions, terminal);
  if (words.operand() == "train") return run_step(words, false, terminal);
  return refuse("verify",
                fmt::format("cannot run a step of '{}', only of train and serve", words.operand()),
                terminal);
}

int run_record(const Words& words, Terminal& terminal) {
  if (words.operand() != "train")
    return refuse("record",
                  fmt::format("cannot run a step of '{}', only of train", words.operand()),
                  terminal);
  if (!words.has("into")) return refuse("record", "--into is required", terminal);
  return run_step(words, true, terminal);
}

Result<Syntax> verify_syntax(Arguments typed) {
  if (typed.empty() || typed.front() != std::string_view("serve"))
    return declared_syntax(kVerifyCommand);
  Result<Syntax> syntax = answer::serve_syntax({.words = typed});
  if (!syntax) return syntax;
  syntax->operands.insert(syntax->operands.begin(), kVerifyOperands.front());
  option::add(std::span<const Option>(kVerifyServerOptions), syntax->table);
  return syntax;
}

/// Also of `record`.
constexpr std::string_view kVerified =
    "the prediction's own step is run by real torch on a phantom GPU, and both are compared event "
    "by "
    "event (docs/phantom.md)";

}  // namespace

const Command kVerifyCommand{
    .name = "verify",
    .usage = "STEP MODEL",
    .summary = "a prediction beside real torch on a phantom GPU",
    .explanation = kVerified,
    .example = "memtape verify train Qwen/Qwen3-0.6B --sequence-length 512",
    .first =
        "framework micro-batch-size sequence-length precision optimizer lora-rank gpus keep json",
    .operands = kVerifyOperands,
    .own = kVerifyOptions,
    .takes_train = true,
    .syntax = verify_syntax,
    .run = run_verify,
};

const Command kRecordCommand{
    .name = "record",
    .usage = "train MODEL",
    .summary = "that real step as a row of truth",
    .explanation = kVerified,
    .example = "memtape record train Qwen/Qwen3-0.6B --into rows",
    .first =
        "into framework micro-batch-size sequence-length precision optimizer lora-rank gpus json",
    .operands = kRecordOperands,
    .own = kRecordOptions,
    .takes_train = true,
    .run = run_record,
};

}  // namespace memtape::cli
