// SPDX-License-Identifier: Apache-2.0
// The answer as one web page that needs nothing else: every tensor of the measured step as a band
// over time, with what it is and why it exists under the pointer. Works from a file, without a
// network. The page's own files are in html/.
#pragma once

#include <string>

#include "report/prediction.h"

namespace memtape::report {

std::string html(const Prediction& prediction, const Trace& trace);

}  // namespace memtape::report
