// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "answer/fits.h"
#include "answer/table.h"
#include "answer/train_question.h"
#include "base/text.h"
#include "predict/command_text.h"
#include "report/command_lines.h"
#include "report/headline.h"
#include "report/json_parts.h"
#include "report/style.h"

namespace memtape::answer {
namespace {

using Place = Fitting::Place;

bool trains(const FitsAnswer& answer) { return answer.question.task == FitsQuestion::Task::train; }

bool has_host(const FitsAnswer& answer) {
  return answer.question.host_memory.has_value() && answer.question.room().has_value();
}

/// "8.19 B", as models are named by their size.
std::string billions(std::int64_t parameters) {
  if (parameters == 0) return "-";
  const double b = static_cast<double>(parameters) / 1e9;
  return b < 0.995 ? fmt::format("{:.0f} M", b * 1e3) : fmt::format("{:.1f} B", b);
}

/// 40960 as "40k" where it is whole.
std::string tokens_text(std::int64_t tokens) {
  return tokens % 1024 == 0 ? fmt::format("{}k", tokens / 1024) : fmt::format("{}", tokens);
}

std::string where_text(const Fitting& one) {
  if (one.place == Place::partly) return "partly GPU";
  return one.place == Place::host ? "host" : "GPU";
}

std::string machine_text(const FitsAnswer& answer) {
  const FitsQuestion& q = answer.question;
  std::string text;
  if (const auto room = q.room()) {
    const std::string gpu(q.device.gpu ? q.device.gpu->name : "the GPU");
    text = fmt::format("{}: {}", gpu, gib(*room));
    if (q.device.gpus > 1) text = fmt::format("{} x {}", q.device.gpus, text);
  } else {
    text = fmt::format("no GPU: {}", gib(q.host_memory.value_or(0) - q.reserve));
  }
  if (q.reserve > 0) text += fmt::format(" beside a reserve of {}", gib(q.reserve));
  if (has_host(answer)) text += fmt::format(", {} of host memory", gib(*q.host_memory));
  return text;
}

std::string asked_text(const FitsAnswer& answer) {
  const FitsQuestion& q = answer.question;
  if (trains(answer))
    return fmt::format("one sequence of {} tokens at the least, layers computed again",
                       with_commas(q.least_tokens));
  return fmt::format("llama.cpp, a context of {} tokens at the least", with_commas(q.least_tokens));
}

Table table_of(const FitsAnswer& answer) {
  using enum Table::Align;
  const bool training = trains(answer), host = has_host(answer);
  std::vector<Table::Align> columns{left, right, left, right, right};
  Table::Row head{"MODEL", "SIZE", training ? "METHOD" : "WEIGHTS", training ? "TOKENS" : "CONTEXT",
                  "GiB"};
  if (host) {
    columns.insert(columns.end(), {right, left});
    head.insert(head.end(), {"HOST", "WHERE"});
  }
  const bool doubt = std::ranges::any_of(
      answer.models, [](const Fitting& one) { return one.verdict == VerdictWord::may_not_fit; });
  if (doubt) {
    columns.push_back(left);
    head.emplace_back("");
  }
  Table table(std::move(columns));
  table.add(std::move(head));
  for (const Fitting& one : answer.models) {
    Table::Row row{one.id, billions(one.parameters), one.with, tokens_text(one.tokens),
                   gib_number(one.peak_device_bytes)};
    if (host) row.insert(row.end(), {gib_number(one.host_bytes), where_text(one)});
    if (doubt) row.emplace_back(one.verdict == VerdictWord::may_not_fit ? "may not fit" : "");
    table.add(std::move(row));
  }
  return table;
}

std::string wrapped(const std::string& line, int width) {
  std::string text;
  for (const std::string& part : report::wrap(line, width)) text += part + "\n";
  return text;
}

std::string footer(const FitsAnswer& answer, int width) {
  const FitsQuestion& q = answer.question;
  std::string line = fmt::format("{} fit", answer.models.size() + answer.left_out);
  if (answer.left_out > 0) line += fmt::format(" (the first {} shown)", answer.models.size());
  line += fmt::format(", {} do not", answer.too_large.size());
  if (!answer.not_modelled.empty())
    line += fmt::format(", {} are not {} by memtape (--json says why)", answer.not_modelled.size(),
                        trains(answer) ? "trained" : "served with llama.cpp");
  if (answer.not_asked > 0) line += fmt::format(", {} were not asked", answer.not_asked);
  line += trains(answer) ? ". TOKENS: the longest sequence that fits, doubled from the least."
                         : ". CONTEXT: the longest that fits.";
  if (!trains(answer) && q.room() && !q.host_memory)
    line += " With --host-memory SIZE also what goes partly on the GPU.";
  std::string text = "\n" + wrapped(line, width);
  if (answer.models.empty()) return text;
  std::string command;
  for (const std::string& word : answer.models.front().command)
    command += (command.empty() ? "" : " ") + shell_word(word);
  text += "The first in full:\n";
  for (const std::string& part : report::command_lines(command, width, 2, 6)) text += part + "\n";
  return text;
}

void write_fitting(report::JsonWriter& out, const Fitting& one, bool training) {
  out.begin_object();
  out.member("id", one.id);
  out.member("family", one.family);
  out.key("parameters");
  one.parameters > 0 ? out.value(one.parameters) : out.null();
  out.member(training ? "method" : "quantize", one.with);
  out.member(training ? "sequence_length" : "context", one.tokens);
  out.key("longest");
  one.all_tokens > 0 ? out.value(one.all_tokens) : out.null();
  out.member("where", name(one.place));
  out.member("peak_device_bytes", one.peak_device_bytes);
  if (!training) {
    out.member("host_bytes", one.host_bytes);
    out.member("weight_bytes", one.weight_bytes);
  }
  report::write(out, one.verdict);
  if (!one.note.empty()) out.member("note", one.note);
  out.key("command");
  out.begin_row();
  for (const std::string& word : one.command) out.value(word);
  out.end_array();
  out.end_object();
}

void write_machine(report::JsonWriter& out, const FitsQuestion& q) {
  out.key("device");
  if (const auto total = q.device.total_bytes()) {
    out.begin_object();
    out.member("name", q.device.gpu ? q.device.gpu->name : "");
    out.member("id", q.device.gpu ? q.device.gpu->id : "");
    out.member("total_bytes", *total);
    out.member("gpus", q.device.gpus);
    out.end_object();
  } else {
    out.null();
  }
  report::member_or_null(out, "host_memory_bytes", q.host_memory);
  out.member("reserve_bytes", q.reserve);
}

}  // namespace

std::string text(const FitsAnswer& answer, Widths widths) {
  std::string out = wrapped(machine_text(answer), widths.sentences) +
                    wrapped(asked_text(answer), widths.sentences);
  if (!answer.models.empty()) out += "\n" + table_of(answer).text(widths.tables);
  return out + footer(answer, widths.sentences);
}

std::string quiet_text(const FitsAnswer& answer) {
  std::string out;
  for (const Fitting& one : answer.models)
    out += report::QuietLine{.name = fmt::format("{} ({}, {} tokens, {})", one.id, one.with,
                                                 one.tokens, name(one.place)),
                             .needed = one.peak_device_bytes,
                             .total = answer.question.room(),
                             .verdict = std::string(name(one.verdict.value_or(VerdictWord::fits)))}
               .text();
  return out;
}

std::string json(const FitsAnswer& answer) {
  report::JsonWriter out(report::JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "fits");
  out.member("task", trains(answer) ? "train" : "chat");
  write_machine(out, answer.question);
  out.member(trains(answer) ? "least_sequence_length" : "least_context",
             answer.question.least_tokens);
  out.key("models");
  out.begin_array();
  for (const Fitting& one : answer.models) write_fitting(out, one, trains(answer));
  out.end_array();
  report::write_lines(out, "too_large", answer.too_large);
  if (answer.not_asked > 0) out.member("not_asked", static_cast<std::int64_t>(answer.not_asked));
  out.key("not_modelled");
  out.begin_array();
  for (const Fitting& one : answer.not_modelled) {
    out.begin_object();
    out.member("id", one.id);
    out.member("failure", one.failure);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::answer
