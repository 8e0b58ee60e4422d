// SPDX-License-Identifier: Apache-2.0
// `memtape check [FILE]`: named runs with their budgets, and what grew since the lock file.
//
// Each run (budget_file.h) is this program's own answer to its command. A run fails the check where
// it does not fit the GPU that it names, where it is over its limit, and where it needs more than
// the lock file (budget_lock.h) says that it did.
#include <algorithm>

#include <fmt/format.h>

#include "answer/serve_answer.h"
#include "answer/train_answer.h"
#include "asked.h"
#include "base/text.h"
#include "checked_run.h"
#include "commands.h"
#include "outside_process.h"
#include "report/headline.h"
#include "report/largest.h"
#include "report/serve_text.h"

namespace memtape::cli {
namespace {

Result<RunAnswer> told_by(const answer::OneTraining& one) {
  const Prediction& p = one.train.prediction;
  RunAnswer told;
  told.need = {report::needed(p), report::peak_parts(p)};
  told.verdict = p.verdict;
  if (p.verdict && p.device)
    told.verdict_line =
        fmt::format("{}: {} of {}\n", report::verdict_in_words(p), human_bytes(report::needed(p)),
                    human_bytes(p.device->total_bytes));
  return told;
}

Result<RunAnswer> told_by(const answer::OneServer& one) {
  const ServeAnswer& server = one.serve;
  RunAnswer told;
  told.verdict = server.verdict;
  told.verdict_line = report::quiet_text(server);
  for (const ServeRank& rank : server.ranks)
    if (rank.peak_device_bytes > told.need.peak)
      told.need = {rank.peak_device_bytes, report::peak_parts(rank)};
  return told;
}

template <class Many>
Result<RunAnswer> told_by(const Many&) {
  return memtape::bad_input("its answer has no peak", {}, "a command that asks of one run");
}

template <class Answer>
Result<RunAnswer> told_by_answer(const Result<Answer>& answer, bool strict) {
  if (!answer) return tl::unexpected(answer.error());
  Result<RunAnswer> told = std::visit([&](const auto& one) { return told_by(one); }, *answer);
  if (!told) return told;
  if (told->need.peak == 0) return memtape::bad_input("its answer has no peak");
  told->fails = exit_code(*answer, strict) != ExitCode::fits;
  return told;
}

Result<RunAnswer> told_of(const Budget& budget) {
  const Result<answer::Launched> asked = asked_by(budget.words);
  if (!asked) return tl::unexpected(asked.error());
  if (const auto* training = std::get_if<RawOptions>(&*asked))
    return told_by_answer(
        answer::answer_train(*training, false, outside_process(), report::kEveryTensor),
        training->output.strict);
  const auto& server = std::get<ServeCommand>(*asked);
  return told_by_answer(answer::answer_serving(server, outside_process()), server.output.strict);
}

Error of_run(const Budget& budget, const Error& error) {
  const std::string run = fmt::format("run {}", budget.name);
  return {ErrorKind::bad_input, error.what,
          error.where.empty() ? run : fmt::format("{}: {}", run, error.where), error.hint};
}

Result<std::vector<CheckedRun>> checked(const std::string& file) {
  const Result<std::vector<Budget>> budgets = read_budgets(file);
  if (!budgets) return tl::unexpected(budgets.error());
  const Result<Lock> lock = read_lock(lock_file_of(file));
  if (!lock) return tl::unexpected(lock.error());
  std::vector<CheckedRun> runs;
  for (const Budget& budget : *budgets) {
    Result<RunAnswer> told = told_of(budget);
    if (!told) return tl::unexpected(of_run(budget, told.error()));
    const auto before = lock->find(budget.name);
    runs.push_back({budget, std::move(*told),
                    before == lock->end() ? std::nullopt : std::optional(before->second.need)});
  }
  return runs;
}

Lock locked_now(const std::vector<CheckedRun>& runs) {
  Lock lock;
  for (const CheckedRun& run : runs) lock[run.budget.name] = {run.budget.command, run.now.need};
  return lock;
}

int run_check(const Words& words, Terminal& terminal) {
  const std::string file = words.operands.empty() ? "memtape.toml" : words.operand();
  const bool updates = words.has("update");
  const OutputOptions output = output_of(words);
  const Result<std::vector<CheckedRun>> runs = checked(file);
  if (!runs) return terminal.fail(runs.error());
  const bool passes =
      std::ranges::all_of(*runs, [&](const CheckedRun& run) { return run.passes(!updates); });
  terminal.print(output.json ? json(*runs, passes) : text(*runs, output.quiet, terminal.widths()));
  if (updates) {
    const Result<void> written = write_lock(lock_file_of(file), locked_now(*runs));
    if (!written) return terminal.fail(written.error());
  } else if (std::ranges::any_of(*runs, [](const CheckedRun& run) { return !run.locked; })) {
    terminal.note("some runs are not in the lock file: memtape check --update writes it");
  }
  return passes ? ExitCode::fits : ExitCode::does_not_fit;
}

constexpr Operand kBudgetFile{"FILE", "the runs and their limits (memtape.toml)", false};
constexpr auto kCheckOptions = std::to_array<Option>({
    {"--update", "", "write the lock file, whatever has grown"},
});

}  // namespace

const Command kCheckCommand{
    .name = "check",
    .usage = "[FILE]",
    .summary = "a budget in CI: what grew since the lock file, and why",
    .explanation =
        "each run is answered as its own command is; what grew is named by the modules "
        "and operations of its peak, beside those of the lock file",
    .example = "memtape check memtape.toml",
    .operands = {&kBudgetFile, 1},
    .own = kCheckOptions,
    .run = run_check,
};

}  // namespace memtape::cli
