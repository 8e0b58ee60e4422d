// SPDX-License-Identifier: Apache-2.0
// The reservations of expandable segments that a recording began with. It does not name them, but
// everything ever mapped lies in one of them: stretches in a row that belong to the same pool and
// stream are taken for one reservation, from the lowest that is ever mapped up to the next
// reservation, or as far as a reservation on that device reaches.
#pragma once

#include <vector>

#include "allocator/recorded_trace.h"

namespace memtape {

std::vector<ExpandableReservation> recorded_reservations(const RecordedTrace& trace);

}  // namespace memtape
