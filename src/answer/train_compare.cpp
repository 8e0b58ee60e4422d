// SPDX-License-Identifier: Apache-2.0
#include "answer/train_compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "answer/counted_gpu.h"
#include "answer/gpu_prices.h"
#include "answer/table.h"
#include "base/comma_list.h"
#include "base/text.h"
#include "report/json_parts.h"
#include "report/style.h"

namespace memtape::answer {
namespace {

struct CountedGpu {
  std::string typed;
  std::optional<std::int64_t> count;
  Gpu gpu;
};

Result<CountedGpu> counted_gpu(const std::string& word) {
  const auto [typed, count] = counted_name(word);
  if (count && *count < 1)
    return bad_input("\"" + word + "\" counts none", "--compare", "as in 4xa100-80gb");
  Result<Gpu> gpu = find_gpu(typed, "--compare");
  if (!gpu) return tl::unexpected(gpu.error());
  return CountedGpu{typed, count, std::move(*gpu)};
}

/// The GPUs that the options ask for where no count stands in front.
std::int64_t gpus_of(const CommandWords& command) {
  const auto recipe = command.read(command.values);
  return recipe ? recipe->layout.gpus : 1;
}

/// Cheapest of those that fit; where one of them has no price, the one with the least memory in
/// all.
std::optional<std::size_t> winner_of(const TrainComparison& all, std::int64_t otherwise) {
  std::optional<std::size_t> best;
  bool priced = true;
  for (const ComparedTraining& one : all.trainings)
    if (passes(one.answer, all.strict)) priced = priced && one.price.has_value();
  const auto cost = [&](const ComparedTraining& one) {
    if (priced) return *one.price;
    return static_cast<double>(one.count.value_or(otherwise)) *
           static_cast<double>(one.answer.device ? one.answer.device->total_bytes : 0);
  };
  for (std::size_t i = 0; i < all.trainings.size(); ++i) {
    if (!passes(all.trainings[i].answer, all.strict)) continue;
    if (!best || cost(all.trainings[i]) < cost(all.trainings[*best])) best = i;
  }
  return best;
}

bool has_prices(const TrainComparison& all) {
  return std::ranges::any_of(all.trainings, [](const auto& one) { return one.price.has_value(); });
}

/// The verdict, with what decides it where the limit is near.
std::string verdict_of(const VariantAnswer& a) {
  const VerdictWord word = a.verdict.value_or(VerdictWord::fits);
  std::string out = in_words(word, a.without_limit_bytes.has_value());
  if (word == VerdictWord::may_not_fit)
    out += fmt::format(": {} to {}", gib_number(a.low_bytes), gib_number(a.high_bytes));
  if (a.without_limit_bytes)
    out += fmt::format(" ({} without the limit)", gib_number(*a.without_limit_bytes));
  return out;
}

Table::Row row_of(const ComparedTraining& one, const TrainComparison& all, bool wins) {
  Table::Row row{one.count ? fmt::format("{} x {}", *one.count, one.gpu) : one.gpu};
  const VariantAnswer& a = one.answer;
  if (!a.is_possible()) {
    row.insert(row.end(), {"-", "-", "-"});
  } else {
    row.push_back(gib_number(a.needed_bytes));
    row.push_back(gib_number(a.device ? a.device->total_bytes : 0));
    row.push_back(gib_number(a.headroom_bytes.value_or(0)));
  }
  if (has_prices(all)) row.push_back(one.price ? fmt::format("{:.2f}", *one.price) : "-");
  const std::string sign =
      has_prices(all) ? "  <- the cheapest that does" : "  <- the smallest that does";
  row.push_back(!a.is_possible() ? "not possible" : verdict_of(a) + (wins ? sign : ""));
  return row;
}

}  // namespace

Result<TrainComparison> comparison_of(const Question& question, const std::string& gpus,
                                      const std::string& prices) {
  const Result<GpuPrices> known = GpuPrices::read(prices);
  if (!known) return tl::unexpected(known.error());
  TrainComparison all{question.model.id, title_of(question, {}), {}, std::nullopt, question.strict};
  std::vector<TrainVariant> variants;
  const std::int64_t otherwise = gpus_of(question.command);
  for (const std::string& word : split_at_commas(gpus)) {
    const Result<CountedGpu> counted = counted_gpu(word);
    if (!counted) return tl::unexpected(counted.error());
    ComparedTraining one{counted->typed, counted->count, std::nullopt, {}};
    if (const auto price = known->of(counted->gpu))
      one.price = *price * static_cast<double>(one.count.value_or(otherwise));
    TrainVariant variant{{}, question.device};
    variant.device.gpu = counted->gpu;
    if (one.count) variant.changes.emplace_back("gpus", fmt::format("{}", *one.count));
    all.trainings.push_back(std::move(one));
    variants.push_back(std::move(variant));
  }
  if (variants.empty())
    return bad_input("names no GPU", "--compare", "as in --compare rtx-4090,4xa100-80gb");
  const std::vector<VariantAnswer> answers = question.answers(variants);
  for (std::size_t i = 0; i < answers.size(); ++i) all.trainings[i].answer = answers[i];
  if (std::ranges::none_of(answers, [](const auto& a) { return a.is_possible(); }))
    return bad_input(answers.front().failure, "--compare", "possible on none of them");
  all.winner = winner_of(all, otherwise);
  return all;
}

std::string text(const TrainComparison& all, Widths widths) {
  using enum Table::Align;
  std::vector<Table::Align> columns{left, right, right, right};
  Table::Row head{"GPUS", "EACH NEEDS GiB", "OF", "SPARE"};
  if (has_prices(all)) {
    columns.push_back(right);
    head.emplace_back("AN HOUR");
  }
  columns.push_back(left);
  head.emplace_back("VERDICT");
  Table table(std::move(columns));
  table.add(std::move(head));
  for (std::size_t i = 0; i < all.trainings.size(); ++i)
    table.add(row_of(all.trainings[i], all, i == all.winner));
  std::string out = all.title + "\n" + table.text(widths.tables);
  for (const ComparedTraining& one : all.trainings)
    if (!one.answer.is_possible())
      for (const std::string& line :
           report::wrap(one.gpu + ": " + one.answer.failure, widths.sentences))
        out += line + "\n";
  return out;
}

std::string quiet_text(const TrainComparison& all) {
  if (!all.winner) return "none fits\n";
  const ComparedTraining& winner = all.trainings[*all.winner];
  return quiet_line(winner.count ? fmt::format("{} x {}", *winner.count, winner.gpu) : winner.gpu,
                    winner.answer);
}

std::string json(const TrainComparison& all) {
  report::JsonWriter out(report::JsonWriter::Layout::pretty);
  out.begin_object();
  write_head(out, "compare", all.model);
  out.key("compared");
  out.begin_array();
  for (const ComparedTraining& one : all.trainings) {
    out.begin_object();
    out.member("gpu", one.gpu);
    report::member_or_null(out, "gpus", one.count);
    out.key("price_per_hour");
    one.price ? out.raw(fmt::format("{}", *one.price)) : out.null();
    write_members(out, one.answer);
    out.end_object();
  }
  out.end_array();
  out.key("winner");
  all.winner ? out.value(static_cast<std::int64_t>(*all.winner)) : out.null();
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::answer
