// SPDX-License-Identifier: Apache-2.0
#include "report/plan_csv.h"

#include <fmt/format.h>

namespace memtape::report {
namespace {

/// RFC 4180: in quotes, those within doubled.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

template <class T>
std::string or_nothing(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string layout(const PlanRow& plan) {
  std::string out;
  for (const auto& [name, value] : plan.layout)
    out += fmt::format("{}--{} {}", out.empty() ? "" : " ", name, value);
  return out;
}

}  // namespace

std::string csv(const PlanAnswer& answer) {
  const bool serves = answer.question == "serve";
  std::string out = fmt::format(
      "rank,framework,gpus,{},tokens_per_second,mfu,peak_device_bytes,headroom_bytes,fits,"
      "cost_per_hour,sacrifice,layout\n",
      serves ? "users,ttft_seconds,tpot_seconds"
             : "step_seconds_low,step_seconds_mid,step_seconds_high");
  std::size_t rank = 0;
  for (const PlanRow& p : answer.plans) {
    const std::string times =
        serves ? fmt::format("{},{:.6g},{:.6g}", p.users.value_or(0), p.ttft ? p.ttft->mid : 0.0,
                             p.tpot ? p.tpot->mid : 0.0)
               : fmt::format("{:.6g},{:.6g},{:.6g}", p.step_seconds.low, p.step_seconds.mid,
                             p.step_seconds.high);
    out +=
        fmt::format("{},{},{},{},{:.6g},{},{},{},{},{},{},{}\n", ++rank, p.framework, p.gpus, times,
                    p.tokens_per_second, p.mfu ? fmt::format("{:.4g}", *p.mfu) : std::string(),
                    or_nothing(p.peak_device_bytes), or_nothing(p.headroom_bytes),
                    p.fits ? (*p.fits ? "true" : "false") : "", or_nothing(p.cost_per_hour),
                    quoted(p.sacrifice), quoted(layout(p)));
  }
  return out;
}

}  // namespace memtape::report
