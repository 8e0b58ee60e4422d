// SPDX-License-Identifier: Apache-2.0
// A recorded step tape (.tape): the allocations and frees of one step of real PyTorch in order, one
// event a line:
//   + NUMBER BYTES PLACE OP NODE      NUMBER counts the allocations of the whole run; PLACE is
//   file:function:line of the
//                                     Python code, OP the aten op, NODE the autograd node; "-"
//                                     where there is none
//   - NUMBER
// Lines that begin with # are remarks.
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
  Bytes bytes = 0;              ///< of an alloc
  std::string place, op, node;  ///< of an alloc; "" where the recording has none
};

/// `where` names the file in messages.
Result<std::vector<StepTapeEvent>> parse_step_tape(std::string_view text, std::string_view where);

}  // namespace memtape
