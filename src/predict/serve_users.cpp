// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_users.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

constexpr std::int64_t kMostUsers = std::int64_t{1} << 31;

/// What is asked; users 0: as many as there can be.
struct Asked {
  std::int64_t users = 0, context = 0, output = 0;
  std::int64_t tokens() const { return context + output; }
};

Result<Asked> asked_of(const ServeOptions& options) {
  Asked asked;
  constexpr IntegerRange kTokens{0, std::int64_t{1} << 31};
  if (!options.has("context"))
    return bad_input("needs the tokens of a prompt", "--users", "--context L");
  const auto context = options.integer("context", 0, {1, std::int64_t{1} << 31});
  if (!context) return tl::unexpected(context.error());
  const auto output = options.integer("output", 0, kTokens);
  if (!output) return tl::unexpected(output.error());
  asked.context = *context;
  asked.output = *output;
  if (options.has("users")) {
    const auto users = options.integer("users", 1, {1, kMostUsers});
    if (!users) return tl::unexpected(users.error());
    asked.users = *users;
  }
  return asked;
}

/// Whether the flag says how long requests may be, not how long they are.
bool is_limit_of_lengths(const ServeUsers& flags) {
  return !flags.length_is_of_all && flags.output.empty();
}

/// A limit of requests' lengths may stand beside --context where the users' texts keep to it; what
/// a place for each holds is said once.
Result<void> lengths_agree(const ServeUsers& flags, const ServeOptions& options,
                           const Asked& asked) {
  const bool is_limit = is_limit_of_lengths(flags);
  for (const std::string_view flag : {flags.length, flags.output}) {
    if (flag.empty() || !options.has(flag)) continue;
    if (!is_limit)
      return bad_input(fmt::format("says what --{} says, too", flag), "--context",
                       "one of the two");
    const auto most = options.integer(flag, 0, {-1, std::int64_t{1} << 40});
    if (!most) return tl::unexpected(most.error());
    if (*most > 0 && *most < asked.tokens())
      return bad_input(fmt::format("{} tokens are more than --{} {}", asked.tokens(), flag, *most),
                       "--context", fmt::format("a larger --{}", flag));
  }
  return {};
}

bool fits(const Result<ServeAnswer>& answer) { return answer && answer->fits.value_or(false); }

class Crowd {
 public:
  Crowd(const ServeEngine& engine, const ServeRequest& request, const Asked& asked)
      : engine_(engine), request_(request), asked_(asked) {}

  Result<ServeAnswer> run() {
    Result<ServeAnswer> answer =
        engine_.users.holds == ServeUsers::Holds::pool ? from_pool() : by_trial();
    if (!answer) return answer;
    answer->users = Users{asked_.users, asked_.context, asked_.output, users_, per_user(*answer)};
    say(*answer);
    return answer;
  }

 private:
  Result<ServeAnswer> ask(std::int64_t users) const {
    ServeRequest request = request_;
    const ServeUsers& flags = engine_.users;
    const std::int64_t length = flags.length_is_of_all ? users * asked_.tokens()
                                : flags.output.empty() ? asked_.tokens()
                                                       : asked_.context;
    // A limit of requests' lengths that was given stays: the users' texts are shorter.
    if (!is_limit_of_lengths(flags) || request_.options.text(flags.length, "-1") == "-1")
      request.options.add(flags.length, std::to_string(length));
    request.user_tokens = asked_.tokens();
    if (!flags.output.empty())
      request.options.add(flags.output, std::to_string(std::max<std::int64_t>(1, asked_.output)));
    if (users > 0 && !flags.count.empty() && !request_.options.has(flags.count))
      request.options.add(flags.count, std::to_string(users));
    if (!flags.with.empty()) request.options.add(flags.with, "");
    return predict_serve(engine_, request);
  }

  /// One answer: requests of that length in the cache, at most as many as run at a time.
  Result<ServeAnswer> from_pool() {
    Result<ServeAnswer> answer = ask(asked_.users);
    const std::string refused = answer ? std::string() : answer.error().line();
    // So many cannot be served at a time: how many can?
    if (!answer && asked_.users > 0) answer = ask(0);
    if (!answer) return answer;
    double least = static_cast<double>(kMostUsers);
    for (const ServeRank& rank : answer->ranks) least = std::min(least, at_a_time(rank.kv_cache));
    users_ = answer->fits.value_or(true) ? static_cast<std::int64_t>(std::floor(least)) : 0;
    const bool as_asked = asked_.users > 0 && refused.empty() && !limits_count();
    users_ = std::min(users_, as_asked ? users_ : most_at_a_time(*answer));
    if (asked_.users > users_ && answer->failure.empty())
      refuse(*answer, refused.empty() ? std::string() : ": " + refused);
    return answer;
  }

  static double at_a_time(const KvCache& cache) {
    return cache.users.value_or(cache.max_concurrency.value_or(0));
  }

  bool limits_count() const {
    const std::string_view count = engine_.users.count;
    return !count.empty() && request_.options.has(count);
  }

  void refuse(ServeAnswer& answer, const std::string& reason) const {
    answer.fits = false;
    answer.verdict = VerdictWord::does_not_fit;
    answer.failure = fmt::format("{} users are asked for: there is room for {}{}",
                                 with_commas(asked_.users), with_commas(users_), reason);
  }

  Result<ServeAnswer> by_trial() {
    Result<ServeAnswer> wanted = ask(std::max<std::int64_t>(1, asked_.users));
    const std::string refused = wanted ? std::string() : wanted.error().line();
    if (!wanted && asked_.users > 1) wanted = ask(1);
    if (!wanted || !wanted->device) return wanted;
    if (wanted->ranks.empty())
      return bad_input("no GPU takes part", "--context",
                       "say how much host memory there is: --host-memory-bytes N");
    std::int64_t low = 0, high = 1;
    Result<ServeAnswer> best = wanted;
    const auto holds = [&](std::int64_t users) {
      Result<ServeAnswer> tried = ask(users);
      if (!fits(tried)) return false;
      if (asked_.users == 0) best = std::move(tried);
      return true;
    };
    while (high <= kMostUsers && holds(high)) {
      low = high;
      high *= 2;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (holds(middle) ? low : high) = middle;
    }
    users_ = low;
    if (!refused.empty()) refuse(*best, ": " + refused);
    return best;
  }

  /// How many requests run at a time, whatever the cache holds.
  static std::int64_t most_at_a_time(const ServeAnswer& answer) {
    for (const Setting& setting : answer.workload)
      if (setting.name == "max_num_seqs") return std::atoll(setting.json_value.c_str());
    return kMostUsers;
  }

  /// Bytes of one user's part of the cache.
  Bytes per_user(const ServeAnswer& answer) const {
    Bytes bytes = 0;
    for (const ServeRank& rank : answer.ranks) {
      const KvCache& cache = rank.kv_cache;
      const bool pool = engine_.users.holds == ServeUsers::Holds::pool;
      const double users =
          pool ? at_a_time(cache) : static_cast<double>(asked_.users > 0 ? asked_.users : users_);
      if (users > 0)
        bytes = std::max(bytes, static_cast<Bytes>(static_cast<double>(cache.bytes) / users));
    }
    return bytes;
  }

  void say(ServeAnswer& answer) const {
    const std::string each = fmt::format("{} tokens of prompt and {} of answer each, {} of cache",
                                         with_commas(asked_.context), with_commas(asked_.output),
                                         human_bytes(answer.users->bytes));
    const std::string all =
        answer.device ? fmt::format("{} users at a time", with_commas(users_)) : std::string();
    if (!all.empty()) answer.notes.insert(answer.notes.begin(), fmt::format("{}: {}", all, each));
  }

  const ServeEngine& engine_;
  const ServeRequest& request_;
  const Asked asked_;
  std::int64_t users_ = 0;
};

}  // namespace

Result<std::optional<ServeAnswer>> serve_users(const ServeEngine& engine,
                                               const ServeRequest& request) {
  const ServeOptions& options = request.options;
  if (!options.has("users") && !options.has("context") && !options.has("output"))
    return std::optional<ServeAnswer>();
  const Result<Asked> asked = asked_of(options);
  if (!asked) return tl::unexpected(asked.error());
  if (const Result<void> agree = lengths_agree(engine.users, options, *asked); !agree)
    return tl::unexpected(agree.error());
  Result<ServeAnswer> answer = Crowd(engine, request, *asked).run();
  if (!answer) return tl::unexpected(answer.error());
  return std::optional(*std::move(answer));
}

}  // namespace memtape
