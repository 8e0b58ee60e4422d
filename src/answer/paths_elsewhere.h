// SPDX-License-Identifier: Apache-2.0
// Models by paths of other machines, as launch commands have them.
#pragma once

#include "answer/options.h"
#include "answer/outside.h"
#include "launch/translation.h"

namespace memtape::answer {

/// A model by a path that is not on this machine is the catalog's of that name, or of the name by
/// which it is served.
void take_model_by_name(const launch::Translation& said, const Outside& outside, RawOptions& raw);
/// The same of a draft model's file.
void take_draft_by_name(const Outside& outside, RawOptions& raw);

}  // namespace memtape::answer
