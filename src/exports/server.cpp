// SPDX-License-Identifier: Apache-2.0
// vLLM's and SGLang's own flags, which are their options' names, and containers of each instance.
#include <fmt/format.h>

#include "exports/parts.h"
#include "formats/shell.h"
#include "predict/serve.h"

namespace memtape::exports {
namespace {

constexpr int kFirstPort = 8000;

/// The flags that start the server, and their values; a switch has none.
NamedValues flags_of(const Server& plan, const PlannedServer& engine) {
  NamedValues flags;
  for (const auto& [name, value] : plan.options)
    if (name != "engine" && !is_of_question(name))
      flags.emplace_back("--" + name, name == engine.expert_parallel ? "" : value);
  return flags;
}

/// One service an instance, each with GPUs of its own.
std::string compose(const Server& plan, const PlannedServer& engine) {
  std::string words = fmt::format("{} {}", engine.entry, shell_quoted(plan.model));
  for (const auto& [flag, value] : flags_of(plan, engine))
    words += value.empty() ? " " + flag : fmt::format(" {} {}", flag, shell_quoted(value));
  std::string text = "services:\n";
  for (std::int64_t i = 0; i < plan.instances; ++i) {
    std::string ids;
    for (std::int64_t gpu = i * plan.gpus; gpu < (i + 1) * plan.gpus; ++gpu)
      ids += fmt::format("{}\"{}\"", ids.empty() ? "" : ", ", gpu);
    text += fmt::format(
        "  server{}:\n    image: {}\n    command: {}{}\n    ipc: host\n    ports: "
        "[\"{}:{}\"]\n    volumes: [\"~/.cache/huggingface:/root/.cache/huggingface\"]\n"
        "    deploy:\n      resources:\n        reservations:\n          devices:\n"
        "            - {{driver: nvidia, device_ids: [{}], capabilities: [gpu]}}\n",
        i, engine.image, words, engine.listens, kFirstPort + i, engine.port, ids);
  }
  return text;
}

}  // namespace

Result<Export> export_server(const Server& plan, const Facts& facts) {
  const auto found = find_serve_engine(plan.engine);
  const PlannedServer* engine = found ? (*found)->planned : nullptr;
  if (!engine)
    return unsupported("plans of that engine are not exported", "--export", "vllm or sglang");
  Export out;
  Script script(facts.words);
  script.start(engine->program);
  if (engine->model_flag.empty())
    script.word(plan.model);
  else
    script.flag(engine->model_flag, plan.model);
  for (const auto& [flag, value] : flags_of(plan, *engine))
    value.empty() ? script.word(flag) : script.flag(flag, value);
  out.launch = script.command();
  out.files.push_back({"run.sh", std::move(script).text(), true});
  out.files.push_back({"compose.yaml", compose(plan, *engine)});
  if (plan.instances > 1)
    out.assumed.push_back(fmt::format(
        "run.sh starts one of {} instances, on the {} GPUs that CUDA_VISIBLE_DEVICES names, at the "
        "port behind --port; compose.yaml starts all of them on one host. What shares requests "
        "between them is not written.",
        plan.instances, plan.gpus));
  out.assumed.emplace_back("The model is loaded from the hub's cache or by its name.");
  out.files.push_back(readme(out, facts, plan.model, plan.engine));
  return out;
}

}  // namespace memtape::exports
