// SPDX-License-Identifier: Apache-2.0
// `memtape verify train MODEL`: the predicted step beside the same step run by real torch on a
// phantom GPU. `memtape record train MODEL`: that step alone, as a row of truth with its tape and
// its trace.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "device_options.h"
#include "phantom/real_step.h"
#include "predict/program.h"
#include "predict/settings.h"
#include "predict/step_play.h"
#include "report/verification.h"
#include "show_verification.h"
#include "sources/model_source.h"
#include "train_request.h"
#include "workload/training_arguments.h"

namespace memtape::cli {
namespace {

namespace fs = std::filesystem;

/// Kernels choose as on an A100 where no GPU is named, here as in a prediction.
constexpr std::string_view kUsualGpu = "a100-80gb";

Result<void> check_recipe(const TrainRecipe& recipe) {
  const bool trainer = recipe.framework == Framework::transformers;
  if (!trainer && recipe.framework != Framework::torch)
    return unsupported("only one GPU's step can be run beside a prediction", "--framework",
                       "--framework torch or transformers");
  if (recipe.quantization) return unsupported("the script cannot quantize", "verify");
  if (recipe.trainer.sft) return unsupported("the script runs Trainer, not trl", "verify");
  if (!trainer && recipe.checkpointing == Checkpointing::full_reentrant)
    return unsupported("the script cannot checkpoint reentrantly", "verify");
  return {};
}

struct Question {
  TrainRequest request;
  sources::ModelSource source;
  TrainRecipe recipe;
  std::vector<Setting> settings;
  Gpu gpu;
  std::string placement = "linux";
};

/// What the script is told: the settings as the answer repeats them and, for Trainer, the
/// TrainingArguments and the LoraConfig as they were typed.
std::vector<Setting> script_settings(const TrainRecipe& recipe, OptionValues values) {
  std::vector<Setting> settings = resolved_settings(recipe);
  if (recipe.framework != Framework::transformers) return settings;
  nlohmann::json words = nlohmann::json::array();
  for (const auto& [name, value] : values) {
    if (is_training_argument(name))
      words.insert(words.end(), {"--" + name, value.empty() ? "true" : value});
    if (name == "peft") settings.push_back({"peft", value});
  }
  settings.push_back({"training_arguments", words.dump()});
  return settings;
}

Result<Question> question_of(const RawOptions& options) {
  const Result<TrainRequest> request = train_request(options);
  if (!request) return tl::unexpected(request.error());
  if (const Result<void> can = check_recipe(request->recipe); !can)
    return tl::unexpected(can.error());
  auto source = sources::find_model_source(options.model, sources::HubSettings::of_process());
  if (!source) return tl::unexpected(source.error());
  if (!source->config) return unsupported("no config.json", source->where);
  const TrainRecipe recipe = resolved(request->recipe, *source->config);
  const std::string* placement = last_value(options.values, "driver-placement");
  return Question{.request = *request,
                  .source = std::move(*source),
                  .recipe = recipe,
                  .settings = script_settings(recipe, options.values),
                  .gpu = request->device.gpu ? *request->device.gpu : find_gpu(kUsualGpu).value(),
                  .placement = placement ? *placement : "linux"};
}

phantom_run::Recipe recipe_of(const TrainRecipe& recipe) {
  if (recipe.framework != Framework::transformers) return phantom_run::Recipe::train_step;
  return recipe.program.is_plain_loop ? phantom_run::Recipe::accelerate_step
                                      : phantom_run::Recipe::trainer_step;
}

phantom_run::StepRequest step_of(const Question& q, const VerifyOptions& options) {
  return {.recipe = recipe_of(q.recipe),
          .name = options.id.empty() ? q.source.id : options.id,
          .config = *q.source.config,
          .settings = q.settings,
          .gpu = q.gpu,
          .placement = q.placement,
          .python = options.python};
}

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

Result<report::Verification> verification_of(const Question& q, const phantom_run::RealStep& real) {
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

Result<std::string> show_script(const Question& q, const VerifyOptions& options) {
  return phantom_run::step_script(step_of(q, options), "/tmp");
}

std::vector<std::string> row_arguments(const RawOptions& options) {
  std::vector<std::string> words{"train", "{config}"};
  for (const auto& [name, value] : options.values) {
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
Result<void> keep(const Question& q, const VerifyOptions& options,
                  const phantom_run::RealStep& real, const phantom_run::RunFolder& folder) {
  const std::string id = step_of(q, options).name;
  std::string stem = id;
  std::ranges::replace(stem, '/', '_');
  const fs::path into = options.into;
  for (const auto& [file, end] :
       {std::pair("step.tape", ".tape"), std::pair("trace.jsonl.gz", ".jsonl.gz")})
    if (const Result<void> kept =
            keep_file(folder.path() / file, into / "torch_traces" / (stem + end));
        !kept)
      return kept;
  nlohmann::ordered_json row{
      {"id", id}, {"model", q.source.id}, {"args", row_arguments(options.train)}};
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

}  // namespace

int run_verify(const VerifyOptions& options, Terminal& terminal) {
  const Result<Question> question = question_of(options.train);
  if (!question) return terminal.fail(question.error());
  if (options.show_script) {
    const Result<std::string> script = show_script(*question, options);
    if (!script) return terminal.fail(script.error());
    terminal.print(*script);
    return ExitCode::fits;
  }
  const auto folder = phantom_run::RunFolder::make();
  if (!folder) return terminal.fail(folder.error());
  const auto real = phantom_run::run_step(step_of(*question, options), *folder);
  if (!real) return terminal.fail(real.error());
  if (options.records) {
    if (const Result<void> kept = keep(*question, options, *real, *folder); !kept)
      return terminal.fail(kept.error());
    if (!options.train.output.quiet)
      terminal.print(fmt::format("{}: recorded by {}\n", question->source.id, real->stack));
    return ExitCode::fits;
  }
  const Result<report::Verification> v = verification_of(*question, *real);
  if (!v) return terminal.fail(v.error());
  return show(*v, options.train.output, terminal);
}

}  // namespace memtape::cli
