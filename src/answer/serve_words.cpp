// SPDX-License-Identifier: Apache-2.0
#include "answer/serve_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "predict/serve.h"

namespace memtape::answer {
namespace {

constexpr std::string_view kHint = "see memtape serve --help";

/// Every engine takes these.
constexpr std::array kCommon{
    ServeFlag{"--engine", "NAME", "the inference engine"},
    ServeFlag{"--engine-version", "X.Y.Z", "its version"},
    ServeFlag{"--with", "PACKAGE==VERSION,...", "the releases meant, like vllm==0.32.0"},
    ServeFlag{"--gpu", "NAME", "the GPU to judge against (memtape gpus lists them)"},
    ServeFlag{"--gpus", "N", "how many of them"},
    ServeFlag{"--gpu-memory-bytes", "N",
              "total memory of the GPU, instead of the catalog's figure"},
    ServeFlag{"--context-bytes", "N",
              "memory of the CUDA context, instead of the catalog's figure"},
    ServeFlag{"--compare", "[GPU,GPU,...]",
              "a line for each GPU (all that run CUDA) and each of --quantize a,b,c"},
    ServeFlag{"--solve", "FLAG", "the largest value of that flag that fits"},
    ServeFlag{"--users", "N", "people at a time, each with --context and --output"},
    ServeFlag{"--context", "L", "tokens of a user's prompt: how many users are there room for?"},
    ServeFlag{"--output", "M", "tokens of a user's answer (0)"},
    ServeFlag{"--driver-placement", "{linux,first-fit}", "where the driver puts segments"},
};
constexpr std::array kAnswer{
    ServeFlag{"--json", "", "the answer as JSON, alone on the output"},
    ServeFlag{"--quiet", "", "only the answer itself"},
    ServeFlag{"--strict", "", "exit code 1 where it may not fit, too"},
    ServeFlag{"--explain", "", "show how each number comes about"},
    ServeFlag{"--html", "FILE", "write a page with a bar for each GPU"},
    ServeFlag{"--help -h", "", "this text"},
};

tl::unexpected<Error> mistake(std::string what, std::string_view hint = kHint) {
  return memtape::bad_input(std::move(what), "serve", std::string(hint));
}

std::string flag_lines(std::span<const ServeFlag> flags) {
  std::string text;
  for (const ServeFlag& flag : flags) {
    if (flag.help.empty()) continue;
    std::string left = fmt::format("  {} {}", flag.spellings, flag.value);
    left.erase(left.find_last_not_of(' ') + 1);
    text += left.size() < 41 ? fmt::format("{:<42}{}\n", left, flag.help)
                             : fmt::format("{}\n{:42}{}\n", left, "", flag.help);
  }
  return text;
}

std::string help() {
  std::string text =
      "an inference server, per GPU\n\nUsage: memtape serve MODEL [options]\n\n"
      "MODEL  catalog name, hub id, directory, config.json, .safetensors or .gguf file\n\n"
      "Options:\n" +
      flag_lines(kCommon) + "\nAnswer:\n" + flag_lines(kAnswer);
  for (const ServeEngine& engine : serve_engines())
    text +=
        fmt::format("\n--engine {}: {}\n{}", engine.name, engine.summary, flag_lines(engine.flags));
  return text +
         "\nExample:\n  memtape serve meta-llama/Llama-3.1-8B --engine llamacpp --quantize Q4_K_M "
         "--gpu rtx-4090\n";
}

/// A word taken apart at its first '=', where it is a long flag.
struct Word {
  std::string_view flag;
  std::optional<std::string_view> value;
};

Word word_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (!text.starts_with("--") || equals == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The engine decides which flags there are, so it is looked for first.
Result<const ServeEngine*> engine_of(Arguments arguments) {
  std::string_view named = serve_engines().front().name;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Word word = word_of(arguments[i]);
    if (word.flag != "--engine") continue;
    if (word.value)
      named = *word.value;
    else if (i + 1 < arguments.size())
      named = arguments[i + 1];
  }
  return find_serve_engine(named);
}

class Reader {
 public:
  Reader(const ServeEngine& engine, Arguments arguments) : engine_(engine), left_(arguments) {
    words_.command.engine = engine.name;
  }

  Result<ServeWords> read() && {
    while (!left_.empty())
      if (const Result<void> done = next(); !done) return tl::unexpected(done.error());
    if (const Result<void> agree = questions_agree(); !agree) return tl::unexpected(agree.error());
    if (words_.command.model.empty() && words_.help.empty()) return mistake("MODEL is required");
    return std::move(words_);
  }

 private:
  std::size_t count_of(std::string_view name) const {
    return static_cast<std::size_t>(
        std::ranges::count(words_.command.values, name, [](const auto& v) { return v.first; }));
  }

  /// Nothing is asked twice, and nothing beside --compare that it would drop.
  Result<void> questions_agree() const {
    for (const std::string_view once : {"gpu", "gpus", "solve", "compare", "users", "context"})
      if (count_of(once) > 1)
        return mistake(fmt::format("--{} is given twice", once), "one of them");
    if (count_of("compare") == 0) return {};
    if (count_of("gpu") > 0)
      return mistake("--gpu beside --compare: which GPUs?", "--compare GPU,GPU");
    if (count_of("gpu-memory-bytes") > 0)
      return mistake("--gpu-memory-bytes beside --compare: of which GPU?",
                     "--gpu with --gpu-memory-bytes for one");
    return {};
  }

  Result<void> next() {
    const std::string_view text = left_.front();
    left_ = left_.subspan(1);
    if (!text.starts_with('-') || text == "-") return operand(text);
    const Word word = word_of(text);
    if (word.flag == "--html") return html_file(word);
    if (find_flag(kAnswer, word.flag)) return answer_flag(word);
    for (const std::span<const ServeFlag> flags :
         {std::span<const ServeFlag>(kCommon), engine_.flags})
      if (const ServeFlag* flag = find_flag(flags, word.flag)) return value_of(*flag, word);
    return unknown(word.flag);
  }

  Result<void> operand(std::string_view text) {
    if (!words_.command.model.empty())
      return mistake(fmt::format("one argument too many: {}", text));
    words_.command.model = text;
    return {};
  }

  Result<void> answer_flag(const Word& word) {
    if (word.flag == "--json")
      words_.command.output.json = true;
    else if (word.flag == "--quiet")
      words_.command.output.quiet = true;
    else if (word.flag == "--explain")
      words_.command.output.explain = true;
    else if (word.flag == "--strict")
      words_.command.strict = true;
    else
      words_.help = help();
    return {};
  }

  Result<void> html_file(const Word& word) {
    if (!word.value && left_.empty()) return mistake("--html needs a file");
    words_.command.html = word.value ? *word.value : take();
    return {};
  }

  Result<void> value_of(const ServeFlag& flag, const Word& word) {
    std::string_view value;
    if (word.value) {
      if (flag.is_switch()) return mistake(fmt::format("{} takes no value", word.flag));
      value = *word.value;
      if (value.empty()) return mistake(fmt::format("{} needs a value", word.flag));
    } else if (flag.needs_value()) {
      if (left_.empty()) return mistake(fmt::format("{} needs a value", word.flag));
      value = take();
    } else if (!flag.is_switch() && !left_.empty() &&
               !std::string_view(left_.front()).starts_with('-')) {
      value = take();
      if (value.empty()) return mistake(fmt::format("{} needs a value", word.flag));
    }
    words_.command.values.emplace_back(flag.name(), value);
    return {};
  }

  std::string_view take() {
    const std::string_view word = left_.front();
    left_ = left_.subspan(1);
    return word;
  }

  tl::unexpected<Error> unknown(std::string_view typed) const {
    std::vector<std::string_view> names;
    for (const std::span<const ServeFlag> flags :
         {std::span<const ServeFlag>(kCommon), std::span<const ServeFlag>(kAnswer), engine_.flags})
      for (const ServeFlag& flag : flags)
        names.push_back(flag.spellings.substr(0, flag.spellings.find(' ')));
    const std::string_view best = nearest(typed, names);
    return mistake(fmt::format("unknown option {} of --engine {}", typed, engine_.name),
                   best.empty() ? std::string(kHint) : fmt::format("did you mean {}?", best));
  }

  const ServeEngine& engine_;
  Arguments left_;
  ServeWords words_;
};

}  // namespace

std::vector<std::span<const ServeFlag>> serve_flags(std::string_view engine) {
  std::vector<std::span<const ServeFlag>> flags{kCommon, kAnswer};
  const auto known = find_serve_engine(engine.empty() ? serve_engines().front().name : engine);
  if (known) flags.push_back((*known)->flags);
  return flags;
}

Result<ServeWords> read_serve_words(Arguments arguments) {
  const Result<const ServeEngine*> engine = engine_of(arguments);
  if (!engine) return tl::unexpected(engine.error());
  return Reader(**engine, arguments).read();
}

}  // namespace memtape::answer
