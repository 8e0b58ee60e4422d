// SPDX-License-Identifier: Apache-2.0
// The values that the JSON of a training answer and of a serving answer share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outcome/answer_parts.h"
#include "outcome/verdict_word.h"
#include "report/json_writer.h"
#include "tape/category.h"
#include "timeline/timeline.h"

namespace memtape::report {

void write(JsonWriter& out, const CategoryBytes& bytes);
/// For the `prefix` "peak", it writes "peak_requested_bytes", "peak_allocated_bytes" and
/// "peak_reserved_bytes".
void write(JsonWriter& out, std::string_view prefix, const Levels& levels);
void write(JsonWriter& out, const std::vector<Setting>& settings);
void write(JsonWriter& out, const std::vector<std::string>& lines);
void write(JsonWriter& out, const ModelSummary& model);
void write(JsonWriter& out, const std::optional<DeviceSummary>& device);
void write(JsonWriter& out, const Bounds& bounds);
void write(JsonWriter& out, const std::vector<Advice>& advice);

/// Writes the word of the verdict as "verdict"; it is null if no GPU was named.
void write(JsonWriter& out, const std::optional<VerdictWord>& verdict);
void write_lines(JsonWriter& out, std::string_view name, const std::vector<std::string>& lines);

template <class T>
void member_or_null(JsonWriter& out, std::string_view name, const std::optional<T>& value) {
  out.key(name);
  value ? out.value(*value) : out.null();
}

/// Writes an estimate of time as low, mid and high, with six digits each, which is all the
/// precision it has.
void write_seconds(JsonWriter& out, std::string_view key, double low, double mid, double high);

}  // namespace memtape::report
