// SPDX-License-Identifier: Apache-2.0
// A peak taken apart: what a rank holds on its device at that moment, by category and within a
// category by the module and the operation that made it. Invariant: the parts of a peak add up to
// its bytes on the device, so the differences between the parts of two peaks add up to the
// difference of the peaks. Nothing is left out for being small: whoever shows parts may cut the
// list after comparing.
#pragma once

#include <map>
#include <string>

#include "outcome/prediction.h"
#include "outcome/serve_answer.h"

namespace memtape::report {

/// By maker, such as "model.layers.*.mlp mm". The maker "" stands for the rest of a category, which
/// is not taken apart.
using BytesByMaker = std::map<std::string, Bytes>;
using PeakParts = std::map<std::string, BytesByMaker>;  ///< by category

/// `rank.largest` should list every tensor (kEveryTensor), because a tensor that it does not list
/// has no maker here.
PeakParts peak_parts(const RankReport& rank);
/// The parts of the fullest rank, and what lies between its peak and needed().
PeakParts peak_parts(const Prediction& prediction);
PeakParts peak_parts(const ServeRank& rank);

Bytes sum_of(const BytesByMaker& makers);
Bytes sum_of(const PeakParts& parts);

/// What is there now and was not before, part by part. Parts that are equal are left out.
PeakParts changes(const PeakParts& before, const PeakParts& now);

}  // namespace memtape::report
