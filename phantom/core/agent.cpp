// SPDX-License-Identifier: Apache-2.0
// What the Python agent (agent/) calls through ctypes.
#include "core/export.h"
#include "core/ledger.h"
#include "core/transfers.h"

using namespace memtape::phantom;

PHANTOM_ENTRY void memtape_phantom_mark(int step, int phase) {
  ledger().step.store(step);
  ledger().phase.store(phase);
}

PHANTOM_ENTRY void memtape_phantom_watch_reads(ReadWatcher watcher) { watch_reads(watcher); }

PHANTOM_ENTRY std::uint64_t memtape_phantom_sent_copies() { return sent_copies(); }

PHANTOM_ENTRY void memtape_phantom_forget(const void* at, std::size_t bytes) { forget(at, bytes); }

PHANTOM_ENTRY int memtape_phantom_gpus_held() {
  int held = 0;
  for (const LedgerDevice& device : ledger().devices) held += device.peak.load() > 0;
  return held;
}

PHANTOM_ENTRY void memtape_phantom_note(const char* kind, const char* text) { note(kind, text); }
