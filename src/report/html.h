// SPDX-License-Identifier: Apache-2.0
// The answer as one web page that needs nothing else: every tensor of the measured step as a band
// over time, with what it is and why it exists under the pointer. Works from a file, without a
// network. The page's own files are in html/.
#pragma once

#include <string>

#include "outcome/prediction.h"

namespace memtape::report {

/// How tensors are called: by the module, op and shape that a prediction knows, or by the place in
/// a program that allocated them (`Why::op`) and that place's caller (its scope).
enum class TensorNames { by_module, by_place };

std::string html(const Prediction& prediction, const Trace& trace,
                 TensorNames names = TensorNames::by_module);

/// What that page draws, as JSON.
std::string html_data(const Prediction& prediction, const Trace& trace,
                      TensorNames names = TensorNames::by_module);

}  // namespace memtape::report
