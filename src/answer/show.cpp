// SPDX-License-Identifier: Apache-2.0
#include "answer/show.h"

#include "answer/comparison_table.h"
#include "report/csv.h"
#include "report/explain.h"
#include "report/explanation.h"
#include "report/html.h"
#include "report/plan_csv.h"
#include "report/plan_html.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "report/serve_html.h"
#include "report/serve_text.h"
#include "report/snapshot.h"
#include "report/text.h"

namespace memtape::answer {
namespace {

constexpr int kWidth = 80;
constexpr Widths kWidths{kWidth, kWidth};

tl::unexpected<Error> not_shown(const char* of) {
  return unsupported("is not a form of this answer", "request.as", of);
}

struct ShowTraining {
  Form form;

  Result<std::string> operator()(const OneTraining& one) const {
    const TrainAnswer& answer = one.train;
    const Trace* trace = answer.trace ? &*answer.trace : nullptr;
    if (form == Form::text) return report::text(answer.prediction, trace, {.width = kWidth});
    if (!trace) return not_shown("json or text");
    if (form == Form::html) return report::html(answer.prediction, *trace);
    if (form == Form::timeline) return report::html_data(answer.prediction, *trace);
    if (form == Form::csv) return report::csv(*trace);
    if (form == Form::explain) return report::explain(answer.prediction, *trace, {.width = kWidth});
    return report::snapshot(*trace);
  }
  template <class Many>
  Result<std::string> operator()(const Many& many) const {
    if (form != Form::text) return not_shown("json or text");
    return text(many, kWidths);
  }
};

struct ShowServing {
  Form form;

  Result<std::string> operator()(const OneServer& one) const {
    if (form == Form::text) return report::text(one.serve, {.width = kWidth});
    if (form == Form::html) return report::html(one.serve, one.by_hand);
    return not_shown("json, text or html");
  }
  Result<std::string> operator()(const Comparison& many) const {
    if (form != Form::text) return not_shown("json or text");
    return text(many, kWidths);
  }
};

}  // namespace

Result<std::string> shown(const Training& training, Form form) {
  if (form == Form::json) return json(training);
  return std::visit(ShowTraining{form}, training);
}

Result<std::string> shown(const Serving& serving, Form form) {
  if (form == Form::json) return json(serving);
  return std::visit(ShowServing{form}, serving);
}

Result<std::string> shown(const FitsAnswer& answer, Form form) {
  if (form == Form::json) return json(answer);
  if (form == Form::text) return text(answer, kWidths);
  return not_shown("json or text");
}

Result<std::string> shown(const PlanAnswer& plans, Form form) {
  if (form == Form::json) return report::json(plans);
  if (form == Form::text) return report::text(plans, {.width = kWidth, .style = {}});
  if (form == Form::csv) return report::csv(plans);
  if (form == Form::html) return report::html(plans);
  return not_shown("json, text, csv or html");
}

Result<std::string> shown(const Explanation& explanation, Form form) {
  if (form == Form::json) return report::json(explanation);
  if (form == Form::text) return report::text(explanation, {}, kWidth);
  if (form != Form::html) return not_shown("json, text or html");
  if (explanation.recordings.empty())
    return unsupported("needs a snapshot or a trace to draw", "request.as", "json or text");
  return report::html(explanation);
}

}  // namespace memtape::answer
