// SPDX-License-Identifier: Apache-2.0
#include "command_parsers.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "answer/command_words.h"
#include "framework/train_arguments.h"
#include "option/help.h"
#include "option/value.h"

namespace memtape::cli {
namespace {

using answer::kAnswerGroup;
using option::Operand;
using option::Option;
using option::Syntax;
using option::Whole;
using option::Words;

constexpr std::string_view kDevice = "Device", kProgram = "Program", kValues = "Values";
constexpr Whole kSeconds{1, 86400}, kPort{0, 65535}, kAnyDevice{.least = 0, .most = 1 << 20};

constexpr auto kRun = std::to_array<Option>({
    {"--gpu", "NAME", "kind of the phantom GPUs (h100-80gb; memtape gpus lists them)", kDevice},
    {"--gpus", "N", "how many there are", kDevice, {}, "1"},
    {"--gpu-memory-bytes", "N", "total memory of each, instead of the catalog's figure", kDevice},
    {"--context-bytes", "N", "memory of a CUDA context, instead of the catalog's figure", kDevice},
    {"--driver-placement", "{linux,first-fit}", "where the driver puts segments", kDevice},
    {"--rank", "R", "the program plays rank R alone; collectives succeed at once", kProgram},
    {"--world", "N", "of so many ranks", kProgram},
    {"--stop-after", "N", "end the program after N optimizer steps", kProgram},
    {"--steps", "N", "the same", kProgram},
    {"--history", "N", "allocator events that are kept for the tables", kProgram, {}, "300000"},
    {"--events", "{complete,wait}",
     "recorded events are done at once, or at the next synchronisation", kValues},
    {"--backing", "BYTES", "carry out copies and fills up to that size (0: none)", kValues},
    {"--values", "{steer,none}",
     "small tensors have their values on the host (steer), or every read gives zeros", kValues},
    {"--imbalance",
     "X",
     "routing that is invented: the fullest expert gets X times the mean",
     kValues,
     {},
     "1"},
    {"--host-init", "{skip,real}",
     "large models built on the host keep no initial values (skip), or get them", kValues},
    {"--most-reads", "N",
     "end a program that reads the same value at one line so often, and gets no further "
     "(10000; 0: never)",
     kValues},
    {"--lone-byte", "B", "what a single byte read from the device is", kValues, {}, "1"},
});
constexpr auto kRunAnswer = std::to_array<Option>({
    {"--snapshot", "FILE", "write the pickle of the fullest process' torch", kAnswerGroup},
    {"--html", "FILE", "write a page of the last step, tensor by tensor", kAnswerGroup},
});
constexpr auto kVerify = std::to_array<Option>({
    {"--show-script", "", "print the script of the real step and stop"},
});
constexpr auto kRecord = std::to_array<Option>({
    {"--show-script", "", "print the script of the real step and stop"},
    {"--into", "FOLDER", "folder for the row, its tape and its trace"},
    {"--id", "NAME", "name of the row"},
});
constexpr auto kReplay = std::to_array<Option>({
    {"--place-segments", "", "put segments where the driver would, not where the trace says"},
    {"--driver-placement", "{linux,first-fit}", "how the driver places segments"},
    {"--device", "N", "of a snapshot of several devices", {}, kAnyDevice},
});
constexpr auto kExplain = std::to_array<Option>({
    {"--against", "'train MODEL ...'", "a prediction to lay it beside, or: --against -- COMMAND"},
    {"--device", "N", "only this one, of a snapshot of several", {}, kAnyDevice},
    {"--html", "FILE", "write a page: memory over time, by stack, by segment", kAnswerGroup},
});
constexpr auto kWatch = std::to_array<Option>({
    {"--snapshot",
     "FILE",
     "where the snapshot of a run that ran out is kept",
     kAnswerGroup,
     {},
     "memtape-oom.pickle"},
});
constexpr auto kCheck = std::to_array<Option>({
    {"--update", "", "write the lock file, whatever has grown"},
});
constexpr auto kDetect = std::to_array<Option>({
    {"--watch", "", "again every second, until it is ended"},
});
constexpr auto kScoreboard = std::to_array<Option>({
    {"--markdown", "", "tables for docs/accuracy.md"},
});
constexpr auto kMcp = std::to_array<Option>({
    {"--seconds", "N", "the longest that one answer may take", {}, kSeconds, "60"},
});
constexpr auto kHttp = std::to_array<Option>({
    {"--port", "N", "0: one that is free", {}, kPort, "8471"},
    {"--host", "ADDRESS", "the address that is listened on", {}, {}, "127.0.0.1"},
    {"--seconds", "N", "the longest that one answer may take", {}, kSeconds, "30"},
    {"--workers", "N", "answers at a time", {}, Whole{1, 1024}, "one a core"},
    {"--max-request-bytes", "N", "the largest request", {}, Whole{1, 1 << 30}, "8388608"},
});
constexpr auto kWeb = std::to_array<Option>({
    {"--port", "N", "0: one that is free", {}, kPort, "8472"},
    {"--folder", "FOLDER", "the built page", {}, {}, "build/web beside the program"},
    {"--no-open", "", "do not start a browser"},
});

/// Own options, and those about the output.
Syntax made_of(std::span<const Option> own, std::vector<Operand> operands = {}) {
  Syntax syntax{.operands = std::move(operands)};
  option::add(own, syntax.table);
  option::add(answer::output_options(), syntax.table);
  return syntax;
}

/// Train's options behind the command's own.
Syntax with_train(std::span<const Option> own, std::vector<Operand> operands) {
  Syntax syntax{.operands = std::move(operands)};
  option::add(own, syntax.table);
  std::ranges::copy(all_train_options(), std::back_inserter(syntax.table));
  option::add(answer::output_options(), syntax.table);
  return syntax;
}

/// A number that is within its bounds, into `value` where it is said.
template <class T>
Result<void> take(const Words& words, std::string_view name, T& value) {
  for (const auto& [option, text] : words.typed) {
    if (option->name() != name) continue;
    const Result<option::Value> read = option::read(*option, text);
    if (!read) return tl::unexpected(read.error());
    value = static_cast<T>(std::get<std::int64_t>(*read));
  }
  return {};
}

RawOptions train_of(const Words& words, std::size_t model) {
  return answer::train_of(words, all_train_options(), model);
}

Error mistake(std::string_view command, std::string what) {
  return option::mistake({.command = command}, std::move(what));
}

Result<Request> asked_train(const Words& words) { return train_of(words, 0); }

Result<Request> asked_diff(const Words& words) {
  return DiffOptions{words.operand(), train_of(words, 1)};
}

/// `records`: `record`, else `verify`.
template <bool records>
Result<Request> asked_verify(const Words& words) {
  if (words.operand() != "train")
    return tl::unexpected(
        mistake(records ? "record" : "verify",
                fmt::format("cannot run a step of '{}', only of {}", words.operand(),
                            records ? "train" : "train and serve")));
  if (records && !words.has("into")) return tl::unexpected(mistake("record", "--into is required"));
  return VerifyOptions{.train = train_of(words, 1),
                       .python = words.text("python"),
                       .show_script = words.has("show-script"),
                       .records = records,
                       .into = words.text("into"),
                       .id = words.text("id")};
}

Syntax verify_syntax() {
  return with_train(
      kVerify, {{"STEP", "what is run: train, or serve with its own options"}, answer::kModel});
}
Syntax record_syntax() {
  return with_train(kRecord, {{"STEP", "what is run: train"}, answer::kModel});
}

/// `memtape verify serve MODEL [serve options]`: the words of `serve`, and those of verify among
/// them.
Result<Request> parse_verify_serve(Arguments arguments) {
  VerifyServeOptions options;
  std::vector<const char*> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--show-script") {
      options.show_script = true;
    } else if (word.starts_with("--python=")) {
      options.python = word.substr(word.find('=') + 1);
    } else if (word == "--python") {
      if (++i == arguments.size())
        return tl::unexpected(mistake("verify", "--python needs a value"));
      options.python = arguments[i];
    } else {
      words.push_back(arguments[i]);
    }
  }
  Result<answer::ServeWords> read = answer::read_serve_words({.words = words});
  if (!read) return tl::unexpected(read.error());
  if (!read->help.empty()) return Message{std::move(read->help)};
  options.serve = std::move(read->command);
  return options;
}

Result<Request> parse_serve(const Command&, Arguments arguments) {
  Result<answer::ServeWords> words = answer::read_serve_words({.words = arguments});
  if (!words) return tl::unexpected(words.error());
  if (!words->help.empty()) return Message{std::move(words->help)};
  return std::move(words->command);
}

/// What is planned stands before the model.
Syntax with_question(Syntax syntax, std::string_view help) {
  syntax.operands.insert(syntax.operands.begin(), {"QUESTION", help});
  return syntax;
}
Syntax plan_train_syntax() {
  return with_question(answer::plan_train_syntax(),
                       "what is planned: train, or serve with its own options");
}
Syntax plan_serve_syntax() {
  return with_question(answer::plan_serve_syntax(), "what is planned: serve");
}

Result<Request> asked_plan(const Words& words) {
  if (words.operand() == "serve") return answer::plan_serve_of(words, 1);
  if (words.operand() == "train") return answer::plan_train_of(words, 1);
  return tl::unexpected(
      mistake("plan", fmt::format("cannot plan '{}', only train and serve", words.operand())));
}

/// The words up to the -- read as the command's own, and what stands behind it.
Result<Request> parse_with_tail(const Command& command, Arguments arguments) {
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  Result<Request> request = parse_command({command.name, command.operands, command.summary,
                                           command.example, command.syntax, command.asked},
                                          {arguments.begin(), dashes});
  if (!request) return request;
  const Arguments tail(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  if (auto* run = std::get_if<RunCommand>(&*request)) run->command.assign(tail.begin(), tail.end());
  auto* watch = std::get_if<WatchCommand>(&*request);
  if (watch && tail.empty())
    return tl::unexpected(mistake(command.name, "a command is missing behind --"));
  if (watch) watch->command.assign(tail.begin(), tail.end());
  return request;
}

Syntax run_syntax() {
  Syntax syntax;
  option::add(std::span<const Option>(kRun), syntax.table);
  option::add(std::span<const Option>(kRunAnswer), syntax.table);
  option::add(answer::output_options(), syntax.table);
  return syntax;
}

Result<Request> asked_run(const Words& words) {
  option::Table own;
  option::add(std::span<const Option>(kRun), own);
  return RunCommand{.values = option::in_table_order(words, own),
                    .html = words.text("html"),
                    .snapshot = words.text("snapshot"),
                    .output = answer::output_of(words)};
}

Result<Request> asked_watch(const Words& words) {
  return WatchCommand{.snapshot = words.text("snapshot"), .output = answer::output_of(words)};
}

Result<Request> asked_replay(const Words& words) {
  ReplayOptions options{.trace = words.operand(),
                        .place_segments = words.has("place-segments"),
                        .driver_placement = words.text("driver-placement"),
                        .output = answer::output_of(words)};
  if (const auto taken = take(words, "device", options.device); !taken)
    return tl::unexpected(taken.error());
  return options;
}

Result<Request> asked_explain(const Words& words) {
  ExplainOptions options{
      .files = words.operands, .html = words.text("html"), .output = answer::output_of(words)};
  if (words.has("against")) options.against = {words.text("against")};
  if (const auto taken = take(words, "device", options.device); !taken)
    return tl::unexpected(taken.error());
  return options;
}

/// `memtape explain FILE... [--against 'train MODEL ...' | --against -- COMMAND]`
Result<Request> parse_explain(const Command& command, Arguments arguments) {
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  Arguments before(arguments.begin(), dashes);
  if (dashes != arguments.end()) {
    if (before.empty() || before.back() != std::string_view("--against"))
      return tl::unexpected(
          mistake(command.name, "a command stands without --against before its --"));
    before = before.first(before.size() - 1);
  }
  Result<Request> request = parse_command({command.name, command.operands, command.summary,
                                           command.example, command.syntax, command.asked},
                                          before);
  auto* options = request ? std::get_if<ExplainOptions>(&*request) : nullptr;
  if (!options || dashes == arguments.end()) return request;
  if (!options->against.empty())
    return tl::unexpected(mistake(command.name, "--against is given twice"));
  options->against.assign(dashes, arguments.end());
  return request;
}

template <class Options>
Result<Request> asked_catalog(const Words& words) {
  return Options{words.operand(), answer::output_of(words)};
}

Result<Request> asked_detect(const Words& words) {
  return DetectOptions{words.has("watch"), answer::output_of(words)};
}

Result<Request> asked_check(const Words& words) {
  CheckOptions options{.update = words.has("update"), .output = answer::output_of(words)};
  if (!words.operands.empty()) options.file = words.operand();
  return options;
}

Result<Request> asked_scoreboard(const Words& words) {
  return ScoreboardOptions{words.operands, words.has("markdown"), answer::output_of(words)};
}

Result<Request> asked_fits(const Words& words) { return answer::fits_of(words); }

Result<Request> asked_mcp(const Words& words) {
  McpOptions options{.output = answer::output_of(words)};
  if (const auto taken = take(words, "seconds", options.seconds); !taken)
    return tl::unexpected(taken.error());
  return options;
}

Result<Request> asked_http(const Words& words) {
  HttpOptions options{.output = answer::output_of(words)};
  options.host = words.text("host", options.host);
  for (const auto& [name, value] : {std::pair{"port", &options.port},
                                    {"seconds", &options.seconds},
                                    {"workers", &options.workers},
                                    {"max-request-bytes", &options.request_bytes}})
    if (const auto taken = take(words, name, *value); !taken) return tl::unexpected(taken.error());
  return options;
}

Result<Request> asked_web(const Words& words) {
  WebOptions options{.folder = words.text("folder"),
                     .no_open = words.has("no-open"),
                     .output = answer::output_of(words)};
  if (const auto taken = take(words, "port", options.port); !taken)
    return tl::unexpected(taken.error());
  return options;
}

constexpr Operand kId{"ID", "only this entry, in full", false};

constexpr auto kCommands = std::to_array<Command>({
    {"train", "MODEL", "one training step, per GPU",
     "memtape train meta-llama/Llama-3.1-8B --gpu h100-80gb", answer::train_syntax, asked_train},
    {"serve", "MODEL", "an inference server, per GPU",
     "memtape serve meta-llama/Llama-3.1-8B --engine llamacpp --quantize Q4_K_M", nullptr, nullptr,
     parse_serve},
    {"run", "-- COMMAND...", "a program on phantom GPUs: its real memory, without a GPU",
     "memtape run --gpu a100-80gb -- python train.py", run_syntax, asked_run, parse_with_tail},
    {"verify", "STEP MODEL", "a prediction beside real torch on a phantom GPU",
     "memtape verify train Qwen/Qwen3-0.6B --sequence-length 512", verify_syntax,
     asked_verify<false>},
    {"plan", "STEP MODEL", "what fits, ranked by time or cost, ready to launch",
     "memtape plan train meta-llama/Llama-3.1-70B --gpu h100-80gb --gpus 64 "
     "--global-batch-size 256",
     plan_train_syntax, asked_plan},
    {"fits", "", "which models this machine can chat with or train",
     "memtape fits --gpu rtx-3060-12gb --host-memory 64GiB --size 7B..40B", answer::fits_syntax,
     asked_fits},
    {"time", "QUESTIONS", "the time of steps and servers by their sizes", "memtape time q.jsonl",
     [] { return made_of({}, {{"QUESTIONS", "a JSON object a line"}}); },
     asked_catalog<TimeOptions>},
    {"record", "train MODEL", "that real step as a row of truth",
     "memtape record train Qwen/Qwen3-0.6B --into rows", record_syntax, asked_verify<true>},
    {"replay", "TRACE", "play a recorded allocator trace through the replica",
     "memtape replay trace.jsonl.gz",
     [] {
       return made_of(kReplay, {{"TRACE",
                                 "a memory snapshot (.pickle) or a recorded trace "
                                 "(.jsonl, .jsonl.gz)"}});
     },
     asked_replay},
    {"explain", "FILE...", "a snapshot, log or error message: what held the memory",
     "memtape explain snapshot.pickle",
     [] {
       return made_of(
           kExplain,
           {{"FILE", "snapshots, traces, logs or messages; - is standard input", true, true}});
     },
     asked_explain, parse_explain},
    {"watch", "-- COMMAND...", "a real run on a real GPU, observed",
     "memtape watch -- python train.py", [] { return made_of(kWatch); }, asked_watch,
     parse_with_tail},
    {"check", "[FILE]", "a budget in CI: what grew since the lock file, and why",
     "memtape check memtape.toml",
     [] { return made_of(kCheck, {{"FILE", "the runs and their limits (memtape.toml)", false}}); },
     asked_check},
    {"detect", "", "the GPUs of this machine: what is free now, and who holds the rest",
     "memtape detect --json", [] { return made_of(kDetect); }, asked_detect},
    {"mcp", "", "the Model Context Protocol over standard input, for agents",
     "claude mcp add memtape -- memtape mcp", [] { return made_of(kMcp); }, asked_mcp},
    {"serve-http", "", "the same answers over HTTP, for schedulers and notebooks",
     "memtape serve-http --port 8471", [] { return made_of(kHttp); }, asked_http},
    {"web", "", "the page, served to this machine's browser", "memtape web",
     [] { return made_of(kWeb); }, asked_web},
    {"scoreboard", "FILE...", "replay truth rows: how often right to the byte",
     "memtape scoreboard tests/truth/torch_steps.jsonl",
     [] { return made_of(kScoreboard, {{"FILE", "truth rows (.jsonl)", true, true}}); },
     asked_scoreboard},
    {"diff", "TAPE MODEL", "a predicted step beside a recorded one",
     "memtape diff step.tape config.json --sequence-length 384",
     [] { return with_train({}, {{"TAPE", "a recorded step tape (.tape)"}, answer::kModel}); },
     asked_diff},
    {"models", "[ID]", "the models that are known by name",
     "memtape models meta-llama/Llama-3.1-8B", [] { return made_of({}, {kId}); },
     asked_catalog<ModelsOptions>},
    {"gpus", "[ID]", "the GPUs that are known by name", "memtape gpus h100-80gb",
     [] { return made_of({}, {kId}); }, asked_catalog<GpusOptions>},
});

bool asks_serve(Arguments typed) {
  return !typed.empty() && typed.front() == std::string_view("serve");
}

}  // namespace

const Command kLaunch{"-- COMMAND...", "", "a launch command, predicted without running it",
                      "memtape --gpu h100-80gb -- torchrun --nproc-per-node 8 pretrain_gpt.py "
                      "--num-layers 12 ...",
                      answer::launch_syntax};

std::span<const Command> commands() { return kCommands; }

option::Syntax syntax_of(const Command& command, Arguments typed) {
  if (command.parse == parse_serve || (command.name == "verify" && asks_serve(typed)))
    return answer::serve_syntax(typed);
  const bool plans_server = command.name == "plan" && asks_serve(typed);
  Syntax syntax = plans_server ? plan_serve_syntax() : command.syntax();
  syntax.command = command.name;
  syntax.summary = command.summary;
  syntax.example = command.example;
  syntax.table.insert(syntax.table.begin(), &option::kHelp);
  return syntax;
}

Result<Request> parse_command(const Command& command, Arguments arguments) {
  if (command.parse) return command.parse(command, arguments);
  if (command.name == "verify" && asks_serve(arguments))
    return parse_verify_serve(arguments.subspan(1));
  const Syntax syntax = syntax_of(command, arguments);
  const Result<Words> words = option::read_words(syntax, arguments);
  if (!words) return tl::unexpected(words.error());
  if (words->asks_help) return Message{option::help_text(syntax)};
  return command.asked(*words);
}

Result<Request> parse_launch(Arguments before, Arguments launched) {
  const Syntax syntax = syntax_of(kLaunch, before);
  const Result<Words> words = option::read_words(syntax, before);
  if (!words) return tl::unexpected(words.error());
  if (words->asks_help) return Message{option::help_text(syntax)};
  return LaunchOptions{answer::train_of(*words, answer::launch_table()),
                       {launched.begin(), launched.end()}};
}

}  // namespace memtape::cli
