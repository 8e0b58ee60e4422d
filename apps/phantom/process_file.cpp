// SPDX-License-Identifier: Apache-2.0
#include "phantom/process_file.h"

#include <array>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

namespace memtape::phantom_run {
namespace {

using ProcessJson = nlohmann::json;
using report::LiveTensors;

constexpr std::array kPhaseNames{"init", "forward", "backward", "optimizer"};

std::int64_t whole(const ProcessJson& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<std::int64_t>() : 0;
}

std::string word(const ProcessJson& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? at->get<std::string>() : std::string();
}

const ProcessJson& part(const ProcessJson& from, const char* key) {
  static const ProcessJson nothing = ProcessJson::object();
  const auto at = from.find(key);
  return at != from.end() ? *at : nothing;
}

Levels levels(const ProcessJson& from) {
  Levels l;
  if (!from.is_object()) return l;
  l.requested = whole(from, "requested");
  l.allocated = whole(from, "allocated");
  l.reserved = whole(from, "reserved");
  return l;
}

std::vector<std::string> words(const ProcessJson& from) {
  std::vector<std::string> all;
  for (const ProcessJson& item : from)
    if (item.is_string()) all.push_back(item.get<std::string>());
  return all;
}

std::vector<LiveTensors> live(const ProcessJson& from) {
  std::vector<LiveTensors> all;
  for (const ProcessJson& row : from)
    all.push_back(
        {whole(row, "bytes"), whole(row, "count"), word(row, "place"), words(part(row, "stack"))});
  return all;
}

report::RunFailure failure(const ProcessJson& from) {
  return {.gpu = static_cast<int>(whole(from, "device")),
          .step = whole(from, "step"),
          .phase = word(from, "phase"),
          .requested = whole(from, "request"),
          .free = whole(from, "free"),
          .levels = levels(from),
          .stack = words(part(from, "stack")),
          .largest = live(part(from, "largest"))};
}

report::RunEntry entry(const ProcessJson& process, const ProcessJson& device) {
  report::RunEntry e;
  e.pid = whole(process, "pid");
  e.rank = static_cast<int>(whole(process, "rank"));
  e.gpu = static_cast<int>(whole(device, "gpu"));
  e.steps_done = whole(process, "step");
  for (const char* name : kPhaseNames)
    if (part(device, "phases").contains(name))
      e.phases.push_back({name, levels(part(device, "phases")[name])});
  e.peak = levels(part(device, "peak"));
  e.steady = levels(part(device, "steady"));
  e.now = levels(part(device, "now"));
  for (const ProcessJson& step : part(device, "steps")) e.steps.push_back(levels(step));
  e.alloc_retries = whole(device, "retries");
  e.segments = whole(device, "segments");
  e.peak_live_requested = whole(part(device, "at_peak"), "requested");
  e.largest = live(part(part(device, "at_peak"), "largest"));
  for (const ProcessJson& oom : part(process, "out_of_memory"))
    if (whole(oom, "device") == whole(device, "device")) e.failures.push_back(failure(oom));
  return e;
}

}  // namespace

Result<ProcessFile> read_process_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const ProcessJson json = ProcessJson::parse(text, nullptr, false);
  if (!json.is_object())
    return tl::unexpected(
        Error{ErrorKind::internal, "is no report of a process", path.string(), {}});
  ProcessFile process{.python = word(json, "python"),
                      .torch = word(json, "torch"),
                      .entries = {},
                      .reads = {},
                      .inventions = {},
                      .warnings = {},
                      .rank = static_cast<int>(whole(json, "rank")),
                      .is_rank = whole(json, "world") > 1,
                      .finished = !json.contains("finished") || json["finished"] == true,
                      .stopped = json.contains("stopped") && json["stopped"] == true,
                      .died = word(json, "died")};
  for (const ProcessJson& device : part(json, "devices"))
    process.entries.push_back(entry(json, device));
  for (const ProcessJson& row : part(json, "reads"))
    process.reads.push_back(
        {word(row, "place"), word(row, "source"), whole(row, "count"), whole(row, "largest")});
  for (const ProcessJson& row : part(json, "invented"))
    process.inventions.push_back({word(row, "place"), word(row, "source"), word(row, "what"),
                                  whole(row, "count"), whole(row, "reads")});
  process.warnings = words(part(json, "warnings"));
  for (const std::string& problem : words(part(json, "problems")))
    process.warnings.push_back("the agent in process " + std::to_string(whole(json, "pid")) +
                               " failed: " + problem);
  return process;
}

}  // namespace memtape::phantom_run
