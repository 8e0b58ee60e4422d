// SPDX-License-Identifier: Apache-2.0
// A peak taken apart: what a rank holds on its device then, by category, and within a category by
// the module and the operation that made it. Invariant: the parts of a peak add up to its bytes on
// the device, so the differences between the parts of two peaks add up to the difference of the
// peaks. Nothing is left out for being small: who shows parts may cut, after comparing.
#pragma once

#include <map>
#include <string>

#include "outcome/prediction.h"
#include "outcome/serve_answer.h"

namespace memtape::report {

/// "model.layers.*.mlp mm"; "" is what a category holds that is not taken apart.
using BytesByMaker = std::map<std::string, Bytes>;
using PeakParts = std::map<std::string, BytesByMaker>;  ///< by category

/// `rank.largest` should name every tensor (kEveryTensor): what it does not name has no maker.
PeakParts peak_parts(const RankReport& rank);
/// Of the fullest rank, with what lies between its peak and needed().
PeakParts peak_parts(const Prediction& prediction);
PeakParts peak_parts(const ServeRank& rank);

Bytes sum_of(const BytesByMaker& makers);
Bytes sum_of(const PeakParts& parts);

/// What is there now and was not before, part by part; those that are the same are left out.
PeakParts changes(const PeakParts& before, const PeakParts& now);

}  // namespace memtape::report
