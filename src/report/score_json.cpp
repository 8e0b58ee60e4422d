// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/json_writer.h"
#include "report/score.h"

namespace memtape::report {
namespace {

void write_distribution(JsonWriter& json, const Distribution& d) {
  json.begin_object();
  json.member("key", d.key);
  json.member("rows", d.rows);
  json.member("exact", d.exact);
  for (const auto& [name, percent] :
       {std::pair("mean", d.mean), {"median", d.median}, {"p95", d.p95}, {"max", d.max}}) {
    json.key(name);
    json.raw(fmt::format("{}", percent));
  }
  json.end_object();
}

void write_scored(JsonWriter& json, const ScoredRow& row) {
  json.begin_object();
  json.member("id", row.id);
  json.member("predicted", row.failure.empty());
  json.key("values");
  json.begin_object();
  for (const ScoredValue& value : row.values) {
    json.key(value.key);
    json.begin_row();
    json.value(value.predicted);
    json.value(value.measured);
    json.end_array();
  }
  json.end_object();
  json.end_object();
}

}  // namespace

std::string score_json(const std::vector<ScoredRow>& rows) {
  JsonWriter json(JsonWriter::Layout::pretty);
  json.begin_object();
  json.member("schema", "memtape/1");
  json.member("command", "scoreboard");
  json.key("distributions");
  json.begin_array();
  for (const Distribution& d : distributions(rows)) write_distribution(json, d);
  json.end_array();
  json.key("main_figures");
  json.begin_row();
  for (const std::string& key : main_figures(rows)) json.value(key);
  json.end_array();
  json.key("rows");
  json.begin_array();
  for (const ScoredRow& row : rows) write_scored(json, row);
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace memtape::report
