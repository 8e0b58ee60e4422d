// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/headline.h"
#include "report/phantom_run.h"
#include "report/unit.h"

namespace memtape::report {
namespace {

constexpr std::size_t kLargestShown = 8, kReadsShown = 6;

Levels highest(const std::vector<RunEntry>& entries) {
  Levels most;
  for (const RunEntry& e : entries) most.reserved = std::max(most.reserved, e.peak.reserved);
  return most;
}

std::string run_head(const PhantomRun& run) {
  const std::string end = run.signal ? fmt::format("ended by signal {}", run.signal)
                                     : fmt::format("exit code {}", run.exit_code);
  const std::string torch = run.torch.empty() ? "" : fmt::format(", torch {}", run.torch);
  const std::string device = run.device.name.empty()
                                 ? "no GPU\n"
                                 : fmt::format("{} x {}, {}{}\n", run.gpus, run.device.name,
                                               gib(run.device.total_bytes), torch);
  return fmt::format("{}: {}, {:.1f} s\n{}", fmt::join(run.command, " "), end, run.seconds, device);
}

std::string level_row(std::string_view name, const Levels& l, const Unit& unit) {
  return fmt::format("  {:<14}{:>12}{:>12}{:>12}\n", name, unit.text(l.allocated),
                     unit.text(l.requested), unit.text(l.reserved));
}

std::string live_rows(const std::vector<LiveTensors>& tensors, const Unit& unit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(tensors.size(), kLargestShown); ++i) {
    const LiveTensors& t = tensors[i];
    text += fmt::format("  {:>10} {} {:>4} x  {}\n", unit.text(t.bytes), unit.name, t.count,
                        t.place.empty() ? "(no Python: autograd's thread)" : t.place);
    if (!t.stack.empty() && t.stack.front() != t.place)
      text += fmt::format("{:25}from {}\n", "", t.stack.front());
  }
  return text;
}

std::string failure_text(const RunFailure& f, const Unit& unit) {
  std::string text = fmt::format(
      "  out of memory in step {}, {}: asked for {}, {} free; {} allocated, {} reserved\n",
      f.step + 1, f.phase, human_bytes(f.requested), human_bytes(f.free),
      human_bytes(f.levels.allocated), human_bytes(f.levels.reserved));
  for (const std::string& place : f.stack) text += fmt::format("    at {}\n", place);
  if (!f.largest.empty()) text += "  alive then:\n" + live_rows(f.largest, unit);
  return text;
}

std::string entry_text(const RunEntry& e, const Unit& unit) {
  std::string text = fmt::format("\nrank {} on GPU {} (process {}), {} steps\n", e.rank, e.gpu,
                                 e.pid, e.steps_done);
  text +=
      fmt::format("  {:<14}{:>12}{:>12}{:>12}\n", unit.name, "allocated", "requested", "reserved");
  for (const RunPhase& phase : e.phases) text += level_row(phase.name, phase.peak, unit);
  text += level_row("peak", e.peak, unit);
  if (e.steps_done > 0) text += level_row("between steps", e.steady, unit);
  text += fmt::format("  peak: {} B allocated, {} B requested, {} B reserved",
                      with_commas(e.peak.allocated), with_commas(e.peak.requested),
                      with_commas(e.peak.reserved));
  text += e.alloc_retries ? fmt::format("; {} retries\n", e.alloc_retries) : "\n";
  for (const RunFailure& f : e.failures) text += failure_text(f, unit);
  if (e.failures.empty() && !e.largest.empty())
    text += "  alive at the peak:\n" + live_rows(e.largest, unit);
  return text;
}

std::string gpu_text(const PhantomRun& run) {
  std::string text;
  for (const RunGpu& g : run.by_gpu) {
    text += fmt::format("GPU {}: {} of {} on the device, {} of it context", g.gpu,
                        gib(g.peak_device), gib(run.device.total_bytes), gib(g.context));
    if (g.nccl)
      text += fmt::format("; NCCL's own buffers, at least {}, come on top", human_bytes(g.nccl));
    if (g.refused) text += fmt::format("; {} requests refused", g.refused);
    text += "\n";
  }
  if (run.pinned_peak)
    text += fmt::format("pinned host memory: {}\n", human_bytes(run.pinned_peak));
  if (run.managed_peak) text += fmt::format("managed memory: {}\n", human_bytes(run.managed_peak));
  return text;
}

std::string read_text(const PhantomRun& run) {
  if (run.reads.empty()) return {};
  std::string text =
      "\nreads of device data that nobody knows (zeros; a lone byte as --lone-byte says):\n";
  for (std::size_t i = 0; i < std::min(run.reads.size(), kReadsShown); ++i) {
    const DataRead& r = run.reads[i];
    text += fmt::format("  {} ({} times, up to {})\n      {}\n", r.place, r.count,
                        human_bytes(r.largest), r.source);
  }
  if (run.reads.size() > kReadsShown)
    text += fmt::format("  and {} more places\n", run.reads.size() - kReadsShown);
  return text;
}

/// What the program acted on; inventions that nobody read changed nothing.
std::string invention_text(const PhantomRun& run) {
  std::vector<const Invention*> acted_on;
  for (const Invention& i : run.inventions)
    if (i.reads > 0) acted_on.push_back(&i);
  if (acted_on.empty()) return {};
  std::string text =
      "\ninvented values that the program acted on: what follows is one way it can go\n";
  for (std::size_t i = 0; i < std::min(acted_on.size(), kReadsShown); ++i) {
    const Invention& of = *acted_on[i];
    text += fmt::format("  {}: {} ({} times, read {} times)\n      {}\n", of.place, of.what,
                        of.count, of.reads, of.source);
  }
  if (acted_on.size() > kReadsShown)
    text += fmt::format("  and {} more places\n", acted_on.size() - kReadsShown);
  return text;
}

}  // namespace

bool PhantomRun::ran_out() const {
  return std::ranges::any_of(entries, [](const RunEntry& e) { return !e.failures.empty(); });
}

const RunEntry* PhantomRun::fullest() const {
  const auto most =
      std::ranges::max_element(entries, {}, [](const RunEntry& e) { return e.peak.reserved; });
  return most == entries.end() ? nullptr : &*most;
}

std::string text(const PhantomRun& run) {
  const Unit unit = unit_for(highest(run.entries).reserved);
  std::string text = run_head(run) + gpu_text(run);
  for (const RunEntry& e : run.entries) text += entry_text(e, unit);
  text += read_text(run);
  text += invention_text(run);
  if (!run.warnings.empty()) text += "\n";
  for (const std::string& warning : run.warnings) text += fmt::format("warning: {}\n", warning);
  return text;
}

std::string quiet_text(const PhantomRun& run) {
  std::string text;
  for (const RunEntry& e : run.entries)
    text += quiet_line(fmt::format("rank {}", e.rank),
                       {fmt::format("peak {} allocated", gib(e.peak.allocated)),
                        fmt::format("{} reserved", gib(e.peak.reserved)),
                        e.failures.empty() ? "" : "out of memory"});
  return text.empty() ? "no process used a GPU through PyTorch\n" : text;
}

}  // namespace memtape::report
