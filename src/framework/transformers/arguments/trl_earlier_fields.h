// SPDX-License-Identifier: Apache-2.0
// EarlierTrlField: a field that trl's configurations had once and have no longer. It is read where
// the release that is meant has it, and elsewhere refused with the releases that do.
#pragma once

#include <span>
#include <string_view>

#include "framework/transformers/arguments/trl_config.h"
#include "release/version.h"

namespace memtape::transformers {

struct EarlierTrlField {
  Trainers of;
  Version first, last;  ///< the minor releases that have it; a patch of the last has it, too
  Argument argument;

  bool is_in(Version release) const;
};

/// Trainers that had a field in different releases have a row each.
std::span<const EarlierTrlField> earlier_trl_fields();

}  // namespace memtape::transformers

namespace memtape::data {

/// data/arguments/trl_earlier.txt.
std::span<const transformers::EarlierTrlField> neutral_earlier_trl_fields();

}  // namespace memtape::data
