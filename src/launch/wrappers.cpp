// SPDX-License-Identifier: Apache-2.0
#include "launch/wrappers.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "launch/accelerate_config.h"
#include "launch/programs.h"
#include "launch/start_script.h"

namespace memtape::launch {
namespace {

using enum Arity;
using WrapperWords = std::span<const std::string>;
using WrapperKind = Unwrapped::Kind;

/// torch/distributed/run.py's get_args_parser. "gpu", "auto": what the machine has.
constexpr auto kTorchrun = std::to_array<Flag>({
    {"--nnodes", one, Effect::modelled, "nodes"},
    {"--nproc-per-node", one, Effect::modelled, "per-node"},
    {"--rdzv-backend"},
    {"--rdzv-endpoint"},
    {"--rdzv-id"},
    {"--rdzv-conf"},
    {"--standalone", none},
    {"--max-restarts"},
    {"--monitor-interval"},
    {"--start-method"},
    {"--event-log-handler"},
    {"--role"},
    {"-m", none, Effect::modelled, "module"},
    {"--module", none, Effect::modelled, "module"},
    {"--no-python", none, Effect::modelled, "no-python"},
    {"--run-path", none},
    {"--log-dir"},
    {"-r"},
    {"--redirects"},
    {"-t"},
    {"--tee"},
    {"--local-ranks-filter"},
    {"--node-rank"},
    {"--master-addr"},
    {"--master-port"},
    {"--local-addr"},
    {"--logs-specs"},
    {"--numa-binding"},
    {"--signals-to-handle"},
    {"--virtual-local-rank", none},
    {"--duplicate-stdout-filters", many},
    {"--duplicate-stderr-filters", many},
    {"--use-env", none},
});

/// accelerate/commands/launch.py. What it says about the run itself is handed on.
constexpr auto kAccelerate = std::to_array<Flag>({
    {"--config_file", one, Effect::modelled, "config_file"},
    {"--quiet", none},
    {"-q", none},
    {"--cpu", none, Effect::not_modelled},
    {"--multi_gpu", none},
    {"--use_deepspeed", none, Effect::modelled, "use_deepspeed"},
    {"--use_fsdp", none, Effect::modelled, "use_fsdp"},
    {"--use_parallelism_config", none, Effect::modelled, "use_parallelism_config"},
    {"--use_megatron_lm", none, Effect::not_modelled},
    {"--mixed_precision", one, Effect::modelled, "mixed_precision"},
    {"--num_processes", one, Effect::modelled, "processes"},
    {"--num_machines", one, Effect::none},
    {"--num_cpu_threads_per_process"},
    {"--enable_cpu_affinity", none},
    {"--dynamo_backend", one, Effect::not_modelled},
    {"--dynamo_mode", one, Effect::not_modelled},
    {"--dynamo_use_fullgraph", none, Effect::not_modelled},
    {"--dynamo_use_dynamic", none, Effect::not_modelled},
    {"--rdzv_backend"},
    {"--rdzv_conf"},
    {"--max_restarts"},
    {"--monitor_interval"},
    {"--machine_rank"},
    {"--main_process_ip"},
    {"--main_process_port"},
    {"-t"},
    {"--tee"},
    {"--log_dir"},
    {"--role"},
    {"--same_network", none},
    {"--gpu_ids"},
    {"-m", none, Effect::modelled, "module"},
    {"--module", none, Effect::modelled, "module"},
    {"--no_python", none, Effect::modelled, "no-python"},
    {"--debug", none},
    {"--main_training_function"},
    {"--gradient_accumulation_steps", one, Effect::modelled, "gradient_accumulation_steps"},
    {"--deepspeed_config_file", one, Effect::modelled, "deepspeed_config_file"},
    {"--zero_stage", one, Effect::modelled, "zero_stage"},
    {"--offload_optimizer_device", one, Effect::modelled, "offload_optimizer_device"},
    {"--offload_param_device", one, Effect::modelled, "offload_param_device"},
    {"--gradient_clipping", one, Effect::modelled, "gradient_clipping"},
    {"--zero3_init_flag", one},
    {"--zero3_save_16bit_model", one},
    {"--deepspeed_hostfile"},
    {"--deepspeed_multinode_launcher"},
    {"--fsdp_version", one, Effect::modelled, "fsdp_version"},
    {"--fsdp_offload_params", one, Effect::modelled, "fsdp_offload_params"},
    {"--fsdp_min_num_params", one, Effect::modelled, "fsdp_min_num_params"},
    {"--fsdp_sharding_strategy", one, Effect::modelled, "fsdp_sharding_strategy"},
    {"--fsdp_reshard_after_forward", one, Effect::modelled, "fsdp_reshard_after_forward"},
    {"--fsdp_auto_wrap_policy", one, Effect::modelled, "fsdp_auto_wrap_policy"},
    {"--fsdp_transformer_layer_cls_to_wrap", one, Effect::modelled,
     "fsdp_transformer_layer_cls_to_wrap"},
    {"--fsdp_backward_prefetch", one, Effect::modelled, "fsdp_backward_prefetch"},
    {"--fsdp_state_dict_type", one},
    {"--fsdp_forward_prefetch", one, Effect::modelled, "fsdp_forward_prefetch"},
    {"--fsdp_use_orig_params", one, Effect::modelled, "fsdp_use_orig_params"},
    {"--fsdp_cpu_ram_efficient_loading", one, Effect::modelled, "fsdp_cpu_ram_efficient_loading"},
    {"--fsdp_sync_module_states", one, Effect::modelled, "fsdp_sync_module_states"},
    {"--fsdp_activation_checkpointing", one, Effect::modelled, "fsdp_activation_checkpointing"},
});

/// deepspeed/launcher/runner.py.
constexpr auto kDeepspeed = std::to_array<Flag>({
    {"-H"},
    {"--hostfile"},
    {"-i", one, Effect::not_modelled},
    {"--include", one, Effect::not_modelled},
    {"-e", one, Effect::not_modelled},
    {"--exclude", one, Effect::not_modelled},
    {"--num_nodes", one, Effect::modelled, "nodes"},
    {"--num_gpus", one, Effect::modelled, "per-node"},
    {"--min_elastic_nodes"},
    {"--max_elastic_nodes"},
    {"--master_port"},
    {"--master_addr"},
    {"--node_rank"},
    {"--launcher"},
    {"--launcher_args"},
    {"--module", none, Effect::modelled, "module"},
    {"--no_python", none, Effect::modelled, "no-python"},
    {"--no_local_rank", none},
    {"--no_ssh", none},
    {"--no_ssh_check", none},
    {"--force_multi", none},
    {"--save_pid", none},
    {"--enable_each_rank_log"},
    {"--autotuning", one, Effect::not_modelled},
    {"--elastic_training", none, Effect::not_modelled},
    {"--bind_cores_to_rank", none},
    {"--bind_core_list"},
    {"--ssh_port"},
    {"--venv_script"},
});

constexpr auto kPython = std::to_array<Flag>({
    {"-m", none, Effect::modelled, "module"},
    {"-u", none},
    {"-B", none},
    {"-E", none},
    {"-I", none},
    {"-i", none},
    {"-O", none},
    {"-OO", none},
    {"-q", none},
    {"-s", none},
    {"-S", none},
    {"-v", none},
    {"-W"},
    {"-X"},
});

/// `docker run` and `podman run`, as far as servers and trainings are started with them.
constexpr auto kDocker = std::to_array<Flag>({
    {"-e", one, Effect::modelled, "env"},
    {"--env", one, Effect::modelled, "env"},
    {"--env-file", one, Effect::not_modelled},
    {"--entrypoint", one, Effect::modelled, "entrypoint"},
    {"--gpus", one, Effect::modelled, "gpus"},
    {"--device"},
    {"--runtime"},
    {"--ipc"},
    {"--shm-size"},
    {"--network"},
    {"--net"},
    {"-p"},
    {"--publish"},
    {"-v"},
    {"--volume"},
    {"--mount"},
    {"--name"},
    {"-w"},
    {"--workdir"},
    {"-u"},
    {"--user"},
    {"--ulimit"},
    {"--cap-add"},
    {"--security-opt"},
    {"--group-add"},
    {"--restart"},
    {"--platform"},
    {"--pull"},
    {"--memory"},
    {"--cpus"},
    {"--hostname"},
    {"-h"},
    {"--add-host"},
    {"--label"},
    {"-l"},
    {"--pid"},
    {"--tmpfs"},
    {"--log-opt"},
    {"--rm", none},
    {"--privileged", none},
    {"--init", none},
    {"-d", none},
    {"--detach", none},
    {"-i", none},
    {"--interactive", none},
    {"-t", none},
    {"--tty", none},
    {"-it", none},
    {"-ti", none},
    {"-itd", none},
    {"-dit", none},
    {"-id", none},
});

/// A script, or with -c the text of one.
constexpr auto kShell = std::to_array<Flag>({
    {"-c", none, Effect::modelled, "command"},
    {"-lc", none, Effect::modelled, "command"},
    {"-ec", none, Effect::modelled, "command"},
    {"-ic", none, Effect::modelled, "command"},
    {"-xc", none, Effect::modelled, "command"},
    {"-exc", none, Effect::modelled, "command"},
    {"-euc", none, Effect::modelled, "command"},
    {"-euxc", none, Effect::modelled, "command"},
    {"-elc", none, Effect::modelled, "command"},
    {"-l", none},
    {"-e", none},
    {"-x", none},
    {"-u", none},
    {"-o"},
});

constexpr auto kEnv = std::to_array<Flag>({{"-i", none}, {"-u"}, {"-C"}});

constexpr auto kSrun = std::to_array<Flag>({
    {"-N", one, Effect::modelled, "nodes"},
    {"--nodes", one, Effect::modelled, "nodes"},
    {"-n", one, Effect::modelled, "tasks"},
    {"--ntasks", one, Effect::modelled, "tasks"},
    {"--ntasks-per-node", one, Effect::modelled, "tasks-per-node"},
    {"--gpus-per-node"},
    {"--gpus-per-task"},
    {"--gres"},
    {"-G"},
    {"--gpus"},
    {"-c"},
    {"--cpus-per-task"},
    {"-p"},
    {"--partition"},
    {"-A"},
    {"--account"},
    {"-t"},
    {"--time"},
    {"-J"},
    {"--job-name"},
    {"--mem"},
    {"--exclusive", none},
    {"-l", none},
    {"--label", none},
    {"-u", none},
    {"--unbuffered", none},
    {"--container-image"},
    {"--container-mounts"},
    {"--container-name"},
    {"--container-workdir"},
    {"--no-container-mount-home", none},
    {"--export"},
    {"--mpi"},
    {"--cpu-bind"},
    {"-w"},
    {"--nodelist"},
    {"-o"},
    {"--output"},
    {"--error"},
    {"--overlap", none},
    {"--kill-on-bad-exit", optional},
});

/// Open MPI's mpirun.
constexpr auto kMpirun = std::to_array<Flag>({
    {"-np", one, Effect::modelled, "tasks"},
    {"-n", one, Effect::modelled, "tasks"},
    {"-H"},
    {"--host"},
    {"--hostfile"},
    {"-x", one, Effect::modelled, "env"},
    {"--allow-run-as-root", none},
    {"--bind-to"},
    {"--map-by"},
    {"--oversubscribe", none},
});

/// What runs its arguments and adds nothing.
constexpr auto kPlain = std::to_array<Flag>({{"--", none}});

constexpr std::span<const Flag> kNoFlags;

struct Wrapper {
  std::string_view name;
  std::string_view verb;  ///< its second word ("launch", "run"), or ""
  std::span<const Flag> flags;
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
      command.launcher_settings.emplace_back(given.flag->meaning,
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
  command.launcher_settings.emplace_back("image", image);
  rest = rest.subspan(1);
  command.launcher_settings.emplace_back("image", image);
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
    {"torchrun", "", kTorchrun, take_torchrun},
    {"torch.distributed.run", "", kTorchrun, take_torchrun},
    {"torch.distributed.launch", "", kTorchrun, take_torchrun},
    {"tune", "run", kTorchrun, take_tune},
    {"accelerate", "launch", kAccelerate, take_accelerate},
    {"accelerate-launch", "", kAccelerate, take_accelerate},
    {"accelerate.commands.launch", "", kAccelerate, take_accelerate},
    {"deepspeed", "", kDeepspeed, take_launcher},
    {"deepspeed.launcher.runner", "", kDeepspeed, take_launcher},
    {"python", "", kPython, take_python},
    {"python3", "", kPython, take_python},
    {"env", "", kEnv, take_plain},
    {"sh", "", kShell, take_shell},
    {"bash", "", kShell, take_shell},
    {"tools.sh", "", kNoFlags, take_llama_tools},
    {"docker", "run", kDocker, take_docker},
    {"podman", "run", kDocker, take_docker},
    {"srun", "", kSrun, take_tasks},
    {"mpirun", "", kMpirun, take_tasks},
    {"mpiexec", "", kMpirun, take_tasks},
    {"uv", "run", kPlain, take_plain},
    {"nohup", "", kPlain, take_plain},
    {"time", "", kPlain, take_plain},
    {"exec", "", kPlain, take_plain},
    {"sudo", "", kPlain, take_plain},
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
  if (!found->flags.empty())
    flags = read_flags(words, found->flags, {.program = found->name, .stop_at_operand = true});
  if (!flags) return tl::unexpected(flags.error());
  command.remarks.add({{}, not_modelled(*flags, found->name)});
  return found->take(*flags, words.subspan(flags->end), command);
}

}  // namespace memtape::launch
