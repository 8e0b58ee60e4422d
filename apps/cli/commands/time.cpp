// SPDX-License-Identifier: Apache-2.0
// `memtape time QUESTIONS`: how long steps and servers take whose sizes are all said, a JSON object
// a line.
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "mesh/gpu_catalog.h"
#include "report/json_parts.h"
#include "sources/files.h"
#include "sources/model_source.h"
#include "time/question.h"

namespace memtape::cli {
namespace {

using report::JsonWriter;
using time::Seconds;
using time::StepClock;
using time::TimeQuestion;

constexpr std::size_t kMostText = std::size_t{64} << 20;

/// A clock a model and machine, kept: making one costs more than asking it.
class Clocks {
 public:
  Result<const StepClock*> of(const TimeQuestion& q) {
    const std::string key =
        fmt::format("{}|{}|{}|{}|{}|{}|{}", q.model, q.config, q.layers, q.gpu,
                    q.machine.gpus_per_node.value_or(0), q.machine.domain.value_or(0),
                    q.machine.network_gb_s.value_or(0));
    auto& clock = clocks_[key];
    if (clock) return clock.get();
    const Result<Gpu> gpu = find_gpu(q.gpu, "gpu");
    if (!gpu) return tl::unexpected(gpu.error());
    const Result<time::Machine> machine = time::machine_of(*gpu, q.machine);
    if (!machine) return tl::unexpected(machine.error());
    std::string text;
    if (q.config.empty()) {
      const auto source = sources::find_model_source(q.model, sources::HubSettings::of_process());
      if (!source) return tl::unexpected(source.error());
      if (!source->config) return bad_input("has no config.json", q.model);
      text = source->config->json();
    }
    const Result<time::ModelShape> shape = time::shape_of(q, text);
    if (!shape) return tl::unexpected(shape.error());
    clock = std::make_unique<StepClock>(*shape, *machine);
    return clock.get();
  }

 private:
  std::map<std::string, std::unique_ptr<StepClock>> clocks_;
};

void write_number(JsonWriter& json, std::string_view key, double value) {
  json.key(key);
  json.raw(fmt::format("{:.6g}", value));
}

void write_seconds(JsonWriter& json, std::string_view key, const Seconds& seconds) {
  report::write_seconds(json, key, seconds.low, seconds.mid, seconds.high);
}

void write_parts(JsonWriter& json, const std::vector<time::TimePart>& parts) {
  json.key("time");
  json.begin_array();
  for (const time::TimePart& part : parts) {
    json.begin_object();
    json.member("kind", time::name(part.kind));
    json.member("what", part.what);
    write_number(json, "seconds", part.seconds);
    write_number(json, "hidden", part.hidden);
    json.end_object();
  }
  json.end_array();
}

std::string answer_json(const TimeQuestion& q, const StepClock& clock) {
  JsonWriter json(JsonWriter::Layout::compact);
  json.begin_object();
  json.member("schema", "memtape/1");
  json.member("command", "time");
  if (q.serves) {
    const time::ServeTime t = clock.serve(q.serve);
    write_seconds(json, "ttft_seconds", t.ttft);
    write_seconds(json, "tpot_seconds", t.tpot);
    write_number(json, "tokens_per_second", t.tokens_per_second);
    write_parts(json, t.decode_parts);
    report::write_lines(json, "assumptions", t.assumptions);
  } else {
    const time::StepTime t = clock.train(q.train);
    write_seconds(json, "step_seconds", t.seconds);
    write_number(json, "tokens_per_second", t.tokens_per_second);
    write_number(json, "mfu", t.mfu);
    write_parts(json, t.parts);
    report::write_lines(json, "assumptions", t.assumptions);
  }
  json.end_object();
  return std::move(json).take() + "\n";
}

std::string range_text(const Seconds& s) {
  return fmt::format("{:.4g} s ({:.4g} to {:.4g})", s.mid, s.low, s.high);
}

std::string parts_text(const std::vector<time::TimePart>& parts, double whole) {
  std::string text;
  for (const time::TimePart& p : parts)
    if (p.seconds > 0 || p.hidden > 0)
      text += fmt::format("  {:10} {:14} {:9.4f} s {:5.1f} %{}\n", time::name(p.kind), p.what,
                          p.seconds, 100 * p.seconds / whole,
                          p.hidden > 0 ? fmt::format("   {:.4f} s behind it", p.hidden) : "");
  return text;
}

std::string answer_text(const TimeQuestion& q, const StepClock& clock) {
  std::string text = fmt::format("{} on {}: ", q.model.empty() ? "config" : q.model, q.gpu);
  std::vector<std::string> assumptions;
  if (q.serves) {
    const time::ServeTime t = clock.serve(q.serve);
    text += fmt::format("first token {}, each further {}, {:.0f} tokens/s\n", range_text(t.ttft),
                        range_text(t.tpot), t.tokens_per_second);
    text += parts_text(t.decode_parts, t.decode_seconds);
    assumptions = t.assumptions;
  } else {
    const time::StepTime t = clock.train(q.train);
    text += fmt::format("a step takes {}, {:.0f} tokens/s, MFU {:.1f} %\n", range_text(t.seconds),
                        t.tokens_per_second, 100 * t.mfu);
    text += parts_text(t.parts, t.seconds.mid);
    assumptions = t.assumptions;
  }
  for (const std::string& assumption : assumptions) text += "  " + assumption + "\n";
  return text;
}

int run_time(const Words& words, Terminal& terminal) {
  const std::string file = words.operand();
  const bool as_json = output_of(words).json;
  const Result<std::string> text = sources::read_text_file(file, kMostText);
  if (!text) return terminal.fail(text.error());
  Clocks clocks;
  std::size_t number = 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = fmt::format("{}:{}", file, number);
    const Result<TimeQuestion> question = time::read_time_question(line, where);
    if (!question) return terminal.fail(question.error());
    const Result<const StepClock*> clock = clocks.of(*question);
    if (!clock) {
      Error error = clock.error();
      error.where = where + (error.where.empty() ? "" : ": " + error.where);
      return terminal.fail(error);
    }
    terminal.print(as_json ? answer_json(*question, **clock) : answer_text(*question, **clock));
  }
  return ExitCode::fits;
}

constexpr Operand kTimeQuestions{"QUESTIONS", "a JSON object a line"};

}  // namespace

const Command kTimeCommand{
    .name = "time",
    .usage = "QUESTIONS",
    .summary = "the time of steps and servers by their sizes",
    .explanation =
        "times follow from measured kernels, messages and the schedule of the step, as "
        "docs/time.md says of each part",
    .example = "memtape time q.jsonl",
    .operands = {&kTimeQuestions, 1},
    .run = run_time,
};

}  // namespace memtape::cli
