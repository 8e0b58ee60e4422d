// SPDX-License-Identifier: Apache-2.0
#include "answer/comparison_table.h"

#include <fmt/format.h>

#include "answer/train_question.h"
#include "base/text.h"
#include "report/headline.h"
#include "report/json_writer.h"
#include "report/style.h"

namespace memtape::answer {
namespace {

const ServeRank* rank_of(const ServeAnswer& answer) {
  return answer.ranks.empty() ? nullptr : &answer.ranks.front();
}

Table::Row row(const ComparedServer& server, bool wins) {
  const std::string quantize = server.quantize.empty() ? "-" : server.quantize;
  if (!server.answer) return {server.gpu, quantize, "-", "-", "-", "-", "not possible"};
  const ServeAnswer& answer = *server.answer;
  const ServeRank* rank = rank_of(answer);
  std::string verdict(name(server.verdict()));
  if (wins) verdict += "  <- the smallest that does";
  return {server.gpu,
          quantize,
          rank ? gib_number(rank->peak_device_bytes) : "-",
          gib_number(answer.device->total_bytes),
          gib_number(answer.headroom_bytes.value_or(0)),
          rank && rank->kv_cache.tokens > 0 ? with_commas(rank->kv_cache.tokens) : "-",
          verdict};
}

void write_compared(report::JsonWriter& out, const ComparedServer& server) {
  out.begin_object();
  out.member("gpu", server.gpu);
  out.key("quantize");
  server.quantize.empty() ? out.null() : out.value(server.quantize);
  out.key("fits");
  server.answer ? out.value(server.answer->fits.value_or(false)) : out.null();
  out.key("verdict");
  server.answer ? out.value(name(server.verdict())) : out.null();
  if (server.answer) {
    out.key("reason");
    server.answer->failure.empty() ? out.null() : out.value(server.answer->failure);
    if (const auto& users = server.answer->users) out.member("users_fit", users->fit);
    if (const auto& solved = server.answer->solved) out.member("solved", solved->value);
    const ServeRank* rank = rank_of(*server.answer);
    out.member("total_bytes", server.answer->device->total_bytes);
    out.member("peak_device_bytes", rank ? rank->peak_device_bytes : 0);
    out.member("headroom_bytes", server.answer->headroom_bytes.value_or(0));
    out.member("kv_tokens", rank ? rank->kv_cache.tokens : 0);
  } else {
    out.member("failure", server.failure);
  }
  out.end_object();
}

}  // namespace

std::string text(const Comparison& comparison, Widths widths) {
  using enum Table::Align;
  Table table({left, left, right, right, right, right, left});
  table.add({"GPU", "QUANTIZE", "NEEDS GiB", "OF", "SPARE", "KV TOKENS", "VERDICT"});
  for (std::size_t i = 0; i < comparison.servers.size(); ++i)
    table.add(row(comparison.servers[i], i == comparison.winner));
  std::string text = table.text(widths.tables);
  for (const ComparedServer& server : comparison.servers) {
    const std::string& reason = server.answer ? server.answer->failure : server.failure;
    if (reason.empty()) continue;
    const std::string of = server.quantize.empty() ? "" : " with --quantize " + server.quantize;
    for (const std::string& line :
         report::wrap(fmt::format("{}{}: {}", server.gpu, of, reason), widths.sentences))
      text += line + "\n";
  }
  return text;
}

Result<void> compares_alone(std::string_view command, std::span<const NamedValue> values) {
  const auto count = [&](std::string_view name) {
    return std::ranges::count(values, name, &NamedValue::first);
  };
  if (count("compare") == 0) return {};
  if (count("gpu") > 0)
    return bad_input("--gpu beside --compare: which GPUs?", std::string(command),
                     "--compare GPU,GPU");
  const bool compares_one = std::ranges::none_of(values, [](const NamedValue& value) {
    return value.first == "compare" && value.second.find(',') != std::string::npos;
  });
  if (count("gpu-memory-bytes") > 0 && !compares_one)
    return bad_input("--gpu-memory-bytes beside --compare: of which GPU?", std::string(command),
                     "--gpu with --gpu-memory-bytes for one");
  return {};
}

std::string quiet_text(const Comparison& comparison) {
  if (!comparison.winner) return "none fits\n";
  const ComparedServer& winner = comparison.servers[*comparison.winner];
  const ServeRank* rank = rank_of(*winner.answer);
  return report::QuietLine{
      .name = winner.gpu + (winner.quantize.empty() ? "" : " --quantize " + winner.quantize),
      .needed = rank ? rank->peak_device_bytes : 0,
      .total = winner.answer->device->total_bytes,
      .verdict = std::string(name(winner.verdict())),
      .room = winner.answer->headroom_bytes}
      .text();
}

std::string json(const Comparison& comparison) {
  report::JsonWriter out(report::JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "serve");
  out.key("compared");
  out.begin_array();
  for (const ComparedServer& server : comparison.servers) write_compared(out, server);
  out.end_array();
  out.key("winner");
  comparison.winner ? out.value(static_cast<std::int64_t>(*comparison.winner)) : out.null();
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::answer
