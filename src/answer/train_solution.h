// SPDX-License-Identifier: Apache-2.0
// The answer of --solve.
#pragma once

#include "answer/table.h"
#include "answer/train_question.h"
#include "predict/train_solve.h"

namespace memtape::answer {

struct Solution {
  std::string model, title;  ///< the title is the model and what was assumed for it
  std::string command;       ///< with the value that was found, as a shell reads it
  SolvedTraining solved;
  bool strict = false;

  bool fits() const { return solved.value > 0 && passes(solved.at_value, strict); }
};

Result<Solution> solution_of(const Question& question, const std::string& what);

std::string text(const Solution& solution, Widths widths);
std::string quiet_text(const Solution& solution);
std::string json(const Solution& solution);

}  // namespace memtape::answer
