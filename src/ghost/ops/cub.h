// SPDX-License-Identifier: Apache-2.0
// cub: the scratch memory that device-wide sorts, scans and selections ask for before they run. The
// sizes follow from the number of items and from the tile that each algorithm works on, which is
// tuned for each architecture (CCCL 3.0, which comes with CUDA 13.0:
// cub/device/dispatch/dispatch_*.cuh and cub/device/dispatch/tuning/*.cuh).
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/dtype.h"
#include "ghost/session.h"

namespace memtape::ghost::cub {

/// DeviceRadixSort::SortPairs of keys of 4 or 8 bytes with 8-byte values and 64-bit offsets. It
/// sorts into other buffers, by the lowest `bits` bits of the keys.
Bytes radix_sort_pairs_bytes(const DeviceTraits& device, std::int64_t items, Bytes key,
                             std::int64_t bits = 64);

/// DeviceSelect::UniqueByKey of int64 keys. The values come from a counting iterator of int.
Bytes unique_by_key_bytes(const DeviceTraits& device, std::int64_t items);

/// DeviceScan::InclusiveSum (and ExclusiveSum) of elements of `dtype`.
Bytes inclusive_sum_bytes(DType dtype, std::int64_t items);

/// DeviceReduce::Sum into an int.
Bytes reduce_bytes(const DeviceTraits& device, std::int64_t items);

/// DeviceSelect::Flagged of a counting iterator of int.
Bytes select_flagged_bytes(const DeviceTraits& device, std::int64_t items);

/// DeviceScan::InclusiveSumByKey of 32-bit keys and values.
Bytes sum_by_key_bytes(const DeviceTraits& device, std::int64_t items);

}  // namespace memtape::ghost::cub
