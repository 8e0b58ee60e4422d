// SPDX-License-Identifier: Apache-2.0
#include "answer/command_options.h"

#include <algorithm>
#include <array>

#include "framework/train_arguments.h"

namespace memtape::answer {
namespace {

using option::Option;

constexpr std::string_view kPlan = "The plan", kServing = "Serving";

constexpr auto kAnswerOptions = std::to_array<Option>({
    {"--html", "FILE", "write a page with the interactive time line", kAnswerGroup},
    {"--snapshot", "FILE", "write a pickle for PyTorch's memory_viz", kAnswerGroup},
    {"--strict", "", "exit 1 also where it may not fit", kAnswerGroup},
    {"--rules", "", "the well-known rules of thumb beside the answer", kAnswerGroup},
    {"--csv", "", "the answer as CSV, alone on the output", kAnswerGroup},
    {"--json", "", "the answer as JSON, alone on the output", kAnswerGroup},
    {"--quiet", "", "only the answer itself", kAnswerGroup},
    {"--explain", "", "show how each number comes about", kAnswerGroup},
});

constexpr auto kPlanOptions = std::to_array<Option>({
    {"--objective", "{throughput,gpus,cost,headroom}", "what is best", kPlan, {}, "throughput"},
    {"--top", "N", "how many plans are shown", kPlan, {}, "5"},
    {"--gpus-per-node", "N", "GPUs that share fast links", kPlan, {}, "8"},
    {"--cluster", "NAME|FILE", "GPUs, nodes, links, host memory and price: dgx-h100, p5 ...",
     kPlan},
    {"--method", "{full,lora,qlora}", "how much is trained; several with commas", kPlan},
    {"--sharding", "{ddp,full,grad-op,hybrid}", "how data parallel ranks share the model", kPlan},
    {"--price", "X", "an hour of one GPU", kPlan},
    {"--export", "DIR", "write what launches a plan: its script and configurations", kPlan},
    {"--plan", "N", "which of the plans", kPlan, {}, "1"},
    {"--force", "", "write over files that are there", kPlan},
});

constexpr auto kPlanServeOptions = std::to_array<Option>({
    {"--available", "NxGPU,...", "the GPUs at hand, like 8xh100-80gb,4xa100-80gb", kPlan},
    {"--users", "N", "requests at a time", kPlan, {}, "1"},
    {"--context", "N", "tokens of a prompt, like 32k", kPlan, {}, "1024"},
    {"--output", "N", "tokens of an answer", kPlan, {}, "256"},
    {"--ttft", "TIME", "the longest time to a first token, like 2s", kPlan},
    {"--tpot", "TIME", "the longest time between tokens, like 50ms", kPlan},
    {"--engine", "{vllm,sglang,any}", "which engines", kPlan, {}, "vllm"},
    {"--allow-quantize", "NAME,...", "roundings of weights that are allowed", kPlan, {}, "none"},
    {"--price", "GPU=X,...", "an hour of one GPU", kPlan},
    {"--export", "DIR", "write what launches a plan: its script and containers", kPlan},
    {"--plan", "N", "which of the plans", kPlan, {}, "1"},
    {"--force", "", "write over files that are there", kPlan},
});

constexpr auto kServerQuestions = std::to_array<Option>({
    {"--engine-version", "TEXT", "of a server", kServing},
    {"--solve", "TEXT", "of a server", kServing},
    {"--compare", "[TEXT]", "of a server", kServing},
    {"--users", "TEXT", "of a server", kServing},
    {"--context", "TEXT", "of a server", kServing},
    {"--output", "TEXT", "of a server", kServing},
});

/// Every engine takes these.
constexpr auto kServeOptions = std::to_array<Option>({
    {"--engine", "NAME", "the inference engine"},
    {"--engine-version", "X.Y.Z", "its version"},
    {"--with", "PACKAGE==VERSION,...", "the releases meant, like vllm==0.32.0"},
    {"--gpu", "NAME", "the GPU to judge against (memtape gpus lists them)"},
    {"--gpus", "N", "how many of them"},
    {"--gpu-memory-bytes", "N", "total memory of the GPU, instead of the catalog's figure"},
    {"--context-bytes", "N", "memory of the CUDA context, instead of the catalog's figure"},
    {"--compare", "[GPU,GPU,...]",
     "a line for each GPU (all that run CUDA) and each of --quantize a,b,c"},
    {"--solve", "FLAG", "the largest value of that flag that fits"},
    {"--users", "N", "people at a time, each with --context and --output"},
    {"--context", "L", "tokens of a user's prompt: how many users are there room for?"},
    {"--output", "M", "tokens of a user's answer", {}, {}, "0"},
    {"--driver-placement", "{linux,first-fit}", "where the driver puts segments"},
});
constexpr auto kServeAnswer = std::to_array<Option>({
    {"--json", "", "the answer as JSON, alone on the output", kAnswerGroup},
    {"--quiet", "", "only the answer itself", kAnswerGroup},
    {"--strict", "", "exit code 1 where it may not fit, too", kAnswerGroup},
    {"--explain", "", "show how each number comes about", kAnswerGroup},
    {"--html", "FILE", "write a page with a bar for each GPU", kAnswerGroup},
    {"--help -h", "", "this text", kAnswerGroup},
});

/// Train's options that another command takes, too; other frameworks' arguments are taken by all.
void add_of_train(option::Commands taken_by, option::Table& table) {
  std::ranges::copy_if(all_train_options(), std::back_inserter(table),
                       [taken_by](const Option* o) { return (o->commands & taken_by) != 0; });
}

}  // namespace

std::span<const Option> answer_options() { return kAnswerOptions; }
std::span<const Option> output_options() { return std::span(kAnswerOptions).last(3); }
std::span<const Option> plan_options() { return kPlanOptions; }
std::span<const Option> plan_serve_options() { return kPlanServeOptions; }
std::span<const Option> serve_options() { return kServeOptions; }
std::span<const Option> serve_answer_options() { return kServeAnswer; }

option::Table plan_train_table() {
  option::Table table;
  option::add(plan_options(), table);
  add_of_train(option::kOfPlan, table);
  return table;
}

option::Table launch_table() {
  option::Table table;
  add_of_train(option::kOfLaunch, table);
  option::add(std::span<const Option>(kServerQuestions), table);
  return table;
}

bool is_server_question(std::string_view name) {
  return std::ranges::any_of(kServerQuestions, [&](const Option& o) { return o.name() == name; });
}

}  // namespace memtape::answer
