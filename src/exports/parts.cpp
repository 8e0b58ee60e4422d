// SPDX-License-Identifier: Apache-2.0
#include "exports/parts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memtape::exports {

std::optional<std::string> said(const NamedValues& options, std::string_view name) {
  std::optional<std::string> last;
  for (const auto& [option, value] : options)
    if (option == name) last = value;
  return last;
}

std::string word_of(const Config& c, const std::string& key) {
  const std::string json = c.json(key);
  return json.starts_with('"') ? c.text(key) : json;
}

bool is_of_question(std::string_view option) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"gpu", "gpu-memory-bytes", "context-bytes", "driver-placement", "with", "requirements",
       "python", "transformers-version", "litgpt-version", "imbalance", "real", "rank"});
  return std::ranges::find(kNames, option) != kNames.end();
}

std::int64_t nodes_of(const Training& plan) {
  return std::max<std::int64_t>(1, (plan.gpus + plan.per_node - 1) / plan.per_node);
}

Script begin_script(const Facts& facts) {
  Script script(facts.words);
  if (facts.allocator.empty()) {
    script.comment("The bytes stand for the allocator's default settings.");
    script.unset_variable("PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF");
  } else {
    script.set_variable("PYTORCH_CUDA_ALLOC_CONF", facts.allocator);
  }
  return script;
}

void start_torchrun(Script& script, const Training& plan, Export& out) {
  const std::int64_t nodes = nodes_of(plan), each = std::min(plan.gpus, plan.per_node);
  script.start("torchrun");
  if (nodes > 1) {
    script.flag("--nnodes", fmt::format("{}", nodes));
    script.flag_filled("--node-rank", "${NODE_RANK:-0}");
    script.flag_filled("--master-addr", "${MASTER_ADDR:-localhost}");
    script.flag_filled("--master-port", "${MASTER_PORT:-29500}");
    out.assumed.push_back(fmt::format(
        "run.sh is started once on each of {} nodes, with NODE_RANK (0 to {}) and MASTER_ADDR in "
        "the environment.",
        nodes, nodes - 1));
  }
  script.flag("--nproc-per-node", fmt::format("{}", each));
}

}  // namespace memtape::exports
