// SPDX-License-Identifier: Apache-2.0
// An answer in the form that the request asks for.
#pragma once

#include <string>

#include "answer/fits.h"
#include "answer/request.h"
#include "answer/serve_answer.h"
#include "answer/train_answer.h"
#include "evidence/explanation.h"
#include "report/plan_answer.h"

namespace memtape::answer {

Result<std::string> shown(const Training& training, Form form);
Result<std::string> shown(const Serving& serving, Form form);
Result<std::string> shown(const FitsAnswer& answer, Form form);
Result<std::string> shown(const PlanAnswer& plans, Form form);
Result<std::string> shown(const Explanation& explanation, Form form);

}  // namespace memtape::answer
