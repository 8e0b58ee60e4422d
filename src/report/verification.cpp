// SPDX-License-Identifier: Apache-2.0
#include "report/verification.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "report/json_writer.h"

namespace memtape::report {
namespace {

constexpr std::size_t kContext = 4;

void add_levels(std::vector<Figure>& figures, const std::string& prefix, const Levels& levels) {
  figures.push_back({prefix + "_allocated_bytes", levels.allocated, 0});
  figures.push_back({prefix + "_requested_bytes", levels.requested, 0});
  figures.push_back({prefix + "_reserved_bytes", levels.reserved, 0});
}

std::size_t events_of(const TapeDiff& tape) {
  return std::max(tape.predicted.size(), tape.recorded.size());
}

std::string tape_text(const TapeDiff& tape) {
  if (!tape.same()) return text(tape, kContext);
  return fmt::format("tape: all {} allocations of the step agree, and what is freed between them\n",
                     events_of(tape));
}

void write_tape(const std::optional<TapeDiff>& tape, JsonWriter& out) {
  if (!tape) return out.null();
  out.begin_object();
  out.member("events", static_cast<std::int64_t>(events_of(*tape)));
  out.member("differing", static_cast<std::int64_t>(tape->differing));
  out.key("first_difference");
  tape->same() ? out.null() : out.value(static_cast<std::int64_t>(tape->first));
  out.end_object();
}

}  // namespace

bool Verification::exact() const {
  return (!tape || tape->same()) && std::ranges::all_of(figures, &Figure::same);
}

std::vector<Figure> predicted_figures(const Prediction& prediction) {
  const RankReport& rank = prediction.ranks.front();
  std::vector<Figure> figures{{"parameters", prediction.model.parameters, 0},
                              {"trainable_parameters", prediction.model.trainable_parameters, 0},
                              {"parameter_bytes", rank.parameter_bytes, 0},
                              {"buffer_bytes", rank.buffer_bytes, 0},
                              {"optimizer_state_bytes", rank.optimizer_state_bytes, 0},
                              {"gradient_bytes", rank.gradient_bytes, 0}};
  add_levels(figures, "steady", rank.steady);
  for (const PhaseReport& phase : rank.phases)
    add_levels(figures, fmt::format("phases.{}.peak", name(phase.phase)), phase.peak);
  add_levels(figures, "peak", rank.peak);
  return figures;
}

std::string text(const Verification& v) {
  std::string text = fmt::format("{} beside {}\n", v.model, v.stack);
  text += fmt::format("  {:<38}{:>20}{:>20}\n", "bytes", "predicted", "real");
  for (const Figure& f : v.figures)
    text += fmt::format("  {:<38}{:>20}{:>20}{}\n", f.name, with_commas(f.predicted),
                        with_commas(f.real),
                        f.same() ? ""
                                 : fmt::format("  {}{}", f.predicted > f.real ? "+" : "",
                                               with_commas(f.predicted - f.real)));
  if (v.tape) text += tape_text(*v.tape);
  return text + (v.exact() ? "exact\n" : "not exact\n");
}

std::string json(const Verification& v) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "verify");
  out.member("model", v.model);
  out.member("stack", v.stack);
  out.member("exact", v.exact());
  out.key("figures");
  out.begin_array();
  for (const Figure& f : v.figures) {
    out.begin_object();
    out.member("name", f.name);
    out.member("predicted", f.predicted);
    out.member("real", f.real);
    out.end_object();
  }
  out.end_array();
  out.key("tape");
  write_tape(v.tape, out);
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::report
