// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_question.h"

#include "framework/transformers/generate.h"
#include "predict/serve_solve.h"
#include "predict/serve_users.h"
#include "workload/device_traits.h"

namespace memtape {
namespace {

/// Of the model as transformers makes it; 0 where it is none of the families here.
std::int64_t counted_parameters(const ServeRequest& request) {
  if (!request.config) return 0;
  transformers::GenerateRecipe least;
  least.prompt_length = least.max_new_tokens = 1;
  const auto run = transformers::run_generate(*request.config, least, device_traits(std::nullopt));
  return run ? run->parameters : 0;
}

}  // namespace

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
