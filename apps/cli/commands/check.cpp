// SPDX-License-Identifier: Apache-2.0
// `memtape check [FILE]`: named runs with their budgets, and what grew since the lock file.
//
//     [runs.llama]                                  memtape.toml
//     command = "train meta-llama/Llama-3.1-8B --sequence-length 4096 --gpu h100-80gb"
//     limit = "78 GiB"
//
// Each run is this program's own answer to its command (train, serve, or -- COMMAND). The lock file
// beside FILE keeps what was accepted last: a run that needs more than it did fails the check, as
// one over its limit does.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "answer/table.h"
#include "base/text.h"
#include "commands.h"
#include "evidence/quantity.h"
#include "explain_against.h"
#include "launch/settings/toml.h"
#include "report/json_parts.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using report::JsonWriter;

constexpr std::size_t kLargestFile = std::size_t{4} << 20, kLargestAnswer = std::size_t{64} << 20;
constexpr std::size_t kDifferencesShown = 5;

/// One [runs.NAME] of the file.
struct Budget {
  std::string name, command;
  std::vector<std::string> words;
  std::optional<Bytes> limit;
  Bytes allowed_growth = 0;
};

/// What a run needs, as its answer says it.
struct Need {
  Bytes peak = 0;
  std::map<std::string, Bytes> parts;  ///< categories, and "module, op" of the largest tensors
};

struct Checked {
  Budget budget;
  Need now;
  std::optional<Need> locked;

  Bytes growth() const { return locked ? now.peak - locked->peak : 0; }
  bool grew() const { return growth() > budget.allowed_growth; }
  bool is_over() const { return budget.limit && now.peak > *budget.limit; }
};

Error at(const std::string& file, const launch::YamlNode& node, std::string what,
         std::string hint) {
  return {ErrorKind::bad_input, std::move(what), launch::place_in(file, node.line),
          std::move(hint)};
}

Result<Bytes> size_of(const std::string& file, const launch::YamlNode& node) {
  std::size_t used = 0;
  const auto quantity = quantity_at(node.text, &used);
  if (quantity && used == node.text.size()) return quantity->bytes;
  return tl::unexpected(at(file, node, fmt::format("'{}' is no size", node.text), "\"78 GiB\""));
}

Result<Budget> budget_of(const std::string& file, const launch::YamlNode& table) {
  Budget budget;
  budget.name = table.key;
  for (const launch::YamlNode& node : table.children) {
    if (node.key == "command") {
      budget.command = node.text;
    } else if (node.key == "limit" || node.key == "allow") {
      const Result<Bytes> size = size_of(file, node);
      if (!size) return tl::unexpected(size.error());
      if (node.key == "limit")
        budget.limit = *size;
      else
        budget.allowed_growth = *size;
    } else {
      return tl::unexpected(
          at(file, node, fmt::format("unknown key {}", node.key), "command, limit, allow"));
    }
  }
  const auto words = words_against({budget.command});
  if (!words || words->empty())
    return tl::unexpected(at(file, table, fmt::format("run {} has no command", budget.name),
                             "command = \"train MODEL ...\""));
  budget.words = *words;
  const std::string& first = budget.words.front();
  if (first != "train" && first != "serve" && !first.starts_with("--"))
    return tl::unexpected(at(file, table, fmt::format("cannot check '{}'", first),
                             "train, serve, or [options] -- COMMAND"));
  return budget;
}

Result<std::vector<Budget>> budgets_of(const std::string& file) {
  const Result<std::string> text = sources::read_text_file(file, kLargestFile);
  if (!text) return tl::unexpected(text.error());
  const Result<launch::YamlNode> document = launch::read_toml(*text, file);
  if (!document) return tl::unexpected(document.error());
  const launch::YamlNode* runs = document->find("runs");
  if (runs == nullptr || runs->children.empty())
    return memtape::bad_input("names no runs", file,
                              "[runs.NAME] with command = \"train MODEL ...\"");
  std::vector<Budget> budgets;
  for (const launch::YamlNode& table : runs->children) {
    Result<Budget> budget = budget_of(file, table);
    if (!budget) return tl::unexpected(budget.error());
    budgets.push_back(std::move(*budget));
  }
  return budgets;
}

/// This program's own answer to a command, as JSON. Its complaint, if any, comes back as the error.
Result<OrderedJson> answer_to(const Budget& budget) {
  std::vector<std::string> words{"memtape"};
  const auto dashes = std::ranges::find(budget.words, "--");
  words.insert(words.end(), budget.words.begin(), dashes);
  words.emplace_back("--json");
  words.insert(words.end(), dashes, budget.words.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int answer[2];
  if (pipe(answer) != 0)
    return tl::unexpected(Error{ErrorKind::internal, "no pipe can be made", budget.name, {}});
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(answer[1], STDOUT_FILENO);
    close(answer[0]);
    close(answer[1]);
    execv("/proc/self/exe", pointers.data());
    _exit(127);
  }
  close(answer[1]);
  std::string text(1 << 16, '\0'), all;
  for (ssize_t got = 0; (got = read(answer[0], text.data(), text.size())) > 0;)
    if (all.size() < kLargestAnswer) all.append(text.data(), static_cast<std::size_t>(got));
  close(answer[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : ExitCode::internal_error;
  if (code != ExitCode::fits && code != ExitCode::does_not_fit)
    return memtape::bad_input("has no answer", fmt::format("run {}", budget.name),
                              "what is wrong with its command stands above");
  OrderedJson json = OrderedJson::parse(all, nullptr, false);
  if (json.is_discarded())
    return tl::unexpected(Error{ErrorKind::internal, "its answer is no JSON", budget.name, {}});
  return json;
}

Bytes bytes_at(const OrderedJson& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number_integer() ? found->get<Bytes>() : 0;
}

/// The rank with the highest peak, and what it holds then.
Result<Need> need_of(const Budget& budget, const OrderedJson& answer) {
  const auto ranks = answer.find("ranks");
  Need need;
  if (ranks != answer.end() && ranks->is_array())
    for (const OrderedJson& rank : *ranks) {
      const Bytes peak = bytes_at(rank, "peak_device_bytes");
      if (peak <= need.peak) continue;
      need = {.peak = peak, .parts = {}};
      if (const auto held = rank.find("at_peak"); held != rank.end() && held->is_object())
        for (const auto& [category, bytes] : held->items())
          if (bytes.is_number_integer()) need.parts[category] = bytes.get<Bytes>();
      if (const auto largest = rank.find("largest"); largest != rank.end())
        for (const OrderedJson& row : *largest)
          need.parts[std::string(trimmed(fmt::format(
              "{} {}", row.value("module", ""), row.value("op", ""))))] += bytes_at(row, "bytes");
    }
  // What the verdict rests on: less than the peak where cached segments go back.
  if (const Bytes needed = bytes_at(answer, "needed_bytes"); needed != 0) need.peak = needed;
  if (need.peak == 0)
    return memtape::bad_input("its answer has no peak", fmt::format("run {}", budget.name));
  return need;
}

std::string lock_of(const std::string& file) {
  return std::filesystem::path(file).replace_extension(".lock").string();
}

Result<std::map<std::string, Need>> read_lock(const std::string& file) {
  std::map<std::string, Need> locked;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return locked;
  const Result<std::string> text = sources::read_text_file(file, kLargestFile);
  if (!text) return tl::unexpected(text.error());
  const OrderedJson json = OrderedJson::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("runs"))
    return memtape::bad_input("is no lock file", file, "memtape check --update writes it anew");
  for (const auto& [name, run] : json["runs"].items()) {
    Need& need = locked[name];
    need.peak = bytes_at(run, "peak_device_bytes");
    if (const auto parts = run.find("parts"); parts != run.end())
      for (const auto& [part, bytes] : parts->items())
        if (bytes.is_number_integer()) need.parts[part] = bytes.get<Bytes>();
  }
  return locked;
}

Result<void> write_lock(const std::string& file, const std::vector<Checked>& runs) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.key("runs");
  out.begin_object();
  for (const Checked& run : runs) {
    out.key(run.budget.name);
    out.begin_object();
    out.member("command", run.budget.command);
    out.member("peak_device_bytes", run.now.peak);
    out.key("parts");
    out.begin_object();
    for (const auto& [part, bytes] : run.now.parts) out.member(part, bytes);
    out.end_object();
    out.end_object();
  }
  out.end_object();
  out.end_object();
  return sources::write_file(file, std::move(out).take());
}

/// What changed between the lock and now, the largest changes first.
std::vector<std::pair<std::string, Bytes>> differences(const Checked& run) {
  std::vector<std::pair<std::string, Bytes>> all;
  if (!run.locked) return all;
  std::map<std::string, Bytes> changes = run.now.parts;
  for (const auto& [part, bytes] : run.locked->parts) changes[part] -= bytes;
  for (const auto& [part, bytes] : changes)
    if (bytes != 0) all.emplace_back(part, bytes);
  std::ranges::stable_sort(
      all, [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  if (all.size() > kDifferencesShown) all.resize(kDifferencesShown);
  return all;
}

std::string signed_bytes(Bytes bytes) {
  return fmt::format("{}{}", bytes < 0 ? "-" : "+", human_bytes(std::abs(bytes)));
}

std::string verdict_of(const Checked& run) {
  if (run.is_over()) return "over its limit";
  if (run.grew()) return "grew";
  return run.locked ? "ok" : "ok, not locked";
}

std::string text_of(const std::vector<Checked>& runs, const OutputOptions& output) {
  using enum answer::Table::Align;
  answer::Table table({left, right, right, right, right, left});
  if (!output.quiet) table.add({"RUN", "PEAK", "LIMIT", "LOCKED", "CHANGE", ""});
  for (const Checked& run : runs)
    table.add({run.budget.name, human_bytes(run.now.peak),
               run.budget.limit ? human_bytes(*run.budget.limit) : "-",
               run.locked ? human_bytes(run.locked->peak) : "-",
               run.locked ? signed_bytes(run.growth()) : "-", verdict_of(run)});
  std::string text = table.text();
  for (const Checked& run : runs) {
    if (output.quiet || run.growth() == 0) continue;
    text += fmt::format("\n{}: {} B since the lock\n", run.budget.name, with_commas(run.growth()));
    for (const auto& [part, bytes] : differences(run))
      text += fmt::format("  {:>14}  {}\n", signed_bytes(bytes), part);
  }
  return text;
}

std::string json_of(const std::vector<Checked>& runs, bool passes) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "check");
  out.member("passes", passes);
  out.key("runs");
  out.begin_array();
  for (const Checked& run : runs) {
    out.begin_object();
    out.member("name", run.budget.name);
    out.member("command", run.budget.command);
    out.member("peak_device_bytes", run.now.peak);
    report::member_or_null(out, "limit_bytes", run.budget.limit);
    report::member_or_null(out, "locked_bytes",
                           run.locked ? std::optional(run.locked->peak) : std::nullopt);
    out.member("change_bytes", run.growth());
    out.member("over_limit", run.is_over());
    out.member("grew", run.grew());
    out.key("differences");
    out.begin_array();
    for (const auto& [part, bytes] : differences(run)) {
      out.begin_object();
      out.member("part", part);
      out.member("bytes", bytes);
      out.end_object();
    }
    out.end_array();
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

Result<std::vector<Checked>> checked(const CheckOptions& options) {
  const Result<std::vector<Budget>> budgets = budgets_of(options.file);
  if (!budgets) return tl::unexpected(budgets.error());
  const auto locked = read_lock(lock_of(options.file));
  if (!locked) return tl::unexpected(locked.error());
  std::vector<Checked> runs;
  for (const Budget& budget : *budgets) {
    const Result<OrderedJson> answer = answer_to(budget);
    if (!answer) return tl::unexpected(answer.error());
    Result<Need> need = need_of(budget, *answer);
    if (!need) return tl::unexpected(need.error());
    const auto before = locked->find(budget.name);
    runs.push_back({budget, std::move(*need),
                    before == locked->end() ? std::nullopt : std::optional(before->second)});
  }
  return runs;
}

}  // namespace

int run_check(const CheckOptions& options, Terminal& terminal) {
  Result<std::vector<Checked>> runs = checked(options);
  if (!runs) return terminal.fail(runs.error());
  const bool grew = !options.update && std::ranges::any_of(*runs, &Checked::grew);
  const bool passes = !grew && std::ranges::none_of(*runs, &Checked::is_over);
  terminal.print(options.output.json ? json_of(*runs, passes) : text_of(*runs, options.output));
  if (options.update) {
    const Result<void> written = write_lock(lock_of(options.file), *runs);
    if (!written) return terminal.fail(written.error());
  } else if (std::ranges::any_of(*runs, [](const Checked& run) { return !run.locked; })) {
    terminal.note("some runs are not in the lock file: memtape check --update writes it");
  }
  return passes ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::cli
