// SPDX-License-Identifier: Apache-2.0
// `memtape scoreboard FILE...`: replays truth rows in this process and says how often the answer is
// right to the byte.
#include <algorithm>
#include <filesystem>

#include "answer/serve_request.h"
#include "answer/side_models.h"
#include "answer/train_request.h"
#include "asked.h"
#include "commands.h"
#include "gzip_file.h"
#include "outside_process.h"
#include "report/json.h"
#include "report/score.h"
#include "report/serve_json.h"
#include "truth_rows.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kMostRowBytes = std::size_t{256} << 20;

Result<answer::Launched> request_of(const TruthRow& row) {
  const std::string command = row.args.empty() ? "" : row.args.front();
  if (command == "train" || command == "serve") return asked_by(row.args);
  return unsupported("only train and serve are replayed", row.id);
}

/// An answer as JSON, and the family of its model.
struct Answered {
  std::string json, family;
};

struct Predict {
  const TruthRow& row;
  const Config& config;
  const Config* assistant = nullptr;  ///< of generate()'s assistant

  Result<Answered> operator()(const RawOptions& options) const {
    const Result<answer::TrainRequest> request = train_request(options, outside_process());
    if (!request) return tl::unexpected(request.error());
    const auto answer = predict_train({.id = row.id, .config = config}, request->recipe,
                                      request->device, {.largest = 0, .advise = false});
    if (!answer) return tl::unexpected(answer.error());
    return Answered{report::json(answer->prediction), answer->prediction.model.family};
  }
  Result<Answered> operator()(const ServeCommand& command) const {
    const Result<answer::SideModels> beside =
        assistant ? answer::SideModels::drafted_by("assistant", *assistant)
                  : answer::SideModels::read(command, outside_process());
    if (!beside) return tl::unexpected(beside.error());
    ServeRequest model;
    model.id = row.id;
    model.config = &config;
    const auto answer =
        answer::answer_serve(command, beside->beside(std::move(model)), outside_process());
    if (!answer) return tl::unexpected(answer.error());
    return Answered{report::json(*answer), answer->model.family};
  }
};

Result<Answered> predict(const TruthRow& row) {
  const Result<answer::Launched> request = request_of(row);
  if (!request) return tl::unexpected(request.error());
  const Result<Config> config = Config::parse(row.config, "config");
  if (!config) return tl::unexpected(config.error());
  if (row.assistant.empty()) return std::visit(Predict{row, *config}, *request);
  const Result<Config> assistant = Config::parse(row.assistant, "assistant");
  if (!assistant) return tl::unexpected(assistant.error());
  return std::visit(Predict{row, *config, &*assistant}, *request);
}

std::string option_of(const TruthRow& row, std::string_view name) {
  const auto at = std::find(row.args.begin(), row.args.end(), name);
  return at == row.args.end() || at + 1 == row.args.end() ? "" : *(at + 1);
}

/// What the tables of the markdown are cut by.
std::vector<std::pair<std::string, std::string>> groups_of(const TruthRow& row,
                                                           const std::string& family) {
  if (!option_of(row, "--engine").empty())
    return {{"family", family}, {"engine", option_of(row, "--engine")}};
  const bool lora = !option_of(row, "--lora-rank").empty();
  return {{"family", family},
          {"precision", option_of(row, "--precision")},
          {"attention", option_of(row, "--attention")},
          {"checkpointing", option_of(row, "--gradient-checkpointing")},
          {"optimizer", option_of(row, "--optimizer") + " " + option_of(row, "--optimizer-impl")},
          {"adapter", lora ? "LoRA" : "none"},
          {"GPU", option_of(row, "--gpu")}};
}

report::ScoredRow score(const TruthRow& row) {
  report::ScoredRow scored;
  scored.id = row.id;
  const Result<Answered> answer = predict(row);
  if (!answer) {
    scored.failure = answer.error().line();
    return scored;
  }
  scored.groups = groups_of(row, answer->family);
  const auto numbers = numbers_of(answer->json, row);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i])
      scored.values.push_back({row.expect[i].first, row.expect[i].second, *numbers[i]});
  return scored;
}

/// The rows of a file, with the configurations that they name.
Result<std::vector<TruthRow>> read_rows(const std::string& file) {
  const Result<std::string> text = read_gzip_file(file, kMostRowBytes);
  if (!text) return tl::unexpected(text.error());
  NamedConfigs configs;
  if (const std::string name = file_of_configs(*text); !name.empty()) {
    const std::string beside = (std::filesystem::path(file).parent_path() / name).string();
    const Result<std::string> lines = read_gzip_file(beside, kMostRowBytes);
    if (!lines) return tl::unexpected(lines.error());
    Result<NamedConfigs> named = parse_configs(*lines, beside);
    if (!named) return tl::unexpected(named.error());
    configs = *std::move(named);
  }
  return parse_truth_rows(*text, configs, file);
}

int run_scoreboard(const Words& words, Terminal& terminal) {
  std::vector<report::ScoredRow> scored;
  for (const std::string& file : words.operands) {
    const Result<std::vector<TruthRow>> rows = read_rows(file);
    if (!rows) return terminal.fail(rows.error());
    for (const TruthRow& row : *rows) scored.push_back(score(row));
  }
  const OutputOptions output = output_of(words);
  if (output.json)
    terminal.print(report::score_json(scored));
  else if (words.has("markdown"))
    terminal.print(report::score_markdown(scored));
  else
    terminal.print(report::score_text(scored, output.quiet ? 0 : 20));
  return ExitCode::fits;
}

constexpr Operand kTruth{"FILE", "truth rows (.jsonl)", true, true};
constexpr auto kScoreboardOptions = std::to_array<Option>({
    {"--markdown", "", "tables for docs/accuracy.md"},
});

}  // namespace

const Command kScoreboardCommand{
    .name = "scoreboard",
    .usage = "FILE...",
    .summary = "replay truth rows: how often right to the byte",
    .explanation =
        "each row's command is answered anew, and its figures are laid beside those of "
        "the row; right to the byte is a row whose figures all agree",
    .example = "memtape scoreboard tests/truth/torch_steps.jsonl",
    .operands = {&kTruth, 1},
    .own = kScoreboardOptions,
    .run = run_scoreboard,
};

}  // namespace memtape::cli
