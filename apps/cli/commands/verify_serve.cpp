// SPDX-License-Identifier: Apache-2.0
// `memtape verify serve MODEL --engine NAME`: the predicted server beside the engine itself, run on
// a phantom GPU. What is compared is every figure that the engine's recipe reads off.
#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "answer/serve_request.h"
#include "answer/side_models.h"
#include "commands.h"
#include "framework/transformers/serve.h"
#include "outside_process.h"
#include "phantom/real_step.h"
#include "predict/serve.h"
#include "predict/serve_question.h"
#include "predict/step_play.h"
#include "report/serve_json.h"
#include "report/verification.h"
#include "show_verification.h"

namespace memtape::cli {
namespace {

using MeasuredJson = nlohmann::json;
using phantom_run::Recipe;

/// An engine that can be run: its recipe, and the settings its script is told.
struct Runnable {
  Recipe recipe;
  std::vector<Setting> settings;
};

/// vLLM's own flags as they were typed, and those whose defaults depend on how vLLM is started.
std::vector<Setting> vllm_settings(const ServeCommand& command, const ServeAnswer& answer) {
  constexpr auto kOurs =
      std::to_array<std::string_view>({"engine-version", "gpu", "gpus", "gpu-memory-bytes",
                                       "context-bytes", "driver-placement", "usage-context"});
  MeasuredJson words = MeasuredJson::array();
  for (const auto& [name, value] : command.values) {
    if (name == "engine" || std::ranges::find(kOurs, name) != kOurs.end()) continue;
    words.push_back("--" + name);
    if (!value.empty()) words.push_back(value);
  }
  for (const auto& [setting, flag] :
       {std::pair("max_num_batched_tokens", "--max-num-batched-tokens"),
        std::pair("max_num_seqs", "--max-num-seqs")})
    for (const Setting& s : answer.workload)
      if (s.name == setting) words.insert(words.end(), {std::string(flag), s.json_value});
  return {{"flags", words.dump()}};
}

/// generate()'s settings, with the configuration of the assistant in place of its name.
std::vector<Setting> generate_settings(const ServeRequest& request, const ServeAnswer& answer) {
  std::vector<Setting> settings = answer.workload;
  if (request.draft.config) settings.push_back({"assistant_config", request.draft.config->json()});
  return settings;
}

Result<Runnable> runnable(const ServeCommand& command, const ServeRequest& request,
                          const ServeAnswer& answer) {
  if (answer.ranks.size() > 1 || answer.ranks.front().ranks.size() > 1)
    return unsupported("only one GPU's server can be run beside a prediction", "verify",
                       "--tensor-parallel-size 1");
  const auto engine = find_serve_engine(command.engine);
  if (!engine) return tl::unexpected(engine.error());
  switch ((*engine)->real) {
    case RealServer::generate:
      return Runnable{Recipe::generate_step, generate_settings(request, answer)};
    case RealServer::start: return Runnable{Recipe::vllm_start, vllm_settings(command, answer)};
    case RealServer::none: break;
  }
  std::vector<std::string_view> runnable;
  for (const ServeEngine& one : serve_engines())
    if (one.real != RealServer::none) runnable.push_back(one.name);
  std::ranges::sort(runnable);
  return unsupported("this engine is no Python program that could be run",
                     "--engine " + command.engine, fmt::format("{}", fmt::join(runnable, " or ")));
}

/// Every number of the real run at its dotted path, beside the prediction's at that path: of the
/// rank, else at the top.
void add_figures(const MeasuredJson& real, const MeasuredJson& predicted, const std::string& path,
                 std::vector<report::Figure>& figures) {
  for (const auto& [key, value] : real.items()) {
    const auto at = predicted.is_object() ? predicted.find(key) : predicted.end();
    const MeasuredJson& beside = at == predicted.end() ? MeasuredJson() : *at;
    if (value.is_object())
      add_figures(value, beside, path + key + ".", figures);
    else if (value.is_number_integer() && beside.is_number_integer())
      figures.push_back({path + key, beside.get<std::int64_t>(), value.get<std::int64_t>()});
  }
}

Result<report::Verification> server_verification(const ServeRequest& request,
                                                 const ServeAnswer& answer,
                                                 const phantom_run::RealStep& real) {
  report::Verification v{.model = request.id, .stack = real.stack, .figures = {}, .tape = {}};
  const MeasuredJson predicted = MeasuredJson::parse(report::json(answer), nullptr, false);
  add_figures(MeasuredJson::parse(real.expect_json, nullptr, false), predicted.at("ranks").at(0),
              "", v.figures);
  if (v.figures.empty())
    return tl::unexpected(
        Error{ErrorKind::internal, "the real run left no figures", real.stack, {}});
  if (real.tape_text.empty()) return v;
  const auto run = transformers::run_generate(request);
  if (!run) return tl::unexpected(run.error());
  const auto tape = parse_step_tape(real.tape_text, "the real step");
  if (!tape) return tl::unexpected(tape.error());
  v.tape = report::compare_tapes(run->tape, first_event_of_step(run->tape, 0), *tape);
  return v;
}

/// The question as the engine is asked it.
struct Question {
  ServeRequest request;
  ServeAnswer answer;
  Runnable runnable;
};

Result<Question> question_of(const ServeCommand& command, ServeRequest model) {
  const auto asked = answer::asked_server(command, std::move(model), outside_process());
  if (!asked) return tl::unexpected(asked.error());
  const ServeRequest& request = asked->request;
  if (!request.config) return unsupported("no config.json", request.id);
  if (!request.device.gpu)
    return memtape::bad_input("is missing", "--gpu", "verify serve: --gpu a100-80gb");
  auto answer = answer_question(asked->engine, request);
  if (!answer) return tl::unexpected(answer.error());
  auto runs = runnable(command, request, *answer);
  if (!runs) return tl::unexpected(runs.error());
  return Question{request, *std::move(answer), *std::move(runs)};
}

phantom_run::StepRequest server_step(const Question& q, const std::string& python) {
  const DeviceSetup& device = q.request.device;
  return {.recipe = q.runnable.recipe,
          .name = q.request.id,
          .config = *q.request.config,
          .settings = q.runnable.settings,
          .gpu = *device.gpu,
          .placement = device.placement == DriverPlacement::first_fit ? "first-fit" : "linux",
          .python = python,
          .total_bytes = device.total_bytes(),
          .context_bytes = device.context_bytes()};
}

int verified(const Question& q, const phantom_run::StepRequest& step, const OutputOptions& output,
             Terminal& terminal) {
  const auto folder = phantom_run::RunFolder::make();
  if (!folder) return terminal.fail(folder.error());
  const auto real = phantom_run::run_step(step, *folder);
  if (!real) return terminal.fail(real.error());
  const Result<report::Verification> v = server_verification(q.request, q.answer, *real);
  if (!v) return terminal.fail(v.error());
  return show(*v, output, terminal);
}

}  // namespace

int verify_server(const Words& words, std::span<const Option> own, Terminal& terminal) {
  const Result<ServeCommand> command = answer::server_of(words, 1, own);
  if (!command) return terminal.fail(command.error());
  const auto source = outside_process().model(command->model);
  if (!source) return terminal.fail(source.error());
  const auto beside = answer::SideModels::read(*command, outside_process());
  if (!beside) return terminal.fail(beside.error());
  const Result<Question> question = question_of(*command, beside->beside(answer::served(*source)));
  if (!question) return terminal.fail(question.error());
  const phantom_run::StepRequest step = server_step(*question, words.text("python"));
  return words.has("show-script") ? show(phantom_run::step_script(step, "/tmp"), terminal)
                                  : verified(*question, step, command->output, terminal);
}

}  // namespace memtape::cli
