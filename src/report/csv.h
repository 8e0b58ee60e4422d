// SPDX-License-Identifier: Apache-2.0
// The measured step as a table for spreadsheets and data frames, with one row for each event (RFC
// 4180, header first). Its columns are: event, action, bytes (in the allocator), requested_bytes,
// allocated_bytes and reserved_bytes (both after the event), category, phase (of the step, not of
// the block), module, op, shape, dtype.
#pragma once

#include <string>

#include "outcome/prediction.h"

namespace memtape::report {

std::string csv(const Trace& trace);

}  // namespace memtape::report
