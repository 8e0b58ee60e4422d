// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "report/json_parts.h"
#include "report/phantom_run.h"

namespace memtape::report {
namespace {

void write_live(JsonWriter& out, const std::vector<LiveTensors>& tensors) {
  out.key("largest");
  out.begin_array();
  for (const LiveTensors& t : tensors) {
    out.begin_object();
    out.member("bytes", t.bytes);
    out.member("count", t.count);
    out.member("place", t.place);
    write_lines(out, "stack", t.stack);
    out.end_object();
  }
  out.end_array();
}

void write_failures(JsonWriter& out, const std::vector<RunFailure>& failures) {
  out.key("out_of_memory");
  out.begin_array();
  for (const RunFailure& f : failures) {
    out.begin_object();
    out.member("step", f.step);
    out.member("phase", f.phase);
    out.member("requested_bytes", f.requested);
    out.member("free_bytes", f.free);
    out.member("allocated_bytes", f.levels.allocated);
    out.member("reserved_bytes", f.levels.reserved);
    write_lines(out, "stack", f.stack);
    write_live(out, f.largest);
    out.end_object();
  }
  out.end_array();
}

void write_entry(JsonWriter& out, const RunEntry& e) {
  out.begin_object();
  out.key("ranks");
  out.begin_row();
  out.value(e.rank);
  out.end_array();
  out.member("process", e.pid);
  out.member("gpu", e.gpu);
  out.member("steps", e.steps_done);
  write(out, "peak", e.peak);
  write(out, "steady", e.steady);
  write(out, "final", e.now);
  out.member("num_alloc_retries", e.alloc_retries);
  out.member("segments", e.segments);
  out.key("phases");
  out.begin_object();
  for (const RunPhase& phase : e.phases) {
    out.key(phase.name);
    out.begin_object();
    write(out, "peak", phase.peak);
    out.end_object();
  }
  out.end_object();
  out.key("last_steps");
  out.begin_array();
  for (const Levels& step : e.steps) {
    out.begin_object();
    write(out, "peak", step);
    out.end_object();
  }
  out.end_array();
  out.member("largest_alive_bytes", e.peak_live_requested);
  write_live(out, e.largest);
  write_failures(out, e.failures);
  out.end_object();
}

void write_program(JsonWriter& out, const PhantomRun& run) {
  out.key("program");
  out.begin_object();
  write_lines(out, "command", run.command);
  out.member("exit_code", run.exit_code);
  out.key("signal");
  run.signal ? out.value(run.signal) : out.null();
  out.key("seconds");
  out.raw(fmt::format("{:.2f}", run.seconds));
  out.member("python", run.python);
  out.member("torch", run.torch);
  out.end_object();
}

void write_gpus(JsonWriter& out, const PhantomRun& run) {
  out.key("gpus");
  out.begin_array();
  for (const RunGpu& g : run.by_gpu) {
    out.begin_object();
    out.member("gpu", g.gpu);
    out.member("processes", g.processes);
    out.member("peak_device_bytes", g.peak_device);
    out.member("context_bytes", g.context);
    out.member("nccl_bytes", g.nccl);
    out.member("refused_requests", g.refused);
    out.end_object();
  }
  out.end_array();
}

void write_reads(JsonWriter& out, const PhantomRun& run) {
  out.key("reads");
  out.begin_array();
  for (const DataRead& r : run.reads) {
    out.begin_object();
    out.member("place", r.place);
    out.member("source", r.source);
    out.member("count", r.count);
    out.member("largest_bytes", r.largest);
    out.end_object();
  }
  out.end_array();
}

void write_inventions(JsonWriter& out, const PhantomRun& run) {
  out.key("invented");
  out.begin_array();
  for (const Invention& i : run.inventions) {
    out.begin_object();
    out.member("place", i.place);
    out.member("source", i.source);
    out.member("what", i.what);
    out.member("count", i.count);
    out.member("reads", i.reads);
    out.end_object();
  }
  out.end_array();
}

}  // namespace

std::string json(const PhantomRun& run) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "run");
  write_program(out, run);
  out.key("device");
  out.begin_object();
  out.member("name", run.device.name);
  out.member("id", run.device.id);
  out.member("total_bytes", run.device.total_bytes);
  out.member("context_bytes", run.device.context_bytes);
  out.end_object();
  write_gpus(out, run);
  out.key("ranks");
  out.begin_array();
  for (const RunEntry& e : run.entries) write_entry(out, e);
  out.end_array();
  const RunEntry* fullest = run.fullest();
  out.key("peak_rank");
  fullest ? out.value(fullest->rank) : out.null();
  out.member("fits", !run.ran_out());
  out.member("pinned_peak_bytes", run.pinned_peak);
  out.member("managed_peak_bytes", run.managed_peak);
  out.member("kernel_launches", run.launches);
  write_reads(out, run);
  write_inventions(out, run);
  write_lines(out, "warnings", run.warnings);
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::report
