// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_question.h"

#include "model/stored_dtype.h"
#include "predict/serve.h"
#include "predict/serve_solve.h"
#include "predict/serve_users.h"

namespace memtape {
namespace {

/// Nothing is taken that would change nothing: a flag without the one that it needs.
Result<void> check_needs(const ServeEngine& engine, const ServeOptions& options) {
  std::string_view lacks, needed;
  const auto is_given = [&](std::string_view name) { return options.has(name); };
  for (const FlagNeeds& row : engine.needs) {
    if (option::any_word(row.one_of, is_given)) continue;
    option::each_word(row.flags, [&](std::string_view flag) {
      if (!options.has(flag)) return;
      lacks = flag;
      needed = row.one_of.substr(0, row.one_of.find(' '));
    });
  }
  if (lacks.empty()) return {};
  const std::string other = "--" + std::string(needed);
  return bad_input("does nothing without " + other, "--" + std::string(lacks), "add " + other);
}

}  // namespace

Result<ServeAnswer> answer_server(const ServeEngine& engine, const ServeRequest& request) {
  Result<std::optional<ServeAnswer>> crowd = serve_users(engine, request);
  if (!crowd) return tl::unexpected(crowd.error());
  if (*crowd) return **std::move(crowd);
  return predict_serve(engine, request);
}

Result<ServeAnswer> answer_question(const ServeEngine& engine, const ServeRequest& request) {
  if (const auto fine = check_needs(engine, request.options); !fine)
    return tl::unexpected(fine.error());
  if (request.config)
    if (const Result<DType> stored = stored_dtype(*request.config); !stored)
      return tl::unexpected(stored.error());
  const std::string* flag = request.options.find("solve");
  Result<ServeAnswer> answer =
      flag ? solve_serve(engine, request, *flag) : answer_server(engine, request);
  if (answer && answer->model.parameters == 0)
    answer->model.parameters = counted_parameters(request);
  return answer;
}

}  // namespace memtape
