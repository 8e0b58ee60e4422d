// SPDX-License-Identifier: Apache-2.0
// What does an event cost? Recorded training runs, as tapes, through the replica: a whole run from
// an empty allocator, the third step on one that has settled, and the ideal allocator. Rates are
// events a second.
#include <benchmark/benchmark.h>
#include <zlib.h>

#include <cstdlib>
#include <string>
#include <unordered_map>

#include "formats/trace.h"
#include "timeline/play.h"

namespace memtape {
namespace {

std::string read(const std::string& path) {
  std::string text(std::size_t{1} << 27, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  const int got = file ? gzread(file, text.data(), static_cast<unsigned>(text.size())) : 0;
  if (file) gzclose(file);
  text.resize(static_cast<std::size_t>(std::max(got, 0)));
  return text;
}

/// The recording's allocs and frees; its segments are the allocator's own business.
Tape tape_of(const std::string& name) {
  const auto trace =
      parse_trace(read(std::string(MEMTAPE_TRUTH_DIR "/torch_traces/") + name + ".jsonl.gz"));
  if (!trace) std::abort();
  Tape tape;
  std::unordered_map<Address, BlockId> live;
  for (const RecordedEvent& event : trace->events) {
    if (event.action == TraceAction::alloc)
      live[event.address] = tape.alloc(event.size, event.stream, {});
    if (event.action == TraceAction::free_completed)
      tape.free(live.at(event.address), event.stream);
  }
  return tape;
}

const Tape& llama_30b() {
  static const Tape tape = tape_of("sm90.var2.huggyllama__llama-30b");
  return tape;
}

const Tape& mamba() {
  static const Tape tape = tape_of("sm100.var0.state-spaces__mamba-130m-hf");
  return tape;
}

void count(benchmark::State& state, std::size_t events) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events));
}

void whole_run(benchmark::State& state, const Tape& tape) {
  for (auto _ : state) {
    const auto driver = make_driver(DriverPlacement::linux_regions);
    CachingAllocator allocator(*driver);
    Played played;
    benchmark::DoNotOptimize(play(tape, allocator, played));
  }
  count(state, tape.events.size());
}

/// The last third of the run, again and again: what it leaves alive is freed behind it.
void settled_step(benchmark::State& state, const Tape& tape) {
  const std::size_t from = tape.events.size() * 2 / 3;
  const auto driver = make_driver(DriverPlacement::linux_regions);
  CachingAllocator allocator(*driver);
  Played built;
  play(tape, allocator, built, {.to = from});
  Tape step;
  std::vector<BlockId> renamed(tape.requested.size(), ~BlockId{0});
  std::vector<bool> lives(tape.requested.size());
  for (std::size_t i = from; i < tape.events.size(); ++i) {
    const Event& event = tape.events[i];
    if (event.kind == EventKind::alloc) {
      renamed[event.block] = step.alloc(tape.requested[event.block], event.stream, {});
      lives[event.block] = true;
    } else if (renamed[event.block] != ~BlockId{0}) {
      step.free(renamed[event.block], event.stream);
      lives[event.block] = false;
    }
  }
  for (BlockId id = 0; id < lives.size(); ++id)
    if (lives[id]) step.free(renamed[id]);
  Played played;
  for (auto _ : state) benchmark::DoNotOptimize(play(step, allocator, played));
  count(state, step.events.size());
}

void ideal(benchmark::State& state, const Tape& tape) {
  for (auto _ : state) {
    IdealAllocator allocator;
    benchmark::DoNotOptimize(play(tape, allocator));
  }
  count(state, tape.events.size());
}

void replay_llama_30b(benchmark::State& state) { whole_run(state, llama_30b()); }
void replay_mamba(benchmark::State& state) { whole_run(state, mamba()); }
void settled_llama_30b(benchmark::State& state) { settled_step(state, llama_30b()); }
void settled_mamba(benchmark::State& state) { settled_step(state, mamba()); }
void ideal_llama_30b(benchmark::State& state) { ideal(state, llama_30b()); }

BENCHMARK(replay_llama_30b)->Unit(benchmark::kMicrosecond);
BENCHMARK(replay_mamba)->Unit(benchmark::kMicrosecond);
BENCHMARK(settled_llama_30b)->Unit(benchmark::kMicrosecond);
BENCHMARK(settled_mamba)->Unit(benchmark::kMicrosecond);
BENCHMARK(ideal_llama_30b)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memtape
