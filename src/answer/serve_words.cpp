// SPDX-License-Identifier: Apache-2.0
#include "answer/serve_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/letter_case.h"
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
constexpr std::array kAnswerFlags{
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

/// With `--engine NAME` that engine's flags alone.
std::string help(const ServeEngine* only) {
  std::string text =
      "an inference server, per GPU\n\nUsage: memtape serve MODEL [options]\n\n"
      "MODEL  catalog name, hub id, directory, config.json, .safetensors or .gguf file\n\n"
      "Options:\n" +
      flag_lines(kCommon) + "\nAnswer:\n" + flag_lines(kAnswerFlags);
  for (const ServeEngine& engine : serve_engines()) {
    if (only && engine.name != only->name) continue;
    text +=
        fmt::format("\n--engine {}: {}\n{}", engine.name, engine.summary, flag_lines(engine.flags));
  }
  if (only)
    return text + fmt::format(
                      "\nExample:\n  memtape serve meta-llama/Llama-3.1-8B --engine {} "
                      "--gpu l4\n",
                      only->name);
  return text +
         "\nExample:\n  memtape serve meta-llama/Llama-3.1-8B --engine llamacpp --quantize Q4_K_M "
         "--gpu rtx-4090\n";
}

/// A word taken apart at its first '=', where it is a long flag.
struct FlagWord {
  std::string_view flag;
  std::optional<std::string_view> value;
};

FlagWord flag_word_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (!text.starts_with("--") || equals == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// generate()'s switches with a value, as Python spells it.
bool is_generation_truth(std::string_view word) {
  const std::string value = lower_case(std::string(word));
  return value == "true" || value == "false";
}

/// The engine decides which flags there are, so it is looked for first.
Result<const ServeEngine*> engine_named_in(Arguments arguments) {
  std::string_view named = serve_engines().front().name;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const FlagWord word = flag_word_of(arguments[i]);
    if (word.flag != "--engine") continue;
    if (word.value)
      named = *word.value;
    else if (i + 1 < arguments.size())
      named = arguments[i + 1];
  }
  return find_serve_engine(named);
}

/// What people mean by words that are not there, before what is spelled alike.
struct Meaning {
  std::string_view engine, typed, hint;  ///< "": of any engine
};
constexpr auto kMeanings = std::to_array<Meaning>({
    {"", "--seq", "--context L for a user's prompt, or the engine's own length of context"},
    {"", "--seq-len", "--context L for a user's prompt, or the engine's own length of context"},
    {"", "--sequence-length", "--context L for a user's prompt: that one is of memtape train"},
    {"llamacpp", "--max-tokens", "--ctx-size N"},
    {"vllm", "--batch-size", "--max-num-seqs N: requests at a time"},
    {"sglang", "--batch-size", "--max-running-requests N: requests at a time"},
    {"", "--concurrency", "--users N"},
    {"", "--fits", "memtape fits --gpu NAME says which models fit"},
    {"vllm", "--mmproj",
     "vLLM reads a model's tower from its checkpoint; --engine llamacpp has it"},
    {"sglang", "--mmproj",
     "SGLang reads a model's tower from its checkpoint; --engine llamacpp has it"},
    {"transformers", "--mmproj",
     "transformers reads a model's tower from its checkpoint; --engine llamacpp has it"},
});

class ServeWordReader {
 public:
  ServeWordReader(const ServeEngine& engine, Arguments arguments)
      : engine_(engine), left_(arguments) {
    words_.command.engine = engine.name;
    names_engine_ = std::ranges::any_of(
        arguments, [](const char* word) { return flag_word_of(word).flag == "--engine"; });
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
    const FlagWord word = flag_word_of(text);
    if (word.flag == "--html") return html_file(word);
    if (find_flag(kAnswerFlags, word.flag)) return answer_flag(word);
    for (const std::span<const ServeFlag> flags :
         {std::span<const ServeFlag>(kCommon), engine_.flags})
      if (const ServeFlag* flag = find_flag(flags, word.flag)) return value_of(*flag, word);
    if (const ServeFlag* flag = otherwise_written(word.flag)) return value_of(*flag, word);
    return unknown(word.flag);
  }

  /// --max_model_len is --max-model-len, and the other way round.
  const ServeFlag* otherwise_written(std::string_view typed) const {
    if (!typed.starts_with("--")) return nullptr;
    for (const auto& [from, to] : {std::pair('_', '-'), std::pair('-', '_')}) {
      std::string word(typed.substr(2));
      std::ranges::replace(word, from, to);
      word.insert(0, "--");
      for (const std::span<const ServeFlag> flags :
           {std::span<const ServeFlag>(kCommon), engine_.flags})
        if (const ServeFlag* flag = find_flag(flags, word)) return flag;
    }
    return nullptr;
  }

  Result<void> operand(std::string_view text) {
    if (!words_.command.model.empty())
      return mistake(fmt::format("one argument too many: {}", text));
    words_.command.model = text;
    return {};
  }

  Result<void> answer_flag(const FlagWord& word) {
    if (word.flag == "--json")
      words_.command.output.json = true;
    else if (word.flag == "--quiet")
      words_.command.output.quiet = true;
    else if (word.flag == "--explain")
      words_.command.output.explain = true;
    else if (word.flag == "--strict")
      words_.command.strict = true;
    else
      words_.help = help(names_engine_ ? &engine_ : nullptr);
    return {};
  }

  Result<void> html_file(const FlagWord& word) {
    if (!word.value && left_.empty()) return mistake("--html needs a file");
    words_.command.html = word.value ? *word.value : take();
    return {};
  }

  Result<void> value_of(const ServeFlag& flag, const FlagWord& word) {
    std::string_view value;
    if (word.value) {
      if (flag.is_switch()) return mistake(fmt::format("{} takes no value", word.flag));
      value = *word.value;
      if (value.empty()) return mistake(fmt::format("{} needs a value", word.flag));
    } else if (flag.needs_value()) {
      if (left_.empty()) return mistake(fmt::format("{} needs a value", word.flag));
      value = take();
    } else if (flag.is_switch() && engine_.name == "transformers" && !left_.empty() &&
               is_generation_truth(left_.front())) {
      if (lower_case(left_.front()) == "false") {
        take();
        return {};
      }
      take();
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
         {std::span<const ServeFlag>(kCommon), std::span<const ServeFlag>(kAnswerFlags),
          engine_.flags})
      for (const ServeFlag& flag : flags)
        names.push_back(flag.spellings.substr(0, flag.spellings.find(' ')));
    for (const Meaning& meaning : kMeanings)
      if (meaning.typed == typed && (meaning.engine.empty() || meaning.engine == engine_.name))
        return mistake(fmt::format("unknown option {} of --engine {}", typed, engine_.name),
                       std::string(meaning.hint));
    for (const ServeEngine& other : serve_engines())
      if (find_flag(other.flags, typed))
        return mistake(fmt::format("unknown option {} of --engine {}", typed, engine_.name),
                       fmt::format("it is one of --engine {}", other.name));
    const std::string_view best = nearest(typed, names);
    return mistake(fmt::format("unknown option {} of --engine {}", typed, engine_.name),
                   best.empty() ? std::string(kHint) : fmt::format("did you mean {}?", best));
  }

  const ServeEngine& engine_;
  bool names_engine_ = false;
  Arguments left_;
  ServeWords words_;
};

}  // namespace

std::vector<std::span<const ServeFlag>> serve_flags(std::string_view engine) {
  std::vector<std::span<const ServeFlag>> flags{kCommon, kAnswerFlags};
  const auto known = find_serve_engine(engine.empty() ? serve_engines().front().name : engine);
  if (known) flags.push_back((*known)->flags);
  return flags;
}

Result<ServeWords> read_serve_words(Arguments arguments) {
  const Result<const ServeEngine*> engine = engine_named_in(arguments);
  if (!engine) return tl::unexpected(engine.error());
  return ServeWordReader(**engine, arguments).read();
}

}  // namespace memtape::answer
