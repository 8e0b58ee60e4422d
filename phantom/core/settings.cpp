// SPDX-License-Identifier: Apache-2.0
#include "core/settings.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace memtape::phantom {
namespace {

std::string text(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

std::size_t number(const char* name, std::size_t otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? std::strtoull(value, nullptr, 10) : otherwise;
}

std::vector<int> all_of(int gpus) {
  std::vector<int> devices;
  for (int i = 0; i < gpus; ++i) devices.push_back(i);
  return devices;
}

/// The number that an entry of CUDA_VISIBLE_DEVICES means: an index, or the end of a UUID as NVML
/// gives it here; -1 for none.
int visible_entry(const std::string& entry, int gpus) {
  const std::size_t digits = entry.rfind("GPU-", 0) == 0 ? entry.rfind('-') + 1 : 0;
  char* end = nullptr;
  const long index = std::strtol(entry.c_str() + digits, &end, 10);
  return end != entry.c_str() + digits && *end == 0 && index >= 0 && index < gpus
             ? static_cast<int>(index)
             : -1;
}

/// CUDA_VISIBLE_DEVICES: the list counts up to its first entry that is no device (CUDA programming
/// guide, environment variables).
std::vector<int> visible_devices(int gpus) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return all_of(gpus);
  std::vector<int> devices;
  for (std::string rest = list; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string entry = rest.substr(0, comma);
    rest.erase(0, comma + 1);
    entry.erase(std::remove(entry.begin(), entry.end(), ' '), entry.end());
    const int device = visible_entry(entry, gpus);
    if (device < 0 || std::count(devices.begin(), devices.end(), device)) break;
    devices.push_back(device);
  }
  return devices;
}

Settings read_settings() {
  Settings s;
  s.gpus = static_cast<int>(std::min<std::size_t>(number("MEMTAPE_PHANTOM_GPUS", 1), 64));
  s.visible = visible_devices(s.gpus);
  s.total = number("MEMTAPE_PHANTOM_TOTAL", 85017755648u);
  s.context = number("MEMTAPE_PHANTOM_CONTEXT", 446693376u);
  s.capability = static_cast<int>(number("MEMTAPE_PHANTOM_CAPABILITY", 90));
  s.sms = static_cast<int>(number("MEMTAPE_PHANTOM_SMS", 132));
  s.runtime = static_cast<int>(number("MEMTAPE_PHANTOM_RUNTIME", 0));
  s.name = text("MEMTAPE_PHANTOM_NAME", "NVIDIA H100 80GB HBM3");
  s.first_fit = text("MEMTAPE_PHANTOM_PLACEMENT", "linux") == "first-fit";
  s.events_wait = text("MEMTAPE_PHANTOM_EVENTS", "complete") == "wait";
  s.backing = number("MEMTAPE_PHANTOM_BACKING", 0);
  s.lone_byte = static_cast<int>(number("MEMTAPE_PHANTOM_LONE_BYTE", 1));
  s.run_folder = text("MEMTAPE_PHANTOM_RUN", "");
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings& once =
      *new Settings(read_settings());  // never destroyed: programs free memory while they exit
  return once;
}

}  // namespace memtape::phantom
