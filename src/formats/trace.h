// SPDX-License-Identifier: Apache-2.0
// Traces of PyTorch's allocator as lines of JSON: a header, and then one event on each line.
//
//     {"format": 1, "name": ..., "torch": ..., "settings": {...}, "base": 140468448919552,
//      "streams": [0], "events": 2,
//      "initial": [[address, size, stream, "large", expandable, [[address, size], ...]], ...],
//      "segments": [... as above, with blocks as [address, size, requested, state]]}
//     ["segment_alloc", 0, 20971520, 0]
//     ["alloc", 0, 8519680, 0]
//
// An event is [action, address, size, stream] under the names of torch.cuda.memory._snapshot().
// Addresses are relative to `base`. `initial` is the state before the first event with its live
// blocks, or null; `segments` is the state after the last event. A recording that knows its device
// adds "device_memory": {"total": bytes, "outside": bytes, "fraction": number or null}.
#pragma once

#include <string_view>

#include "allocator/recorded_trace.h"
#include "base/result.h"

namespace memtape {

/// `text` is the decompressed content of the file. An Error names the line.
Result<RecordedTrace> parse_trace(std::string_view text);

}  // namespace memtape
