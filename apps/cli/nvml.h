// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine as their drivers tell them: NVIDIA's through NVML, which is loaded when
// it is asked for and need not be there, AMD's through the files of their kernel driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace memtape::cli {

struct GpuProcess {
  std::int64_t pid = 0;
  Bytes used = -1;  ///< -1: the driver does not say (WSL, another user's)
  std::string command, container;
};

struct LocalGpu {
  int index = 0;
  std::string name, uuid, bus;
  int capability_major = 0, capability_minor = 0;
  Bytes total = 0, used = 0, free = 0;
  int nvlinks = 0;                          ///< active ones
  int pcie_generation = 0, pcie_width = 0;  ///< as they run now
  std::vector<GpuProcess> processes;        ///< largest first
};

struct LocalGpus {
  std::string driver, cuda;  ///< "580.65.06", "13.0"
  std::vector<LocalGpu> gpus;
  std::string none;  ///< why there are none
};

LocalGpus local_gpus();

}  // namespace memtape::cli
