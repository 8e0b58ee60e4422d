// SPDX-License-Identifier: Apache-2.0
#include "answer/plan_train.h"

#include "answer/plan_export.h"
#include "answer/plan_question.h"

namespace memtape::answer {
namespace {

/// The command of each plan, and what is to be said of them all.
void complete(PlanAnswer& answer, const RawOptions& options, const PlanQuestion& question) {
  for (PlanRow& plan : answer.plans) {
    if (!plan.command.empty()) continue;
    plan.command = {"memtape", "train", options.model};
    const auto add = [&plan](const std::string& name, const std::string& value) {
      plan.command.push_back("--" + name);
      if (!value.empty()) plan.command.push_back(value);
    };
    for (const auto& [name, value] : question.fields.front().job->said) add(name, value);
    for (const auto& [name, value] : plan.layout) add(name, value);
  }
  answer.warnings.insert(answer.warnings.end(), question.notes.begin(), question.notes.end());
}

}  // namespace

Result<PlanAnswer> plan_train(const RawOptions& options, const Outside& outside,
                              const PlanWatch& watch) {
  const auto asked = export_request(options.values);
  if (!asked) return tl::unexpected(asked.error());
  const Result<ModelSource> source = outside.model(options.model);
  if (!source) return tl::unexpected(source.error());
  if (!source->config)
    return unsupported("a checkpoint without a config.json says nothing about the step",
                       source->where, "put its config.json beside it");
  Result<PlanQuestion> question = plan_question(options, *source->config, outside);
  if (!question) return tl::unexpected(question.error());
  const ModelRequest model{.id = source->id,
                           .config = *source->config,
                           .header = source->header ? &*source->header : nullptr};
  if (*asked) question->search.written = (*asked)->plan;
  question->search.stopped = watch.stopped;
  question->search.progress = watch.progress;
  Result<PlanAnswer> answer =
      plan::search_plans(question->fields, model, question->device, question->search);
  if (!answer) return answer;
  if (answer->model.id.empty()) answer->model.id = source->id;
  complete(*answer, options, *question);
  if (const auto added =
          add_exports(*asked, options.model, *source->config, *question, outside, *answer);
      !added)
    return tl::unexpected(added.error());
  return answer;
}

}  // namespace memtape::answer
