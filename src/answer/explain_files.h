// SPDX-License-Identifier: Apache-2.0
// `memtape explain FILE...` of files that are at hand: what a real run left behind, attributed.
#pragma once

#include "answer/outside.h"
#include "evidence/explanation.h"
#include "option/option.h"

namespace memtape::answer {

inline constexpr option::Option kOneDevice{"--device",
                                           "N",
                                           "only this one, of a snapshot of several",
                                           {},
                                           option::Whole{.least = 0, .most = 1 << 20}};

option::Syntax explain_syntax();

Result<Explanation> explain_files(const option::Words& words, const Outside& outside);

}  // namespace memtape::answer
