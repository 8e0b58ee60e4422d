// SPDX-License-Identifier: Apache-2.0
#include "launch/wrappers.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/typed_number.h"
#include "formats/hostfile.h"
#include "formats/shell.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

using WrapperWords = std::span<const std::string>;
using WrapperKind = Unwrapped::Kind;

constexpr std::size_t kMostWords = 4;  ///< of a name: "hf jobs uv run"

struct Wrapper {
  std::string_view names;  ///< "torchrun; tune run"
  FlagTable (*flags)();    ///< null: none
  Result<Unwrapped> (*take)(const ReadFlags&, WrapperWords rest, LaunchCommand&);
  bool launches = false;  ///< it starts the processes itself, whatever started it
};

const Wrapper* find_wrapper(std::string_view name);

/// `words` in the place of those that the wrapper was given, with `rest` behind them.
Unwrapped with_words(std::vector<std::string> words, WrapperWords rest, WrapperKind kind,
                     LaunchCommand& command) {
  words.insert(words.end(), rest.begin(), rest.end());
  command.made_words.push_back(std::move(words));
  return {kind, command.made_words.back()};
}

/// What flags say of variables, processes and GPUs, whichever wrapper has them.
Result<void> note_said(const ReadFlags& flags, LaunchCommand& command) {
  for (const GivenFlag& given : flags.given) {
    if (given.flag->meaning == "env")
      if (auto variable = shell_assignment(given.values.front()))
        command.environment.push_back(*std::move(variable));
    if (given.flag->meaning == "volume")
      if (auto mount = read_mount(given.values.front()))
        command.mounts.push_back(*std::move(mount));
  }
  // A flavor of Hugging Face's jobs, if it has GPUs: "4 a100-80gb".
  const std::string_view gpus = meaning_of(flags.value("flavor").value_or(""), data::hf_flavors());
  if (const std::size_t space = gpus.find(' '); space != gpus.npos) {
    command.processes.granted = whole_number(gpus.substr(0, space));
    command.note_launcher("gpu", std::string(gpus.substr(space + 1)));
  }
  const auto value = [&](std::string_view meaning) -> std::optional<std::string> {
    const auto text = flags.value(meaning);
    return text ? std::optional(with_variables(*text, command.variables())) : text;
  };
  ProcessCount& count = command.processes;
  const auto noted = count.note(value, {{"processes", &ProcessCount::on_all},
                                        {"nodes", &ProcessCount::nodes},
                                        {"per-node", &ProcessCount::on_node},
                                        {"granted", &ProcessCount::granted}});
  ProcessCount in_all;  // Slurm's --gpus are those of all nodes
  const auto shared = in_all.note(value, {{"granted-in-all", &ProcessCount::granted}});
  if (!noted || !shared) return noted ? shared : noted;
  if (in_all.granted)
    count.granted = std::max<std::int64_t>(1, *in_all.granted / count.nodes.value_or(1));
  return {};
}

/// The slots that are used of the hosts which flags list, or of those of a hostfile; without
/// either, of the GPUs that are found (deepspeed/launcher/runner.py, main).
Result<void> note_hosts(const ReadFlags& flags, LaunchCommand& command) {
  Result<std::vector<Host>> hosts = listed_hosts(flags.value("hosts").value_or(""));
  if (const auto file = flags.value("hostfile")) {
    const Result<std::string> text = command.files->read(*file);
    if (text) hosts = read_hostfile(*text, *file);
    if (!text)
      command.remarks.warnings.push_back(
          fmt::format("{}: not here, so that the GPUs of its hosts are not known", *file));
  }
  if (!hosts) return tl::unexpected(hosts.error());
  if (const auto visible = command.visible_gpus(); hosts->empty() && visible)
    hosts->push_back({"localhost", *visible});
  ProcessCount& count = command.processes;
  const std::string include = flags.value("include").value_or("");
  if (include.empty() && count.nodes.value_or(1) > static_cast<std::int64_t>(hosts->size()))
    return {};
  const auto typed_nodes = flags.has("nodes") ? count.nodes : std::nullopt;
  const auto chosen = chosen_slots(*std::move(hosts), {include, flags.value("exclude").value_or(""),
                                                       typed_nodes, count.on_node});
  if (!chosen) return tl::unexpected(chosen.error());
  count.on_all = *chosen;
  return {};
}

/// A launcher of Python scripts: the next word is the script, or a module after -m.
Result<Unwrapped> take_launcher(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
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
    Result<Settings> settings = accelerate_file(*path, command);
    if (!settings) return tl::unexpected(settings.error());
    if (const auto noted = note_accelerate(*std::move(settings), command); !noted)
      return tl::unexpected(noted.error());
  }
  // commands/launch.py: --num_processes is the number of GPUs where nobody says it.
  command.processes.one_for_each_gpu = !flags.has("config_file") && !flags.has("--cpu");
  Result<Unwrapped> taken = take_launcher(flags, rest, command);
  if (const auto ids = command.launcher_settings.text("gpu_ids"); ids && *ids != "all")
    command.environment.emplace_back("CUDA_VISIBLE_DEVICES", *ids);
  return taken;
}

/// torchrun starts one process on a node where neither flags nor PET_ variables say otherwise
/// (torch/distributed/argparse_util.py).
Result<Unwrapped> take_torchrun(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (const auto read = command.processes.read_torchrun(command.variables()); !read)
    return tl::unexpected(read.error());
  ProcessCount& count = command.processes;
  if (!count.on_node && !count.one_for_each_gpu) count.on_node = 1;
  return take_launcher(flags, rest, command);
}

Result<Unwrapped> take_deepspeed(const ReadFlags& flags, WrapperWords rest,
                                 LaunchCommand& command) {
  command.processes.one_for_each_gpu = true;
  if (const auto noted = note_hosts(flags, command); !noted) return tl::unexpected(noted.error());
  return take_launcher(flags, rest, command);
}

/// `tune run`, which stays the program, takes torchrun's flags before the recipe (_cli/run.py).
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

/// What an image runs when the command begins with flags: its entry point.
std::string entry_point(std::string_view image) {
  for (const Word& known : data::image_programs())
    if (image.find(known.theirs) != std::string_view::npos) return std::string(known.ours);
  return {};
}

/// `docker run IMAGE [command...]`: a command of flags goes to the image's entry point.
Result<Unwrapped> take_docker(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (const auto gpus = gpus_of_container(flags.value("gpus").value_or("all")))
    command.processes.granted = gpus;
  const std::string image = rest.front();
  command.note_launcher("image", image);
  rest = rest.subspan(1);
  const std::optional<std::string> asked = flags.value("entrypoint");
  const std::string entry = asked ? *asked : entry_point(image);
  // An image gives the command to its program where one is known, unless it starts one itself.
  if (!asked && !rest.empty() && !rest.front().starts_with('-')) {
    const Result<LaunchCommand> inner = unwrap(rest, *command.files, command.scripts);
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

/// "/usr/bin/python3.11" is python3.
std::string wrapper_name(std::string_view word) {
  std::string name(word.substr(word.rfind('/') + 1));
  if (name.starts_with("python3.") || name.starts_with("python2.")) name.resize(7);
  return name;
}

/// A start script, which is read unless it is a program that is known by its name.
Unwrapped take_script(WrapperWords words, LaunchCommand& command) {
  LaunchCommand typed;
  typed.program = wrapper_name(typed.path = words.front());
  if (is_known(typed)) return {WrapperKind::program, words};
  const auto script = unwrap_script_file(words.front(), words.subspan(1), command);
  return script ? *script : Unwrapped{WrapperKind::program, words};
}

/// sh -c "...", sbatch --wrap="..." or a start script.
Result<Unwrapped> take_shell(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (const auto text = flags.value("wrap")) return unwrap_script(*text, rest, command);
  if (flags.has("command")) return unwrap_script(rest.front(), rest.subspan(1), command);
  return take_script(rest, command);
}

Result<Unwrapped> take_mpirun(const ReadFlags& flags, WrapperWords rest, LaunchCommand& command) {
  if (!command.gpus())
    if (const auto noted = note_hosts(flags, command); !noted) return tl::unexpected(noted.error());
  return Unwrapped{WrapperKind::wrapper, rest};
}

/// srun reads Slurm's variables where its words say nothing, and sets them for what it starts.
Result<Unwrapped> take_srun(const ReadFlags&, WrapperWords rest, LaunchCommand& command) {
  if (const auto read = command.processes.read_slurm(command.variables()); !read)
    return tl::unexpected(read.error());
  command.set_slurm_variables();
  return Unwrapped{WrapperKind::wrapper, rest};
}

/// axolotl starts a launcher, which starts axolotl.cli.train (cli/utils/train.py). The launcher's
/// words stand behind a --; --num-processes may stand among axolotl's own.
Result<Unwrapped> take_axolotl(const ReadFlags&, WrapperWords rest, LaunchCommand& command) {
  std::vector<std::string> own, words{"accelerate", "launch"};
  const auto end = std::ranges::find(rest, "--");
  for (auto word = rest.begin(); word != end; ++word) {
    const bool is_launcher = word->starts_with("--launcher");
    if (!is_launcher && word->find("num-processes") == word->npos &&
        word->find("num_processes") == word->npos) {
      own.push_back(*word);
      continue;
    }
    std::string value = word->substr(std::min(word->find('='), word->size() - 1) + 1);
    if (value.empty() && word + 1 != end) value = *++word;
    if (!is_launcher) words.insert(words.end(), {"--num_processes", value});
    if (value == "torchrun" || value == "python") words = {value};
  }
  if (end != rest.end() && words.front() != "python")
    words.insert(words.end(), end + 1, rest.end());
  words.insert(words.end(), {"-m", "axolotl.cli.train"});
  return with_words(std::move(words), own, WrapperKind::wrapper, command);
}

/// `torchx run [flags] dist.ddp -j NODESxPROCESSES --script FILE -- words` starts torchrun
/// (torchx 0.7, components/dist.py).
Result<Unwrapped> take_torchx(const ReadFlags&, WrapperWords rest, LaunchCommand& command) {
  const Result<ReadFlags> flags = read_flags(rest.subspan(1), data::torchx_flags().flags,
                                             {.program = rest.front(), .stop_at_operand = true});
  if (!flags) return tl::unexpected(flags.error());
  const std::string sizes = flags->value("sizes").value_or("1x2");
  const std::size_t by = sizes.find('x');
  std::vector<std::string> words{"torchrun", "--nnodes",
                                 by == sizes.npos ? "1" : sizes.substr(0, by), "--nproc-per-node",
                                 sizes.substr(by + 1)};
  if (const auto module = flags->value("module")) words.insert(words.end(), {"-m", *module});
  if (const auto script = flags->value("script")) words.push_back(*script);
  return with_words(std::move(words), rest.subspan(1 + flags->end), WrapperKind::wrapper, command);
}

Result<Unwrapped> take_plain(const ReadFlags&, WrapperWords rest, LaunchCommand&) {
  return Unwrapped{WrapperKind::wrapper, rest};
}

/// What stands behind a --, or else behind a word: a duration, or the name of a container.
Result<Unwrapped> take_behind(const ReadFlags&, WrapperWords rest, LaunchCommand&) {
  const auto end = std::ranges::find(rest, "--");
  return Unwrapped{WrapperKind::wrapper,
                   {end == rest.end() ? rest.begin() + 1 : end + 1, rest.end()}};
}

constexpr auto kWrappers = std::to_array<Wrapper>({
    {"torchrun; torch.distributed.run; torch.distributed.launch", data::torchrun_flags,
     take_torchrun, true},
    {"tune run", data::torchrun_flags, take_tune, true},
    {"accelerate launch; accelerate-launch; accelerate.commands.launch", data::accelerate_flags,
     take_accelerate, true},
    {"deepspeed; deepspeed.launcher.runner", data::deepspeed_flags, take_deepspeed, true},
    {"axolotl train", nullptr, take_axolotl},
    {"python; python3", data::python_flags, take_python},
    {"sh; bash; source; .", data::shell_flags, take_shell},
    {"tools.sh", nullptr, take_llama_tools},
    {"docker run; podman run; nerdctl run; apptainer exec; apptainer run; singularity exec; "
     "singularity run",
     data::docker_flags, take_docker},
    {"hf jobs run", data::hf_jobs_flags, take_docker},
    {"hf jobs uv run", data::hf_jobs_flags, take_plain},
    {"sbatch", data::srun_flags, take_shell},
    {"srun; salloc", data::srun_flags, take_srun},
    {"ray job submit; ray submit", data::ray_flags, take_plain},
    {"mpirun; mpiexec", data::mpirun_flags, take_mpirun},
    {"env", data::env_flags, take_plain},
    {"uv run; poetry run; pixi run; conda run; numactl; nsys profile; nohup; time; exec; sudo",
     data::plain_flags, take_plain},
    {"timeout", data::plain_flags, take_behind},
    {"docker exec; podman exec; enroot start", data::docker_flags, take_behind},
    {"torchx run", data::torchx_flags, take_torchx},
    {"runai submit; runai training submit; runai pytorch submit", nullptr, take_behind},
});

const Wrapper* find_wrapper(std::string_view name) {
  const auto found = std::ranges::find_if(kWrappers, [&](const Wrapper& wrapper) {
    const std::vector<std::string_view> names = names_in(wrapper.names);
    return std::ranges::find(names, name) != names.end();
  });
  return found == kWrappers.end() ? nullptr : &*found;
}

}  // namespace

Result<void> note_batch_lines(std::string_view script, LaunchCommand& command) {
  const std::vector<std::string> words = directive_words(script, "#SBATCH");
  const Result<ReadFlags> flags =
      read_flags(words, data::srun_flags().flags, {.program = "sbatch", .unknown_pass = true});
  if (!flags) return tl::unexpected(flags.error());
  if (const auto noted = note_said(*flags, command); !noted) return noted;
  command.set_slurm_variables();
  return {};
}

Result<Unwrapped> unwrap_once(WrapperWords words, LaunchCommand& command) {
  const std::string name = wrapper_name(words.front());
  std::string typed = name;
  const Wrapper* wrapper = nullptr;
  std::size_t length = 0;
  for (std::size_t n = 1; n <= std::min(words.size(), kMostWords); ++n) {
    if (n > 1) typed += " " + words[n - 1];
    if (const Wrapper* longer = find_wrapper(typed)) wrapper = longer, length = n;
  }
  if (!wrapper && name.ends_with(".sh")) return take_script(words, command);
  if (!wrapper) return Unwrapped{WrapperKind::program, words};
  words = words.subspan(length);
  Result<ReadFlags> flags = ReadFlags{};
  if (wrapper->flags)
    flags = read_flags(words, wrapper->flags().flags, {.program = name, .stop_at_operand = true});
  if (!flags) return tl::unexpected(flags.error());
  if (wrapper->launches) command.processes.start_afresh();
  if (const auto noted = note_said(*flags, command); !noted) return tl::unexpected(noted.error());
  command.remarks.add(remarks_of(*flags, name));
  words = words.subspan(flags->end);
  if (words.empty() && wrapper->take != take_tune && wrapper->take != take_axolotl &&
      !flags->has("wrap"))
    return Unwrapped{WrapperKind::program, {}};
  return wrapper->take(*flags, words, command);
}

}  // namespace memtape::launch
