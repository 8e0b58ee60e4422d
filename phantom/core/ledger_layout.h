// SPDX-License-Identifier: Apache-2.0
// LedgerLayout: the file that all processes of a run share, so that `memtape run` can watch them
// and still knows their figures when one of them dies. A process takes one slot and never gives it
// back. The slots of living processes say how much memory of a device is in use. A process writes
// its own slot, and raises the peaks of GPUs.
#pragma once

#include <atomic>
#include <cstdint>

namespace memtape::phantom {

inline constexpr int kLedgerProcesses = 512, kLedgerDevices = 64;
inline constexpr std::uint64_t kLedgerMagic = 0x31706174656d656dULL;
inline constexpr const char* kLedgerFile = "ledger";

struct LedgerDevice {
  std::atomic<std::int64_t> used,
      peak;  ///< bytes of device memory that the process holds, and the most it held
  std::atomic<std::int64_t> context;                   ///< bytes of its context, once it has one
  std::atomic<std::int64_t> refused, largest_refused;  ///< requests that the device could not serve
  std::atomic<std::int64_t> nccl;  ///< bytes that NCCL's own buffers would take (not part of used)
};

struct LedgerProcess {
  std::atomic<std::int32_t> pid;          ///< 0: the slot is free
  std::atomic<std::int32_t> step, phase;  ///< what the agent said last
  std::atomic<std::int64_t> launches, refused_calls;
  std::atomic<std::int64_t> pinned, pinned_peak, managed_peak, managed;
  std::atomic<std::int64_t> reads,
      read_bytes;                        ///< copies of device data to the host that found nothing
  LedgerDevice devices[kLedgerDevices];  ///< by GPU, not by device number
};

/// The most that all living processes together held at one time, with their contexts.
struct LedgerGpu {
  std::atomic<std::int64_t> peak, context_at_peak;
};

struct LedgerLayout {
  std::uint64_t magic;
  LedgerGpu gpus[kLedgerDevices];
  LedgerProcess processes[kLedgerProcesses];
};

}  // namespace memtape::phantom
