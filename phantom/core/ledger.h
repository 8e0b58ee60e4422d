// SPDX-License-Identifier: Apache-2.0
// Ledger: this process's slot in the run's shared ledger (ledger_layout.h), and what all processes
// together hold of a GPU. Without a run folder the ledger is private memory; everything else is
// the same.
//
// Notes are lines of text in the run folder: about calls that nobody wrote, requests that failed,
// and communicators. A process writes each kind and text only once.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/export.h"
#include "core/ledger_layout.h"

namespace memtape::phantom {

/// The slot of this process. A forked child takes its own.
PHANTOM_CORE LedgerProcess& ledger();

/// The bytes of the GPU that all living processes hold, with their contexts.
PHANTOM_CORE std::int64_t used_of_gpu(int gpu);

/// Calls `visit` with the pid and the bytes of each living process that holds memory of the GPU.
PHANTOM_CORE void visit_processes(
    int gpu, const std::function<void(std::int64_t pid, std::int64_t used)>& visit);

/// To be called after this process has taken memory of the GPU, which may set new peaks.
PHANTOM_CORE void raise_gpu_peak(int gpu);

/// Raises `peak` to `now`.
void raise(std::atomic<std::int64_t>& peak, std::int64_t now);

/// Appends "PID KIND TEXT" to the run's notes, the first time that this process says it.
PHANTOM_CORE void note(std::string_view kind, std::string_view text);

}  // namespace memtape::phantom
