// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine as their drivers report them. NVIDIA's are read through NVML, which is
// loaded when it is needed and may be missing; AMD's are read from the files of their kernel
// driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace memtape::cli {

struct GpuProcess {
  std::int64_t pid = 0;
  Bytes used = -1;  ///< -1: the driver does not say it (WSL, a process of another user)
  std::string command, container;
};

struct LocalGpu {
  int index = 0;
  std::string name, uuid, bus;
  int capability_major = 0, capability_minor = 0;
  Bytes total = 0, used = 0, free = 0;
  int nvlinks = 0;                          ///< those that are active
  int pcie_generation = 0, pcie_width = 0;  ///< those at which it runs now
  std::vector<GpuProcess> processes;        ///< the largest first
};

struct LocalGpus {
  std::string driver, cuda;  ///< "580.65.06", "13.0"
  std::vector<LocalGpu> gpus;
  std::string none;  ///< why there are none
};

LocalGpus local_gpus();

}  // namespace memtape::cli
