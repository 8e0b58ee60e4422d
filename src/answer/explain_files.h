// SPDX-License-Identifier: Apache-2.0
// `memtape explain FILE...` of files that are at hand: what a real run left behind, attributed.
#pragma once

#include "answer/outside.h"
#include "evidence/explanation.h"

namespace memtape::answer {

option::Syntax explain_syntax();

Result<Explanation> explain_files(const option::Words& words, const Outside& outside);

}  // namespace memtape::answer
