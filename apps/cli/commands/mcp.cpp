// SPDX-License-Identifier: Apache-2.0
// `memtape mcp`: the commands that answer as tools of the Model Context Protocol, over standard
// input and output. A call is a command line of this program, run in a child process.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "answer/answer.h"
#include "answer/request.h"
#include "base/text.h"
#include "command_line.h"
#include "commands.h"
#include "heap.h"
#include "service/answer_process.h"
#include "service/mcp.h"
#include "service/option_schema.h"

namespace memtape::cli {
namespace {

using service::Json;
using service::Tool;
using service::ToolAnswer;

Json object_of(Json properties, Json required = Json::array()) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

Json text_property(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

/// What every answer has; the rest is its command's (docs/memtape-1.schema.json).
Json answer_schema(std::string_view command) {
  return {{"type", "object"},
          {"properties",
           {{"schema", {{"const", "memtape/1"}}}, {"command", {{"const", std::string(command)}}}}},
          {"required", {"schema", "command"}},
          {"additionalProperties", true}};
}

Json explain_schema() {
  return object_of(
      {{"text", text_property("what was printed: an out-of-memory message, a traceback, a log")},
       {"files",
        {{"type", "array"},
         {"items", {{"type", "string"}}},
         {"description", "paths of memory snapshots, traces or logs"}}},
       {"against", text_property("a prediction to lay beside it: \"train MODEL ...\"")}});
}

std::vector<Tool> tools() {
  return {
      {"train", "Memory of a training step",
       "GPU memory of one training step, to the byte, per GPU: parameters, gradients, optimizer "
       "states, activations, what is reserved; whether it fits and what would make it fit.",
       service::request_schema("train"), answer_schema("train")},
      {"serve", "Memory of an inference server",
       "GPU memory of vLLM, SGLang, llama.cpp or transformers serving a model: weights, KV cache, "
       "how many users or tokens fit. An engine's own flags are taken, too.",
       service::request_schema("serve"), answer_schema("serve")},
      {"plan_train", "The fastest layout that fits",
       "Searches parallel layouts (dp, tp, pp, cp, ep, ZeRO, recomputation, micro-batches): ranked "
       "by time, cost, GPUs or head-room, memory confirmed exactly.",
       service::request_schema("plan train"), answer_schema("plan")},
      {"plan_serve", "The cheapest servers for so many users",
       "Which of the available GPUs hold so many users of a model within times to first token and "
       "per token.",
       service::request_schema("plan serve"), answer_schema("plan")},
      {"explain", "What a real run's memory held",
       "Reads an out-of-memory message, a log or a memory snapshot: what held the memory and what "
       "would have avoided it.",
       explain_schema(), answer_schema("explain")},
      {"models", "Known models", "The models that are known by name, or one of them in full.",
       object_of({{"name", text_property("only this one")}}), answer_schema("models")},
      {"gpus", "Known GPUs", "The GPUs that are known by name, or one of them in full.",
       object_of({{"name", text_property("only this one")}}), answer_schema("gpus")},
  };
}

std::string text_at(const Json& arguments, const char* key) {
  const auto found = arguments.find(key);
  return found != arguments.end() && found->is_string() ? found->get<std::string>() : "";
}

/// {"model": ..., "gpu": ...} as the words of a command line.
Result<std::vector<std::string>> command_words(std::string command, const Json& arguments) {
  if (const std::size_t under = command.find('_'); under != command.npos) command[under] = ' ';
  Json request{{"command", std::move(command)}, {"options", Json::object()}};
  for (const char* file : {"html", "snapshot"})
    if (arguments.contains(file))
      return bad_input("no files are written here", fmt::format("arguments.{}", file),
                       "leave it out");
  if (const auto model = arguments.find("model"); model != arguments.end() && !model->is_string())
    return bad_input("is no text", "arguments.model", "a catalog name, a hub id or a path");
  for (const auto& [key, value] : arguments.items())
    (key == "model" ? request : request["options"])[key] = value;
  const Result<answer::Request> read =
      answer::read_request(request.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!read) return tl::unexpected(read.error());
  return answer::words_of(*read);
}

Result<std::vector<std::string>> explain_words(const Json& arguments) {
  std::vector<std::string> words{"explain"};
  if (!text_at(arguments, "text").empty()) words.emplace_back("-");
  if (const auto files = arguments.find("files"); files != arguments.end() && files->is_array())
    for (const Json& file : *files)
      if (file.is_string()) words.push_back(file.get<std::string>());
  if (words.size() == 1) return bad_input("names nothing to explain", "explain", "text, or files");
  if (const std::string against = text_at(arguments, "against"); !against.empty())
    words.insert(words.end(), {"--against", against});
  return words;
}

/// An error for a key that the tool does not have, or whose value is of another type.
Result<void> check_keys(const Tool& tool, const Json& arguments) {
  const Json& known = tool.input["properties"];
  std::vector<std::string_view> names;
  for (const auto& [name, schema] : known.items()) names.push_back(name);
  for (const auto& [key, value] : arguments.items()) {
    const std::string where = fmt::format("arguments.{}", key);
    if (!known.contains(key)) return bad_input("unknown key", where, suggestion(key, names));
    const bool is_list = known[key]["type"] == "array";
    if (is_list ? !value.is_array() : !value.is_string())
      return bad_input(fmt::format("is no {}", is_list ? "list" : "text"), where);
    for (const Json& item : value)
      if (is_list && !item.is_string()) return bad_input("holds what is no text", where);
  }
  return {};
}

Result<std::vector<std::string>> words_of(const Tool& tool, const Json& arguments) {
  const bool is_lookup = tool.name == "models" || tool.name == "gpus";
  if (!is_lookup && tool.name != "explain") return command_words(tool.name, arguments);
  if (const Result<void> fine = check_keys(tool, arguments); !fine)
    return tl::unexpected(fine.error());
  if (tool.name == "explain") return explain_words(arguments);
  std::vector<std::string> words{tool.name};
  if (std::string name = text_at(arguments, "name"); !name.empty())
    words.push_back(std::move(name));
  return words;
}

/// A file without a name, which goes with its last descriptor.
std::FILE* unnamed_file() {
#ifdef __linux__
  const int file = memfd_create("input", MFD_CLOEXEC);
  return file < 0 ? nullptr : fdopen(file, "w+");
#else
  return std::tmpfile();
#endif
}

/// Standard input becomes `text`.
void give_input(const std::string& text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(unnamed_file(), std::fclose);
  if (!file) return;
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) return;
  std::rewind(file.get());  // and writes what is not written yet
  dup2(fileno(file.get()), STDIN_FILENO);
}

struct Printed {
  std::string output, errors;
  int code = 0;
};

/// What a command line of this program prints.
Printed printed(const std::vector<std::string>& words, const std::string& input) {
  give_input(input);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  char *output = nullptr, *errors = nullptr;
  std::size_t output_size = 0, errors_size = 0;
  std::FILE* to = open_memstream(&output, &output_size);
  std::FILE* beside = open_memstream(&errors, &errors_size);
  Terminal terminal(to, beside, {.draws = false});
  Printed printed;
  printed.code = run_command_line(arguments, terminal);
  std::fclose(to);
  std::fclose(beside);
  printed.output.assign(output, output_size);
  printed.errors.assign(errors, errors_size);
  std::free(output);
  std::free(errors);
  return printed;
}

/// In the child: the answer for people and as JSON, or the line that says why there is none.
answer::Answered answered(std::vector<std::string> words, const std::string& input) {
  const Printed for_people = printed(words, input);
  if (for_people.code >= ExitCode::bad_input) {
    constexpr std::string_view kProgram = "memtape: ";
    const std::string& line = for_people.errors;
    return {line.starts_with(kProgram) ? line.substr(kProgram.size()) : line, for_people.code};
  }
  const auto dashes = std::ranges::find(words, "--against");
  words.insert(dashes, "--json");
  Json both{{"text", for_people.output},
            {"json", Json::parse(printed(words, input).output, nullptr, false)}};
  return {both.dump(-1, ' ', false, Json::error_handler_t::replace), for_people.code};
}

Result<ToolAnswer> call(const Tool& tool, const Json& arguments, int seconds) {
  const Result<std::vector<std::string>> words = words_of(tool, arguments);
  if (!words) return tl::unexpected(words.error());
  const std::string input = text_at(arguments, "text");
  auto process = service::AnswerProcess::start([&] { return answered(*words, input); },
                                               {.time = std::chrono::seconds(seconds)});
  if (!process) return tl::unexpected(process.error());
  const Result<answer::Answered> found = process->wait();
  if (!found) return tl::unexpected(found.error());
  if (found->exit_code >= ExitCode::bad_input)
    return bad_input(std::string(trimmed(found->text)), {});
  Json both = Json::parse(found->text, nullptr, false);
  if (!both.is_object() || !both["text"].is_string())
    return tl::unexpected(Error{ErrorKind::internal, "is not to be read", tool.name, {}});
  return ToolAnswer{both["text"].get<std::string>(), std::move(both["json"])};
}

constexpr std::size_t kLongestLine = std::size_t{8} << 20;

/// The next line; of one that is too long no more than shows that it is.
std::optional<std::string> next_message(std::istream& in) {
  std::string line;
  char next = 0;
  while (in.get(next) && next != '\n')
    if (line.size() <= kLongestLine) line += next;
  return in || !line.empty() ? std::optional(std::move(line)) : std::nullopt;
}

int run_mcp(const Words& words, Terminal& terminal) {
  const int seconds = static_cast<int>(*words.whole("seconds"));
  service::McpSession session(tools(), [seconds](const Tool& tool, const Json& arguments) {
    return call(tool, arguments, seconds);
  });
  give_back_what_is_freed();
  while (const std::optional<std::string> read = next_message(std::cin)) {
    const std::string& line = *read;
    if (line.size() > kLongestLine) {
      terminal.print(session.too_long(kLongestLine));
      if (!terminal.flush()) break;
      continue;
    }
    if (trimmed(line).empty()) continue;
    if (const std::optional<std::string> answer = session.answer(line)) terminal.print(*answer);
    if (!terminal.flush()) break;  // the client is gone
  }
  return ExitCode::fits;
}

constexpr auto kMcpOptions = std::to_array<Option>({
    {"--seconds", "N", "the longest that one answer may take", {}, option::Whole{1, 86400}, "60"},
});

}  // namespace

const Command kMcpCommand{
    .name = "mcp",
    .summary = "the Model Context Protocol over standard input, for agents",
    .explanation =
        "each tool answers as the command of its name does; the option explain shows how "
        "its numbers come about",
    .example = "claude mcp add memtape -- memtape mcp",
    .own = kMcpOptions,
    .run = run_mcp,
};

}  // namespace memtape::cli
