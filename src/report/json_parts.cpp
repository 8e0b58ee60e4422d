// SPDX-License-Identifier: Apache-2.0
#include "report/json_parts.h"

#include <utility>

#include <fmt/format.h>

namespace memtape::report {
namespace {

/// The categories of torch's profiler are always there; the others only where they hold bytes.
constexpr std::size_t kAlwaysWritten = 8;

}  // namespace

void write(JsonWriter& out, const CategoryBytes& bytes) {
  out.begin_object();
  for (std::size_t c = 0; c < kCategories; ++c)
    if (c < kAlwaysWritten || bytes.bytes[c] != 0) out.member(kCategoryNames[c], bytes.bytes[c]);
  out.end_object();
}

void write(JsonWriter& out, std::string_view prefix, const Levels& levels) {
  const std::string start(prefix);
  out.member(start + "_requested_bytes", levels.requested);
  out.member(start + "_allocated_bytes", levels.allocated);
  out.member(start + "_reserved_bytes", levels.reserved);
}

void write(JsonWriter& out, const std::vector<Setting>& settings) {
  out.begin_object();
  for (const Setting& s : settings) {
    out.key(s.name);
    out.raw(s.json_value);
  }
  out.end_object();
}

void write(JsonWriter& out, const std::vector<std::string>& lines) {
  out.begin_array();
  for (const std::string& line : lines) out.value(line);
  out.end_array();
}

void write(JsonWriter& out, const std::optional<VerdictWord>& verdict) {
  out.key("verdict");
  verdict ? out.value(name(*verdict)) : out.null();
}

void write_lines(JsonWriter& out, std::string_view name, const std::vector<std::string>& lines) {
  out.key(name);
  write(out, lines);
}

void write(JsonWriter& out, const ModelSummary& model) {
  out.begin_object();
  out.member("id", model.id);
  out.member("family", model.family);
  out.key("parameters");
  model.parameters > 0 ? out.value(model.parameters) : out.null();
  out.member("trainable_parameters", model.trainable_parameters);
  out.member("weight_bytes", model.weight_bytes);
  out.end_object();
}

void write(JsonWriter& out, const std::optional<DeviceSummary>& device) {
  if (!device) return out.null();
  out.begin_object();
  out.member("name", device->name);
  out.member("total_bytes", device->total_bytes);
  out.member("id", device->id);
  out.member("context_bytes", device->context_bytes);
  out.member("source", device->source);
  out.end_object();
}

void write(JsonWriter& out, const Bounds& bounds) {
  out.begin_object();
  out.member("low_bytes", bounds.low_bytes);
  out.member("high_bytes", bounds.high_bytes);
  if (!bounds.has_upper_end) out.member("has_upper_end", false);
  out.key("causes");
  write(out, bounds.causes);
  out.end_object();
}

void write(JsonWriter& out, const std::vector<Advice>& advice) {
  out.begin_array();
  for (const Advice& a : advice) {
    out.begin_object();
    out.member("change", a.change);
    if (!a.command.empty()) out.member("command", a.command);
    out.member("peak_device_bytes", a.peak_device_bytes);
    out.member("cost", a.cost);
    out.member("fits", a.fits);
    if (a.gives_back) out.member("gives_back", true);
    out.end_object();
  }
  out.end_array();
}

void write_seconds(JsonWriter& out, std::string_view key, double low, double mid, double high) {
  out.key(key);
  out.begin_object();
  for (const auto& [name, value] : {std::pair{"low", low}, {"mid", mid}, {"high", high}}) {
    out.key(name);
    out.raw(fmt::format("{:.6g}", value));
  }
  out.end_object();
}

}  // namespace memtape::report
