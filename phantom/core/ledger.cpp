// SPDX-License-Identifier: Apache-2.0
#include "core/ledger.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string>

#include "core/settings.h"

namespace memtape::phantom {
namespace {

LedgerProcess* my_slot = nullptr;

LedgerLayout* map_shared(const std::string& folder) {
  if (folder.empty()) return nullptr;
  const int file = open((folder + "/" + kLedgerFile).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* at = mmap(nullptr, sizeof(LedgerLayout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  auto* layout = static_cast<LedgerLayout*>(at);
  return at != MAP_FAILED && layout->magic == kLedgerMagic ? layout : nullptr;
}

LedgerLayout& layout() {
  static LedgerLayout& mapped = *[] {
    if (LedgerLayout* shared = map_shared(settings().run_folder)) return shared;
    return static_cast<LedgerLayout*>(mmap(nullptr, sizeof(LedgerLayout), PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }();
  return mapped;
}

/// A free slot, or the last one when more processes use GPUs than the ledger holds.
LedgerProcess& take_slot() {
  for (LedgerProcess& slot : layout().processes) {
    std::int32_t free = 0;
    if (slot.pid.compare_exchange_strong(free, getpid())) return slot;
  }
  return layout().processes[kLedgerProcesses - 1];
}

/// A process that has ended and whom its parent has not asked after yet: it holds no memory
/// (proc(5), the state behind the name in parentheses).
bool has_ended(std::int32_t pid) {
  char text[512];
  const int file = open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t n = ::read(file, text, sizeof text);
  close(file);
  const std::string_view line(text, static_cast<std::size_t>(n > 0 ? n : 0));
  const std::size_t state = line.rfind(')') + 2;
  return line.rfind(')') != line.npos && state < line.size() &&
         (line[state] == 'Z' || line[state] == 'X');
}

bool lives(std::int32_t pid) {
  if (pid == getpid()) return true;
  return (kill(pid, 0) == 0 || errno == EPERM) && !has_ended(pid);
}

struct Held {
  std::int64_t all = 0, contexts = 0;
};

Held held_of_gpu(int gpu) {
  Held held;
  for (LedgerProcess& slot : layout().processes) {
    const std::int32_t pid = slot.pid.load(std::memory_order_relaxed);
    if (pid == 0) break;
    const LedgerDevice& device = slot.devices[gpu];
    const std::int64_t used = device.used.load(), context = device.context.load();
    if (used + context == 0 || !lives(pid)) continue;
    held.all += used + context;
    held.contexts += context;
  }
  return held;
}

}  // namespace

LedgerProcess& ledger() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { my_slot = nullptr; }); });
  if (!my_slot) my_slot = &take_slot();
  return *my_slot;
}

void visit_processes(int gpu,
                     const std::function<void(std::int64_t pid, std::int64_t used)>& visit) {
  for (LedgerProcess& slot : layout().processes) {
    const std::int32_t pid = slot.pid.load(std::memory_order_relaxed);
    if (pid == 0) break;
    const LedgerDevice& device = slot.devices[gpu];
    const std::int64_t held = device.used.load() + device.context.load();
    if (held != 0 && lives(pid)) visit(pid, held);
  }
}

std::int64_t used_of_gpu(int gpu) { return held_of_gpu(gpu).all; }

void raise_gpu_peak(int gpu) {
  LedgerGpu& of = layout().gpus[gpu];
  const Held held = held_of_gpu(gpu);
  if (held.all <= of.peak.load()) return;
  raise(of.peak, held.all);
  of.context_at_peak.store(held.contexts);
}

void raise(std::atomic<std::int64_t>& peak, std::int64_t now) {
  for (std::int64_t seen = peak.load(); seen < now && !peak.compare_exchange_weak(seen, now);) {
  }
}

void note(std::string_view kind, std::string_view text) {
  if (settings().run_folder.empty()) return;
  static std::mutex& guard = *new std::mutex;
  static auto& said = *new std::set<std::string>;
  std::string line = std::to_string(getpid());
  line.append(" ").append(kind).append(" ").append(text).append("\n");
  {
    const std::lock_guard<std::mutex> lock(guard);
    if (!said.insert(line).second) return;
  }
  const int file = open((settings().run_folder + "/notes").c_str(),
                        O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written =
      write(file, line.data(), line.size());  // one write: lines of processes do not mix
  close(file);
}

}  // namespace memtape::phantom
