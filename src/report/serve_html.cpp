// SPDX-License-Identifier: Apache-2.0
#include "report/serve_html.h"

#include "report/html_assets.h"
#include "report/html_page.h"
#include "report/json_writer.h"
#include "report/serve_json.h"

namespace memtape::report {

std::string html(const ServeAnswer& answer, std::span<const std::string> arithmetic) {
  JsonWriter out(JsonWriter::Layout::compact);
  out.begin_object();
  out.key("arithmetic");
  out.begin_array();
  for (const std::string& line : arithmetic) out.value(line);
  out.end_array();
  out.key("answer");
  out.raw(json(answer));
  out.end_object();
  return html_page(kServePage, kServeScript, std::move(out).take());
}

}  // namespace memtape::report
