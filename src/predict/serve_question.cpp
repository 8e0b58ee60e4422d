// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_question.h"

#include "predict/serve.h"
#include "predict/serve_solve.h"
#include "predict/serve_users.h"

namespace memtape {
Result<ServeAnswer> answer_server(const ServeEngine& engine, const ServeRequest& request) {
  Result<std::optional<ServeAnswer>> crowd = serve_users(engine, request);
  if (!crowd) return tl::unexpected(crowd.error());
  if (*crowd) return **std::move(crowd);
  return predict_serve(engine, request);
}

Result<ServeAnswer> answer_question(const ServeEngine& engine, const ServeRequest& request) {
  const std::string* flag = request.options.find("solve");
  Result<ServeAnswer> answer =
      flag ? solve_serve(engine, request, *flag) : answer_server(engine, request);
  if (answer && answer->model.parameters == 0)
    answer->model.parameters = counted_parameters(request);
  return answer;
}

}  // namespace memtape
