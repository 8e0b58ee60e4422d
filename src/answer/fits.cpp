// SPDX-License-Identifier: Apache-2.0
#include "answer/fits.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/letter_case.h"

namespace memtape::answer {
namespace {

/// As names are compared: capitals, '_' and '-' alike.
std::string plain(std::string_view text) {
  std::string plain = lower_case(std::string(text));
  std::ranges::replace(plain, '_', '-');
  return plain;
}

/// Without a count of its own a model is asked, and its size compared then.
bool is_wanted(std::int64_t parameters, const FitsQuestion& q) {
  return parameters == 0 || (parameters >= q.least_parameters &&
                             (q.most_parameters == 0 || parameters <= q.most_parameters));
}

/// Decoders that embed or rank say so by their names alone.
bool answers_nobody(const CatalogEntry& entry) {
  return entry.id.find("-Embedding-") != std::string_view::npos ||
         entry.id.find("-Reranker-") != std::string_view::npos;
}

std::vector<const CatalogEntry*> wanted_models(const FitsQuestion& q) {
  std::vector<const CatalogEntry*> wanted;
  for (const CatalogEntry& entry : model_catalog())
    if (is_wanted(entry.parameters, q) && !answers_nobody(entry) &&
        plain(entry.id).find(plain(q.name)) != std::string::npos)
      wanted.push_back(&entry);
  return wanted;
}

Fitting fitting(const CatalogEntry& entry, const FitsQuestion& q, const Outside& outside) {
  const Result<ModelSource> source = outside.model(std::string(entry.id));
  if (!source || !source->config) {
    Fitting none;
    none.id = entry.id;
    none.failure = source ? "has no config.json" : source.error().line();
    return none;
  }
  return q.task == FitsQuestion::Task::chat ? fitting_chat(entry, *source, q, outside)
                                            : fitting_training(entry, *source, q, outside);
}

/// All on the GPU (or all on a host without one) before parts; then the largest.
bool is_before(const Fitting& a, const Fitting& b) {
  const bool a_is_whole = a.place != Fitting::Place::partly,
             b_is_whole = b.place != Fitting::Place::partly;
  if (a_is_whole != b_is_whole) return a_is_whole;
  if (a.parameters != b.parameters) return a.parameters > b.parameters;
  return a.id < b.id;
}

}  // namespace

Result<FitsAnswer> models_that_fit(const RawOptions& options, const Outside& outside,
                                   const FitsWatch& watch) {
  Result<FitsQuestion> question = fits_question(options, outside);
  if (!question) return tl::unexpected(question.error());
  FitsAnswer answer;
  answer.question = *std::move(question);
  const FitsQuestion& q = answer.question;
  const std::vector<const CatalogEntry*> wanted = wanted_models(q);
  if (wanted.empty())
    return bad_input("no model of the catalog is like that", "--name, --size",
                     "see memtape models");
  std::vector<std::optional<Fitting>> found(wanted.size());
  std::atomic<std::size_t> done = 0;
  watch.starts(wanted.size());
  outside.workers().share(wanted.size(), [&](std::size_t, std::size_t at) {
    if (watch.stopped()) return;
    watch.begins(wanted[at]->id);
    found[at] = fitting(*wanted[at], q, outside);
    watch.ends(wanted[at]->id);
    ++done;
  });
  answer.not_asked = wanted.size() - done;
  for (std::optional<Fitting>& asked : found) {
    if (!asked || !is_wanted(asked->parameters, q)) continue;
    Fitting& one = *asked;
    if (!one.failure.empty())
      answer.not_modelled.push_back(std::move(one));
    else if (one.place == Fitting::Place::none)
      answer.too_large.push_back(std::move(one.id));
    else
      answer.models.push_back(std::move(one));
  }
  std::ranges::sort(answer.models, is_before);
  if (q.top > 0 && answer.models.size() > q.top) {
    answer.left_out = answer.models.size() - q.top;
    answer.models.resize(q.top);
  }
  return answer;
}

}  // namespace memtape::answer
