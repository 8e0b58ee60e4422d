// SPDX-License-Identifier: Apache-2.0
#include "launch/wrappers.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/typed_number.h"
#include "formats/shell.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

using WrapperWords = std::span<const std::string>;
using WrapperKind = Unwrapped::Kind;

struct Wrapper {
  std::string_view names;  ///< "torchrun; tune run"
  FlagTable (*flags)();    ///< null: none
  Result<Unwrapped> (*take)(const ReadFlags&, WrapperWords rest, LaunchCommand&);
};

const Wrapper* find_wrapper(std::string_view name);

/// `words` in the place of those that the wrapper was given, with `rest` behind them.
Unwrapped with_words(std::vector<std::string> words, WrapperWords rest, WrapperKind kind,
                     LaunchCommand& command) {
  words.insert(words.end(), rest.begin(), rest.end());
  command.made_words.push_back(std::move(words));
  return {kind, command.made_words.back()};
}

/// A count; words such as "gpu" or "auto" leave it open, "1:4" (elastic) is its upper end.
Result<std::optional<std::int64_t>> count(const ReadFlags& flags, std::string_view meaning) {
  const std::optional<std::string> text = flags.value(meaning);
  if (!text || *text == "gpu" || *text == "auto" || *text == "cpu") return std::nullopt;
  const auto value = whole_number(std::string_view(*text).substr(text->find(':') + 1));
  if (!value || *value < 1 || *value > 1 << 24)
    return bad_input(fmt::format("unusable value \"{}\"", *text), std::string(meaning),
                     "a whole number of processes or nodes");
  return value;
}

/// Notes how many processes a launcher starts, on a node and on all, by its names for them.
Result<void> note_counts(const ReadFlags& flags, const char* per_node, const char* on_all,
                         LaunchCommand& command) {
  for (const auto& [meaning, into] :
       {std::pair{on_all, &command.processes}, std::pair{"nodes", &command.nodes},
        std::pair{per_node, &command.processes_per_node}}) {
    const auto found = count(flags, meaning);
    if (!found) return tl::unexpected(found.error());
    if (*found) *into = **found;
  }
  return {};
}

/// A launcher of Python scripts: the next word is the script, or a module after -m.
Result<Unwrapped> take_launcher(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (const auto noted = note_counts(flags, "per-node", "processes", command); !noted)
    return tl::unexpected(noted.error());
  for (const GivenFlag& given : flags.given)
    if (given.flag->effect == Effect::modelled && !given.flag->meaning.empty())
      command.note_launcher(given.flag->meaning,
                            given.values.empty() ? "true" : given.values.front());
  if (flags.has("no-python")) return Unwrapped{WrapperKind::wrapper, rest};
  return Unwrapped{flags.has("module") ? WrapperKind::module : WrapperKind::program, rest};
}

Result<Unwrapped> take_accelerate(const ReadFlags& flags, WrapperWords rest,
                                  LaunchCommand& command) {
  if (const std::optional<std::string> path = flags.value("config_file")) {
    Result<Settings> settings = read_settings_file(*command.files, *path);
    if (!settings) return tl::unexpected(settings.error());
    if (const auto noted = note_accelerate(*std::move(settings), command); !noted)
      return tl::unexpected(noted.error());
  }
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
  return with_words({"tune", "run"}, rest, WrapperKind::program, command);
}

Result<Unwrapped> take_python(const ReadFlags& flags, WrapperWords rest, LaunchCommand&) {
  if (!flags.has("module")) return Unwrapped{WrapperKind::program, rest};
  // The launchers are modules, too; each is a wrapper by that name.
  const bool launcher =
      rest.front().find('.') != std::string::npos && find_wrapper(rest.front()) != nullptr;
  return Unwrapped{launcher ? WrapperKind::wrapper : WrapperKind::module, rest};
}

void note_environment(const ReadFlags& flags, LaunchCommand& command) {
  for (const GivenFlag& given : flags.given)
    if (given.flag->meaning == "env")
      if (auto variable = shell_assignment(given.values.front()))
        command.environment.push_back(*std::move(variable));
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
  const auto value = whole_number(text.substr(0, text.find(',')));
  if (value && *value > 0) command.container_gpus = *value;
}

/// `docker run IMAGE [command...]`: a command of flags goes to the image's entry point.
Result<Unwrapped> take_docker(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  note_environment(flags, command);
  note_container_gpus(flags, command);
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
  const bool module = entry.find('.') != std::string::npos &&
                      entry.find('/') == std::string::npos && !entry.ends_with(".sh");
  return with_words({entry}, rest, module ? WrapperKind::module : WrapperKind::wrapper, command);
}

/// The start script of llama.cpp's full image: its first word names the program (.devops/tools.sh).
Result<Unwrapped> take_llama_tools(const ReadFlags&, WrapperWords rest, LaunchCommand& command) {
  const std::string_view program = meaning_of(rest.front(), data::llamacpp_tools());
  if (!program.empty())
    return with_words({std::string(program)}, rest.subspan(1), WrapperKind::program, command);
  return unsupported(fmt::format("{} starts no program that is known", rest.front()), "tools.sh",
                     "--server, --run or --bench");
}

/// sh -c "..." or a start script, which is read unless it is a program that is known by its name.
Result<Unwrapped> take_shell(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (flags.has("command")) return unwrap_script(rest.front(), rest.subspan(1), command);
  const Result<LaunchCommand> inner = unwrap(rest, *command.files);
  if (inner && is_known(*inner)) return Unwrapped{WrapperKind::program, rest};
  const auto script = unwrap_script_file(rest.front(), rest.subspan(1), command);
  return script ? *script : Unwrapped{WrapperKind::program, rest};
}

Result<Unwrapped> take_tasks(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  note_environment(flags, command);
  if (const auto noted = note_counts(flags, "tasks-per-node", "tasks", command); !noted)
    return tl::unexpected(noted.error());
  return Unwrapped{WrapperKind::wrapper, rest};
}

Result<Unwrapped> take_plain(const ReadFlags&, WrapperWords rest, LaunchCommand&) {
  return Unwrapped{WrapperKind::wrapper, rest};
}

constexpr auto kWrappers = std::to_array<Wrapper>({
    {"torchrun; torch.distributed.run; torch.distributed.launch", data::torchrun_flags,
     take_torchrun},
    {"tune run", data::torchrun_flags, take_tune},
    {"accelerate launch; accelerate-launch; accelerate.commands.launch", data::accelerate_flags,
     take_accelerate},
    {"deepspeed; deepspeed.launcher.runner", data::deepspeed_flags, take_launcher},
    {"python; python3", data::python_flags, take_python},
    {"env", data::env_flags, take_plain},
    {"sh; bash", data::shell_flags, take_shell},
    {"tools.sh", nullptr, take_llama_tools},
    {"docker run; podman run", data::docker_flags, take_docker},
    {"srun", data::srun_flags, take_tasks},
    {"mpirun; mpiexec", data::mpirun_flags, take_tasks},
    {"uv run; nohup; time; exec; sudo", data::plain_flags, take_plain},
});

const Wrapper* find_wrapper(std::string_view name) {
  const auto found = std::ranges::find_if(kWrappers, [&](const Wrapper& wrapper) {
    const std::vector<std::string_view> names = names_in(wrapper.names);
    return std::ranges::find(names, name) != names.end();
  });
  return found == kWrappers.end() ? nullptr : &*found;
}

/// "/usr/bin/python3.11" is python3.
std::string wrapper_name(std::string_view word) {
  std::string name(word.substr(word.rfind('/') + 1));
  if (name.starts_with("python3.") || name.starts_with("python2.")) name.resize(7);
  return name;
}

}  // namespace

Result<Unwrapped> unwrap_once(WrapperWords words, LaunchCommand& command) {
  const std::string name = wrapper_name(words.front());
  const Wrapper* const of_two =
      words.size() > 1 ? find_wrapper(fmt::format("{} {}", name, words[1])) : nullptr;
  const Wrapper* const wrapper = of_two ? of_two : find_wrapper(name);
  if (!wrapper) return Unwrapped{WrapperKind::program, words};
  words = words.subspan(of_two ? 2 : 1);
  Result<ReadFlags> flags = ReadFlags{};
  if (wrapper->flags)
    flags = read_flags(words, wrapper->flags().flags, {.program = name, .stop_at_operand = true});
  if (!flags) return tl::unexpected(flags.error());
  command.remarks.add(remarks_of(*flags, name));
  words = words.subspan(flags->end);
  if (words.empty() && wrapper->take != take_tune) return Unwrapped{WrapperKind::program, {}};
  return wrapper->take(*flags, words, command);
}

}  // namespace memtape::launch
