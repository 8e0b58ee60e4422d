// SPDX-License-Identifier: Apache-2.0
#include "phantom/real_step.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "phantom/child.h"
#include "phantom/program.h"
#include "phantom/stand_ins.h"

namespace memtape::phantom_run {
namespace {

namespace fs = std::filesystem;

/// No step of a model that can be built at all comes near it: the peaks are those of an unlimited
/// device.
constexpr Bytes kUnlimited = Bytes{30'000'000'000'000};
constexpr std::size_t kLongestComplaint = 300;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string settings_json(const StepRequest& request) {
  std::string text = fmt::format("{{\"name\": {}", nlohmann::json(request.name).dump());
  for (const Setting& s : request.settings)
    text += fmt::format(", {}: {}", nlohmann::json(s.name).dump(), s.json_value);
  return text + "}";
}

std::string script_of(Recipe recipe) {
  constexpr std::array kFiles{"train_step.py", "trainer_step.py", "accelerate_step.py",
                              "generate_step.py", "vllm_start.py"};
  return kFiles[static_cast<std::size_t>(recipe)];
}

/// Those that record a tape stand behind what they share.
std::vector<std::string> parts_of(Recipe recipe) {
  if (recipe == Recipe::vllm_start) return {script_of(recipe)};
  return {"recording.py", script_of(recipe)};
}

std::string interpreter_of(const StepRequest& request) {
  if (!request.python.empty()) return request.python;
  const char* environment = std::getenv("VIRTUAL_ENV");
  return environment && *environment ? fmt::format("{}/bin/python", environment) : "python3";
}

/// The last line of what the script wrote: Python's exception.
std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::size_t start = text.rfind('\n') + 1;
  return text.substr(start, kLongestComplaint);
}

PhantomRequest phantoms(const StepRequest& request, std::vector<std::string> command) {
  PhantomRequest phantom;
  phantom.command = std::move(command);
  phantom.gpu = request.gpu;
  phantom.total_bytes = request.total_bytes.value_or(kUnlimited);
  phantom.context_bytes = request.context_bytes.value_or(0);
  phantom.placement = request.placement;
  return phantom;
}

/// The agent knows the values of small tensors, so that a mixture's experts have their tokens. A
/// server's start tells its own figures and takes no values.
Environment environment_for(const PhantomRequest& phantom, const Program& program,
                            const Launch& launch, Recipe recipe) {
  Environment env = environment_of(phantom, program, launch);
  if (recipe == Recipe::vllm_start) env.emplace_back("MEMTAPE_PHANTOM_AGENT", "off");
  env.emplace_back("TORCH_SYMBOLIZE_MODE", "dladdr");
  env.emplace_back("HF_HUB_OFFLINE", "1");
  env.emplace_back("CUDA_VISIBLE_DEVICES", "0");
  return env;
}

}  // namespace

Result<std::string> step_script(const StepRequest& request, const fs::path& folder) {
  const auto stand_ins = stand_ins_folder();
  if (!stand_ins) return tl::unexpected(stand_ins.error());
  std::string program;
  for (const std::string& name : parts_of(request.recipe)) {
    const std::string part = read(*stand_ins / "recipes" / name);
    if (part.empty())
      return tl::unexpected(Error{
          ErrorKind::internal, "cannot be read", (*stand_ins / "recipes" / name).string(), {}});
    program += (program.empty() ? "" : "\n\n") + part;
  }
  return fmt::format(
      "import json\n\nSETTINGS = json.loads(r\"\"\"{}\"\"\")\nCONFIG = "
      "json.loads(r\"\"\"{}\"\"\")\nFOLDER = {}\n\n{}",
      settings_json(request), request.config.json(), nlohmann::json(folder.string()).dump(),
      program);
}

Result<RealStep> run_step(const StepRequest& request, const RunFolder& folder) {
  const Result<std::string> script = step_script(request, folder.path());
  if (!script) return tl::unexpected(script.error());
  const fs::path file = folder.path() / script_of(request.recipe), log = folder.path() / "log";
  std::ofstream(file) << *script;
  const std::vector<std::string> words{interpreter_of(request), file.string()};
  const auto program = find_program(words);
  if (!program) return tl::unexpected(program.error());
  const auto cuda = cuda_of(*program);
  if (!cuda) return tl::unexpected(cuda.error());
  const Launch launch{*stand_ins_folder(), folder.path(), *cuda};
  const ChildCommand command{
      .path = program->path,
      .words = words,
      .environment = environment_for(phantoms(request, words), *program, launch, request.recipe),
      .output_to_errors = false,
      .log = log.string()};
  const auto end = run_child(command, [] {});
  if (!end) return tl::unexpected(end.error());
  if (end->exit_code != 0)
    return unsupported(fmt::format("the real step failed: {}", last_line(read(log))), words.front(),
                       "--show-script shows what was run");
  const nlohmann::json result =
      nlohmann::json::parse(read(folder.path() / "result.json"), nullptr, false);
  if (!result.is_object())
    return tl::unexpected(
        Error{ErrorKind::internal, "the real step left no result", words.front(), {}});
  return RealStep{.stack = result.value("stack", ""),
                  .expect_json = result.value("expect", nlohmann::json::object()).dump(),
                  .tape_text = read(folder.path() / "step.tape"),
                  .trace = folder.path() / "trace.jsonl.gz"};
}

}  // namespace memtape::phantom_run
