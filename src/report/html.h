// SPDX-License-Identifier: Apache-2.0
// The answer as one self-contained web page: it shows every tensor of the measured step as a band
// over time and, under the pointer, what the tensor is and why it exists. The page works from a
// file, without a network. Its own files are in html/.
#pragma once

#include <string>

#include "outcome/prediction.h"

namespace memtape::report {

/// How tensors are named: by the module, op and shape that a prediction knows, or by the place in a
/// program that allocated them (`Why::op`) and the caller of that place (its scope).
enum class TensorNames { by_module, by_place };

std::string html(const Prediction& prediction, const Trace& trace,
                 TensorNames names = TensorNames::by_module);

/// The data that the page draws, as JSON.
std::string html_data(const Prediction& prediction, const Trace& trace,
                      TensorNames names = TensorNames::by_module);

}  // namespace memtape::report
