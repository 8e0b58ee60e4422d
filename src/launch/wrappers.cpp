// SPDX-License-Identifier: Apache-2.0
#include "launch/wrappers.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "launch/accelerate_config.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/start_script.h"

namespace memtape::launch {
namespace {

using WrapperWords = std::span<const std::string>;
using WrapperKind = Unwrapped::Kind;

struct Wrapper {
  std::string_view name;
  std::string_view verb;  ///< its second word ("launch", "run"), or ""
  FlagTable (*flags)();   ///< null: none
  Result<Unwrapped> (*take)(const ReadFlags&, WrapperWords rest, LaunchCommand&);
};

/// A count; words such as "gpu" or "auto" leave it open, "1:4" (elastic) is its upper end.
Result<std::optional<std::int64_t>> count(const ReadFlags& flags, std::string_view meaning) {
  const std::optional<std::string> text = flags.value(meaning);
  if (!text || *text == "gpu" || *text == "auto" || *text == "cpu") return std::nullopt;
  const std::string_view digits = std::string_view(*text).substr(text->find(':') + 1);
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || at != digits.data() + digits.size() || value < 1 || value > 1 << 24)
    return bad_input(fmt::format("unusable value \"{}\"", *text), std::string(meaning),
                     "a whole number of processes or nodes");
  return value;
}

/// Notes how many processes a launcher starts.
Result<void> note_counts(const ReadFlags& flags, LaunchCommand& command) {
  for (const auto& [meaning, into] :
       {std::pair{"per-node", &command.processes_per_node}, std::pair{"nodes", &command.nodes},
        std::pair{"processes", &command.processes}}) {
    const auto found = count(flags, meaning);
    if (!found) return tl::unexpected(found.error());
    if (*found) *into = **found;
  }
  return {};
}

/// A launcher of Python scripts: the next word is the script, or a module after -m.
Result<Unwrapped> take_launcher(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (const auto noted = note_counts(flags, command); !noted) return tl::unexpected(noted.error());
  for (const GivenFlag& given : flags.given)
    if (given.flag->effect == Effect::modelled && !given.flag->meaning.empty())
      command.note_launcher(given.flag->meaning,
                            given.values.empty() ? "true" : given.values.front());
  if (flags.has("no-python")) return Unwrapped{WrapperKind::wrapper, rest};
  return Unwrapped{flags.has("module") ? WrapperKind::module : WrapperKind::program, rest};
}

Result<Unwrapped> take_accelerate(const ReadFlags& flags, WrapperWords rest,
                                  LaunchCommand& command) {
  if (const std::optional<std::string> path = flags.value("config_file"))
    if (const auto noted = note_accelerate_config(*path, command); !noted)
      return tl::unexpected(noted.error());
  return take_launcher(flags, rest, command);
}

Result<Unwrapped> take_torchrun(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (!flags.has("per-node")) command.processes_per_node = 1;
  return take_launcher(flags, rest, command);
}

/// `tune run` takes torchrun's flags before the recipe (torchtune/_cli/run.py); it stays the
/// program.
Result<Unwrapped> take_tune(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (!flags.given.empty())
    if (const Result<Unwrapped> taken = take_torchrun(flags, rest, command); !taken) return taken;
  std::vector<std::string> words{"tune", "run"};
  words.insert(words.end(), rest.begin(), rest.end());
  command.made_words.push_back(std::move(words));
  return Unwrapped{WrapperKind::program, command.made_words.back()};
}

constexpr std::array<std::string_view, 3> kTorchrunModules{
    "torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic"};

Result<Unwrapped> take_python(const ReadFlags& flags, WrapperWords rest, LaunchCommand&) {
  if (rest.empty()) return Unwrapped{WrapperKind::program, rest};
  if (!flags.has("module")) return Unwrapped{WrapperKind::program, rest};
  // The launchers are modules, too; each is a wrapper by that name.
  const bool launcher =
      std::ranges::find(kTorchrunModules, rest.front()) != kTorchrunModules.end() ||
      rest.front() == "accelerate.commands.launch" || rest.front() == "deepspeed.launcher.runner";
  return Unwrapped{launcher ? WrapperKind::wrapper : WrapperKind::module, rest};
}

void note_variable(std::string_view assignment, LaunchCommand& command) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return;
  command.environment.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
}

void note_environment(const ReadFlags& flags, LaunchCommand& command) {
  for (const GivenFlag& given : flags.given)
    if (given.flag->meaning == "env") note_variable(given.values.front(), command);
}

/// What an image runs when the command begins with flags: its entry point.
std::string entry_point(std::string_view image) {
  if (image.find("vllm") != std::string_view::npos) return "vllm.entrypoints.openai.api_server";
  if (image.find("llama.cpp") != std::string_view::npos) {
    if (image.find(":light") != std::string_view::npos) return "llama-cli";
    return image.find(":full") != std::string_view::npos ? "tools.sh" : "llama-server";
  }
  if (image.find("text-generation-inference") != std::string_view::npos)
    return "text-generation-launcher";
  return {};
}

/// --gpus 2, --gpus all, --gpus '"device=0,1"', --gpus count=2,capabilities=compute.
void note_container_gpus(const ReadFlags& flags, LaunchCommand& command) {
  std::string text = flags.value("gpus").value_or("all");
  std::erase(text, '"');
  if (text.starts_with("device=")) {
    command.container_gpus = 1 + std::ranges::count(text, ',');
    return;
  }
  if (text.starts_with("count=")) text.erase(0, sizeof("count=") - 1);
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc() && value > 0)
    command.container_gpus = value;
}

/// `docker run IMAGE [command...]`: a command of flags goes to the image's entry point.
Result<Unwrapped> take_docker(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  note_environment(flags, command);
  note_container_gpus(flags, command);
  if (rest.empty()) return Unwrapped{WrapperKind::program, rest};
  const std::string image = rest.front();
  command.note_launcher("image", image);
  rest = rest.subspan(1);
  const std::optional<std::string> asked = flags.value("entrypoint");
  const std::string entry = asked ? *asked : entry_point(image);
  // Most images run the command they are given; the ones known here give it to their program,
  // unless it starts one itself.
  if (!asked && !rest.empty() && !rest.front().starts_with('-')) {
    const Result<LaunchCommand> inner = unwrap(rest, *command.files);
    if (entry.empty() || (inner && is_known(*inner))) return Unwrapped{WrapperKind::wrapper, rest};
  }
  if (entry.empty() && !rest.empty() && asked) return Unwrapped{WrapperKind::wrapper, rest};
  if (entry.empty())
    return unsupported(fmt::format("what the image {} starts is not known", image), "docker run",
                       "write the program after the image's name");
  std::vector<std::string> words{entry};
  words.insert(words.end(), rest.begin(), rest.end());
  command.made_words.push_back(std::move(words));
  const bool module = entry.find('.') != std::string::npos &&
                      entry.find('/') == std::string::npos && !entry.ends_with(".sh");
  return Unwrapped{module ? WrapperKind::module : WrapperKind::wrapper, command.made_words.back()};
}

/// The start script of llama.cpp's full image: its first word names the program (.devops/tools.sh).
Result<Unwrapped> take_llama_tools(const ReadFlags&, WrapperWords rest, LaunchCommand& command) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTools{{
      {"--server", "llama-server"},
      {"-s", "llama-server"},
      {"--run", "llama-cli"},
      {"-r", "llama-cli"},
      {"--run-legacy", "llama-completion"},
      {"-l", "llama-completion"},
      {"--bench", "llama-bench"},
      {"-b", "llama-bench"},
  }};
  if (rest.empty()) return Unwrapped{WrapperKind::program, rest};
  for (const auto& [word, program] : kTools)
    if (rest.front() == word) {
      std::vector<std::string> words{std::string(program)};
      words.insert(words.end(), rest.begin() + 1, rest.end());
      command.made_words.push_back(std::move(words));
      return Unwrapped{WrapperKind::program, command.made_words.back()};
    }
  return unsupported(fmt::format("{} starts no program that is known", rest.front()), "tools.sh",
                     "--server, --run or --bench");
}

/// sh -c "..." or a start script, which is read unless it is a program that is known by its name.
Result<Unwrapped> take_shell(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (rest.empty()) return Unwrapped{WrapperKind::program, rest};
  if (flags.has("command")) return unwrap_script(rest.front(), rest.subspan(1), command);
  const Result<LaunchCommand> inner = unwrap(rest, *command.files);
  if (inner && is_known(*inner)) return Unwrapped{WrapperKind::program, rest};
  const auto script = unwrap_script_file(rest.front(), rest.subspan(1), command);
  return script ? *script : Unwrapped{WrapperKind::program, rest};
}

Result<Unwrapped> take_tasks(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  note_environment(flags, command);
  const auto tasks = count(flags, "tasks"), nodes = count(flags, "nodes"),
             each = count(flags, "tasks-per-node");
  for (const auto* found : {&tasks, &nodes, &each})
    if (!*found) return tl::unexpected(found->error());
  if (*tasks) command.processes = **tasks;
  if (*nodes) command.nodes = **nodes;
  if (*each) command.processes_per_node = **each;
  return Unwrapped{WrapperKind::wrapper, rest};
}

Result<Unwrapped> take_plain(const ReadFlags&, WrapperWords rest, LaunchCommand&) {
  return Unwrapped{WrapperKind::wrapper, rest};
}

constexpr auto kWrappers = std::to_array<Wrapper>({
    {"torchrun", "", data::torchrun_flags, take_torchrun},
    {"torch.distributed.run", "", data::torchrun_flags, take_torchrun},
    {"torch.distributed.launch", "", data::torchrun_flags, take_torchrun},
    {"tune", "run", data::torchrun_flags, take_tune},
    {"accelerate", "launch", data::accelerate_flags, take_accelerate},
    {"accelerate-launch", "", data::accelerate_flags, take_accelerate},
    {"accelerate.commands.launch", "", data::accelerate_flags, take_accelerate},
    {"deepspeed", "", data::deepspeed_flags, take_launcher},
    {"deepspeed.launcher.runner", "", data::deepspeed_flags, take_launcher},
    {"python", "", data::python_flags, take_python},
    {"python3", "", data::python_flags, take_python},
    {"env", "", data::env_flags, take_plain},
    {"sh", "", data::shell_flags, take_shell},
    {"bash", "", data::shell_flags, take_shell},
    {"tools.sh", "", nullptr, take_llama_tools},
    {"docker", "run", data::docker_flags, take_docker},
    {"podman", "run", data::docker_flags, take_docker},
    {"srun", "", data::srun_flags, take_tasks},
    {"mpirun", "", data::mpirun_flags, take_tasks},
    {"mpiexec", "", data::mpirun_flags, take_tasks},
    {"uv", "run", data::plain_flags, take_plain},
    {"nohup", "", data::plain_flags, take_plain},
    {"time", "", data::plain_flags, take_plain},
    {"exec", "", data::plain_flags, take_plain},
    {"sudo", "", data::plain_flags, take_plain},
});

/// "/usr/bin/python3.11" is python3.
std::string wrapper_name(std::string_view word) {
  std::string name(word.substr(word.rfind('/') + 1));
  if (name.starts_with("python3.") || name.starts_with("python2.")) name.resize(7);
  return name;
}

}  // namespace

Result<Unwrapped> unwrap_once(WrapperWords words, LaunchCommand& command) {
  const std::string name = wrapper_name(words.front());
  const auto found = std::ranges::find_if(kWrappers, [&](const Wrapper& wrapper) {
    return wrapper.name == name &&
           (wrapper.verb.empty() || (words.size() > 1 && words[1] == wrapper.verb));
  });
  if (found == kWrappers.end()) return Unwrapped{WrapperKind::program, words};
  words = words.subspan(found->verb.empty() ? 1 : 2);
  Result<ReadFlags> flags = ReadFlags{};
  if (found->flags)
    flags =
        read_flags(words, found->flags().flags, {.program = found->name, .stop_at_operand = true});
  if (!flags) return tl::unexpected(flags.error());
  command.remarks.add({{}, not_modelled(*flags, found->name)});
  return found->take(*flags, words.subspan(flags->end), command);
}

}  // namespace memtape::launch
