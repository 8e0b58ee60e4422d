// SPDX-License-Identifier: Apache-2.0
#include "answer/command_words.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "answer/counted_gpu.h"
#include "answer/fits.h"
#include "framework/train_arguments.h"

namespace memtape::answer {
namespace {

using option::Option;
using option::Syntax;
using option::Words;

constexpr std::string_view kPlan = "The plan", kServing = "Serving";

constexpr auto kAnswerOptions = std::to_array<Option>({
    {"--html", "FILE", "write a page with the interactive time line", kAnswerGroup},
    {"--snapshot", "FILE", "write a pickle for PyTorch's memory_viz", kAnswerGroup},
    {"--strict", "", "exit 1 also where it may not fit", kAnswerGroup},
    {"--rules", "", "the well-known rules of thumb beside the answer", kAnswerGroup},
    {"--csv", "", "the answer as CSV, alone on the output", kAnswerGroup},
    {"--json", "", "the answer as JSON, alone on the output", kAnswerGroup},
    {"--quiet", "", "one line for each thing asked: NAME: figures", kAnswerGroup},
    {"--explain", "", "show how each number comes about", kAnswerGroup},
});

constexpr auto kPlanOptions = std::to_array<Option>({
    {"--objective", "{throughput,gpus,cost,headroom}", "what is best", kPlan, {}, "throughput"},
    {"--top", "N", "how many plans are shown", kPlan, {}, "5"},
    {"--gpus-per-node", "N", "GPUs that share fast links", kPlan, {}, "8"},
    {"--cluster", "NAME|FILE", "GPUs, nodes, links, memory and price: dgx-h100, p5 ...", kPlan},
    {"--method", "{full,lora,qlora}", "how much is trained; several with commas", kPlan},
    {"--sharding", "{ddp,full,full-sync,grad-op,hybrid}", "how data parallel ranks share the model",
     kPlan},
    {"--price", "X|GPU=X,...", "an hour of one GPU", kPlan},
    {"--export", "DIR", "write what launches a plan: its script and configurations", kPlan},
    {"--plan", "N", "which of the plans", kPlan, {}, "1"},
    {"--force", "", "write over files that are there", kPlan},
});

constexpr auto kPlanServeOptions = std::to_array<Option>({
    Option{"--available", "NxGPU,...", "the GPUs at hand, like 8xh100-80gb,4xa100-80gb", kPlan}
        .people_say("--gpu --gpus --compare"),
    {"--users", "N", "requests at a time", kPlan, {}, "1"},
    {"--context", "N", "tokens of a prompt, like 32k", kPlan, {}, "1024"},
    {"--output", "N", "tokens of an answer", kPlan, {}, "256"},
    {"--ttft", "TIME", "the longest time to a first token, like 2s", kPlan},
    {"--tpot", "TIME", "the longest time between tokens, like 50ms", kPlan},
    {"--engine", "{vllm,sglang,any}", "which engines", kPlan, {}, "vllm"},
    {"--allow-quantize", "NAME,...",
     "roundings of weights that are allowed, or checkpoint: quantized ones that exist", kPlan,
     option::Text{}, "none"},
    {"--price", "X|GPU=X,...", "an hour of one GPU", kPlan},
    {"--export", "DIR", "write what launches a plan: its script and containers", kPlan},
    {"--plan", "N", "which of the plans", kPlan, {}, "1"},
    {"--force", "", "write over files that are there", kPlan},
});

constexpr auto kPlanAnswer = std::to_array<Option>({
    {"--csv", "", "the plans as CSV, alone on the output", kAnswerGroup},
    {"--html", "FILE", "write a page of the plans, their time and pipeline", kAnswerGroup},
    {"--why", "", "each plan's time by part, and why not what people expect", kAnswerGroup},
});
constexpr auto kFitsAnswer = std::to_array<Option>({
    {"--strict", "", "without what may not fit", kAnswerGroup},
});

constexpr auto kServerQuestions = std::to_array<Option>({
    {"--engine-version", "TEXT", "of a server", kServing},
    {"--solve", "TEXT", "of a server", kServing},
    {"--compare", "[TEXT]", "of a server", kServing},
    {"--users", "TEXT", "of a server", kServing},
    {"--context", "TEXT", "of a server", kServing},
    {"--output", "TEXT", "of a server", kServing},
});

/// Train's options that another command takes, too; other frameworks' arguments are taken by all.
option::Table of_train(option::Commands taken_by) {
  option::Table table = all_train_options();
  std::erase_if(table, [taken_by](const Option* o) { return (o->commands & taken_by) == 0; });
  return table;
}

Syntax made_of(std::string_view command, std::vector<option::Operand> operands,
               std::initializer_list<option::Table> tables) {
  Syntax syntax{.command = command, .operands = std::move(operands)};
  for (const option::Table& table : tables)
    syntax.table.insert(syntax.table.end(), table.begin(), table.end());
  return syntax;
}

/// What the question's options come to: those of the table that neither say how to answer nor
/// stand in `besides`.
option::Table question_of(const Words& words, std::span<const Option> besides) {
  option::Table question = words.table;
  std::erase_if(question, [&](const Option* option) {
    const bool is_beside = std::ranges::any_of(besides, [&](auto& o) { return &o == option; });
    return is_beside || option->group.name == kAnswerGroup || option == &option::kHelp;
  });
  return question;
}

/// What was typed of the table, in that order; a switch has the value "".
NamedValues typed_of(const Words& words, const option::Table& table) {
  NamedValues typed;
  for (const auto& [option, value] : words.typed)
    if (std::ranges::find(table, option) != table.end())
      typed.emplace_back(option->name(), option->is_switch() ? "" : value);
  return typed;
}

}  // namespace

option::Table output_options() { return option::table_of(std::span(kAnswerOptions).last(3)); }

Syntax train_syntax() {
  return made_of("train", {kModel}, {all_train_options(), option::table_of(kAnswerOptions)});
}

Syntax plan_train_syntax() {
  return made_of("plan train", {kModel},
                 {option::table_of(kPlanOptions), of_train(option::kOfPlan),
                  option::table_of(kPlanAnswer), output_options()});
}

Syntax plan_serve_syntax() {
  return made_of(
      "plan serve",
      {{.name = kModel.name, .help = "catalog name, hub id or directory", .meant = kModel.meant}},
      {option::table_of(kPlanServeOptions), option::table_of(kPlanAnswer), output_options()});
}

Syntax fits_syntax() {
  Syntax syntax =
      made_of("fits", {},
              {option::table_of(fits_options()), option::table_of(kFitsAnswer), output_options()});
  syntax.too_many = "fits lists the models for a GPU; of one model: memtape serve or train MODEL";
  return syntax;
}

Syntax launch_syntax() {
  Syntax syntax = made_of("-- COMMAND...", {},
                          {of_train(option::kOfLaunch), option::table_of(kServerQuestions),
                           option::table_of(kAnswerOptions)});
  syntax.takes_tail = true;
  return syntax;
}

bool is_server_question(std::string_view name) {
  return option::named(option::table_of(kServerQuestions), name) != nullptr;
}

OutputOptions output_of(const Words& words) {
  return {.json = words.has("json"),
          .quiet = words.has("quiet"),
          .explain = words.has("explain"),
          .strict = words.has("strict")};
}

RawOptions asked_of(const Words& words, std::size_t model, std::span<const Option> besides) {
  const option::Table question = question_of(words, besides);
  NamedValues values = option::in_table_order(words, question), typed = typed_of(words, question);
  separate_gpu_count(values);
  separate_gpu_count(typed);
  return {.model = words.operand(model),
          .values = std::move(values),
          .typed = std::move(typed),
          .html = words.text("html"),
          .snapshot = words.text("snapshot"),
          .csv = words.has("csv"),
          .rules = words.has("rules"),
          .output = output_of(words)};
}

Result<Words> Told::by(const Syntax& syntax) const {
  return is_values ? option::read_values(syntax, operands, values)
                   : option::read_words(syntax, words);
}

}  // namespace memtape::answer
