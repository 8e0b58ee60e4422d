// SPDX-License-Identifier: Apache-2.0
#include "answer/plan_export.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "answer/device_options.h"
#include "base/typed_number.h"
#include "exports/export.h"
#include "formats/shell.h"
#include "framework/train_arguments.h"
#include "report/plan_text.h"
#include "workload/train_options.h"

namespace memtape::answer {
namespace {

Result<const PlanRow*> chosen(const ExportRequest& request, const PlanAnswer& answer) {
  const std::size_t plans = answer.plans.size();
  if (request.plan <= plans) return &answer.plans[request.plan - 1];
  return bad_input(
      fmt::format("there {} {} plan{}", plans == 1 ? "is" : "are", plans, plans == 1 ? "" : "s"),
      fmt::format("--plan {}", request.plan), fmt::format("1 to {}, or a larger --top", plans));
}

exports::Facts exported_facts(const PlanRow& plan, const PlanAnswer& answer,
                              const Outside& outside) {
  exports::Facts facts;
  facts.words = fmt::format("{} · {} · {} GPU{}", plan.framework, plan.words, plan.gpus,
                            plan.gpus == 1 ? "" : "s");
  if (answer.device) facts.gpu = answer.device->name;
  facts.memory = report::memory_words(plan);
  facts.time = report::time_words(plan, answer.question == "serve");
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
    if (const auto value = outside.variable(name)) facts.allocator = *value;
  return facts;
}

const plan::Field* field_of(const PlanRow& row, const answer::PlanQuestion& question) {
  for (const plan::Field& field : question.fields)
    if (field.job->recipe.framework->name == row.framework && field.job->gpus == row.gpus)
      return &field;
  return nullptr;
}

/// The options of the machine that is asked about, as words before the --.
std::string question_words(const NamedValues& said) {
  std::string words;
  for (const char* name : {"gpu", "gpu-memory-bytes", "context-bytes", "driver-placement", "with",
                           "transformers-version", "imbalance"})
    if (const std::string* value = last_value(said, name))
      words += fmt::format("{}--{} {}", words.empty() ? "" : " ", name, shell_quoted(*value));
  return words;
}

Result<exports::Export> training_files(const PlanRow& row, const std::string& model,
                                       const Config& config, const PlanQuestion& question,
                                       exports::Facts facts) {
  const plan::Field& field = *field_of(row, question);
  const auto recipe = field.reading.read(with_changes(field.reading.values, row.layout));
  if (!recipe) return tl::unexpected(recipe.error());
  facts.question = question_words(field.job->said);
  return exports::export_training({.model = model,
                                   .config = &config,
                                   .recipe = *recipe,
                                   .options = with_changes(field.job->said, row.layout),
                                   .gpus = row.gpus,
                                   .per_node = field.job->per_node,
                                   .micro_batches = row.micro_batches},
                                  facts);
}

Result<exports::Export> server_files(const PlanRow& row) {
  const exports::Facts facts{.words = fmt::format("{} · {}", row.framework, row.words),
                             .gpu = {},
                             .question = question_words(row.layout),
                             .memory = report::memory_words(row),
                             .time = report::time_words(row, true),
                             .allocator = {}};
  return exports::export_server({.model = row.model,
                                 .engine = row.framework,
                                 .options = row.layout,
                                 .gpus = row.gpus / row.instances,
                                 .instances = row.instances},
                                facts);
}

using FilesOf = std::function<Result<exports::Export>(const PlanRow&)>;

Result<void> add_each(const std::optional<ExportRequest>& request, PlanAnswer& answer,
                      const FilesOf& files_of) {
  const PlanRow* asked = nullptr;
  if (request && !answer.plans.empty()) {
    const Result<const PlanRow*> row = chosen(*request, answer);
    if (!row) return tl::unexpected(row.error());
    asked = *row;
  }
  for (PlanRow& row : answer.plans) {
    Result<exports::Export> files = files_of(row);
    if (files) row.launch = files->launch;
    if (&row != asked) continue;
    if (!files) return tl::unexpected(files.error());
    answer.files = std::move(files->files);
    answer.written_plan = request->plan;
  }
  return {};
}

}  // namespace

Result<std::optional<ExportRequest>> export_request(const NamedValues& values) {
  const std::string* folder = last_value(values, "export");
  for (const char* name : {"plan", "force"})
    if (!folder && last_value(values, name))
      return bad_input("says which plan is written, and none is", fmt::format("--{}", name),
                       "--export DIR, too");
  if (!folder) return std::optional<ExportRequest>();
  ExportRequest request{.folder = *folder, .force = last_value(values, "force") != nullptr};
  if (folder->empty()) return bad_input("names no folder", "--export", "--export DIR");
  if (const std::string* text = last_value(values, "plan")) {
    const std::optional<std::int64_t> plan = whole_number(*text);
    if (!plan || *plan < 1)
      return bad_input(fmt::format("unusable value \"{}\"", *text), "--plan",
                       "the number of a plan, from 1");
    request.plan = static_cast<std::size_t>(*plan);
  }
  return std::optional(std::move(request));
}

Result<void> add_exports(const std::optional<ExportRequest>& request, const std::string& model,
                         const Config& config, const PlanQuestion& question, const Outside& outside,
                         PlanAnswer& answer) {
  return add_each(request, answer, [&](const PlanRow& row) {
    return training_files(row, model, config, question, exported_facts(row, answer, outside));
  });
}

Result<void> add_server_exports(const std::optional<ExportRequest>& request, PlanAnswer& answer) {
  return add_each(request, answer, server_files);
}

}  // namespace memtape::answer
