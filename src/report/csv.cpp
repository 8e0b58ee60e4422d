// SPDX-License-Identifier: Apache-2.0
#include "report/csv.h"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/measured_step.h"

namespace memtape::report {
namespace {

constexpr std::string_view kHeader =
    "event,action,bytes,requested_bytes,allocated_bytes,reserved_bytes,category,phase,module,op,"
    "shape,dtype\n";

std::string_view action(EventKind kind) {
  switch (kind) {
    case EventKind::alloc: return "alloc";
    case EventKind::free: return "free";
    case EventKind::record_stream: return "record_stream";
    case EventKind::empty_cache: return "empty_cache";
    case EventKind::mark: break;
  }
  return "mark";
}

/// A field, quoted where it holds a comma, a quote or a line break.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted += '"';
}

/// Module paths as fields, each built once.
class Modules {
 public:
  explicit Modules(const ScopeTree& scopes) : scopes_(scopes), fields_(scopes.size()) {}
  const std::string& operator[](ScopeId id) {
    if (fields_[id].empty()) fields_[id] = field(scopes_.path(id));
    return fields_[id];
  }

 private:
  const ScopeTree& scopes_;
  std::vector<std::string> fields_;
};

void append_block(std::string& out, const Why& why, Phase phase, Modules& modules) {
  const auto* dims = why.shape.dims.data();
  fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{}\n", name(why.category), name(phase),
                 modules[why.scope], field(why.op), fmt::join(dims, dims + why.shape.rank, "x"),
                 name(why.dtype));
}

}  // namespace

std::string csv(const Trace& trace) {
  const Tape& tape = trace.tape;
  const MeasuredStep step = measured_step(trace);
  Modules modules(tape.scopes);
  Phase phase = Phase::init;
  std::string out(kHeader);
  out.reserve((step.last - step.first) * 128);
  for (StepWalk walk(trace, step); walk.next();) {
    const Event& e = tape.events[walk.event()];
    if (e.kind == EventKind::mark) {
      phase = tape.marks[e.block].phase;
      continue;
    }
    const Levels& levels = walk.levels();
    const bool of_block = e.kind != EventKind::empty_cache;
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},", walk.event(), action(e.kind),
                   of_block ? size_in_allocator(trace, e.block) : 0,
                   of_block ? tape.requested[e.block] : 0, levels.allocated, levels.reserved);
    if (of_block)
      append_block(out, tape.why[e.block], phase, modules);
    else
      fmt::format_to(std::back_inserter(out), ",{},,,,\n", name(phase));
  }
  return out;
}

}  // namespace memtape::report
