// SPDX-License-Identifier: Apache-2.0
#include "answer/plan_options.h"

#include <algorithm>
#include <array>

namespace memtape::answer {
namespace {

constexpr std::string_view kPlan = "The plan";

constexpr auto kPlanOptions = std::to_array<NamedOption>({
    {"objective", "{throughput,gpus,cost,headroom}", "what is best (throughput)", kPlan},
    {"top", "N", "how many plans are shown (5)", kPlan},
    {"gpus-per-node", "N", "GPUs that share fast links (8)", kPlan},
    {"cluster", "NAME|FILE", "GPUs, nodes, links, host memory and price: dgx-h100, p5 ...", kPlan},
    {"method", "{full,lora,qlora}", "how much is trained; several with commas", kPlan},
    {"sharding", "{ddp,full,grad-op,hybrid}", "how data parallel ranks share the model", kPlan},
    {"price", "X", "an hour of one GPU", kPlan},
    {"export", "DIR", "write what launches a plan: its script and configurations", kPlan},
    {"plan", "N", "which of the plans (1)", kPlan},
    {"force", "", "write over files that are there", kPlan},
});

constexpr auto kServe = std::to_array<NamedOption>({
    {"available", "NxGPU,...", "the GPUs at hand, like 8xh100-80gb,4xa100-80gb", kPlan},
    {"users", "N", "requests at a time (1)", kPlan},
    {"context", "N", "tokens of a prompt, like 32k (1024)", kPlan},
    {"output", "N", "tokens of an answer (256)", kPlan},
    {"ttft", "TIME", "the longest time to a first token, like 2s", kPlan},
    {"tpot", "TIME", "the longest time between tokens, like 50ms", kPlan},
    {"engine", "{vllm,sglang,any}", "which engines (vllm)", kPlan},
    {"allow-quantize", "NAME,...", "roundings of weights that are allowed (none)", kPlan},
    {"price", "GPU=X,...", "an hour of one GPU", kPlan},
    {"export", "DIR", "write what launches a plan: its script and containers", kPlan},
    {"plan", "N", "which of the plans (1)", kPlan},
    {"force", "", "write over files that are there", kPlan},
});

constexpr auto kOthers =
    std::to_array<std::string_view>({"solve", "grid", "compare", "price", "rank", "real"});

}  // namespace

std::span<const NamedOption> plan_options() { return kPlanOptions; }

std::span<const NamedOption> plan_serve_options() { return kServe; }

bool is_shared_with_plan(const NamedOption& option) {
  return std::ranges::find(kOthers, option.name) == kOthers.end();
}

}  // namespace memtape::answer
