// SPDX-License-Identifier: Apache-2.0
// Reads a pickle of torch.cuda.memory._snapshot() (torch 2.0 to 2.15, or one that memtape wrote),
// or one of torch.cuda.memory_snapshot(), which holds only the list of segments.
#pragma once

#include "base/result.h"
#include "evidence/byte_stream.h"
#include "evidence/snapshot.h"

namespace memtape {

/// A file that ends early gives what could be read, and a warning that says so.
Result<MemorySnapshot> read_snapshot(ByteStream& stream);

}  // namespace memtape
