// SPDX-License-Identifier: Apache-2.0
// The properties of the phantom GPUs, read once from the environment that `memtape run` sets:
//
//   MEMTAPE_PHANTOM_GPUS        how many there are                             (1)
//   MEMTAPE_PHANTOM_TOTAL       bytes that cudaMemGetInfo calls the total      (85017755648)
//   MEMTAPE_PHANTOM_CONTEXT     bytes that a process's CUDA context takes      (446693376)
//   MEMTAPE_PHANTOM_CAPABILITY  compute capability as 10 * major + minor       (90)
//   MEMTAPE_PHANTOM_SMS         multiprocessors                                (132)
//   MEMTAPE_PHANTOM_NAME        as the driver calls the device
//   MEMTAPE_PHANTOM_RUNTIME     what cudaRuntimeGetVersion says, else the set's own first version
//   MEMTAPE_PHANTOM_PLACEMENT   linux or first-fit                             (linux)
//   MEMTAPE_PHANTOM_EVENTS      complete or wait: when a recorded event is done (complete)
//   MEMTAPE_PHANTOM_BACKING     copies and fills up to that many bytes are carried out (0: none)
//   MEMTAPE_PHANTOM_LONE_BYTE   what a single byte read from the device is     (1)
//   MEMTAPE_PHANTOM_RUN         folder of the run's ledger and notes           (none)
//
// CUDA_VISIBLE_DEVICES chooses and orders among the GPUs, as the driver documents it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/export.h"

namespace memtape::phantom {

struct Settings {
  std::vector<int> visible;  ///< the GPU behind each device number
  int gpus = 1;
  std::size_t total = 0, context = 0;
  int capability = 90, sms = 132, runtime = 0;
  std::string name;
  bool first_fit = false;
  bool events_wait = false;
  std::size_t backing = 0;
  int lone_byte = 1;
  std::string run_folder;

  int major() const { return capability / 10; }
  int minor() const { return capability % 10; }
  int devices() const { return static_cast<int>(visible.size()); }
};

PHANTOM_CORE const Settings& settings();

}  // namespace memtape::phantom
