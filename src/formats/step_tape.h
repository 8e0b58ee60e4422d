// SPDX-License-Identifier: Apache-2.0
// A recorded step tape (.tape): the allocations and frees of one step of real PyTorch in order,
// with one event on each line:
//
//   + NUMBER BYTES PLACE OP NODE
//   - NUMBER
//
// NUMBER counts the allocations of the whole run. PLACE is file:function:line of the Python code,
// OP is the aten op, and NODE is the autograd node; "-" stands for none. Lines that begin with #
// are remarks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace memtape {

struct StepTapeEvent {
  bool is_alloc = true;
  std::int64_t number = 0;
  Bytes bytes = 0;              ///< for an alloc
  std::string place, op, node;  ///< for an alloc; "" if the recording has none
};

/// `where` names the file in messages.
Result<std::vector<StepTapeEvent>> parse_step_tape(std::string_view text, std::string_view where);

}  // namespace memtape
