// SPDX-License-Identifier: Apache-2.0
// nanoGPT (train.py, model.py, configurator.py): `python train.py [config/NAME.py] [--key=value]`,
// where a file of assignments and words override the script's own. Its GPT-2 is answered by
// transformers' of the same shape in the plain loop, and that is said.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "launch/programs.h"
#include "launch/reading.h"

namespace memtape::launch {
namespace {

bool is_config(std::string_view word) { return word.ends_with(".py"); }

/// 5 * 8, as the shipped files write it; anything else as it stands, without quotes.
std::string value_of(std::string_view text) {
  std::int64_t product = 1;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t star = std::min(rest.find('*'), rest.size());
    const std::string_view factor = trimmed(rest.substr(0, star));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), number);
    if (error != std::errc() || end != factor.data() + factor.size()) {
      const bool quoted = text.size() > 1 && (text.front() == '\'' || text.front() == '"');
      return std::string(quoted ? text.substr(1, text.size() - 2) : text);
    }
    product *= number;
    rest.remove_prefix(std::min(star + 1, rest.size()));
  }
  return fmt::format("{}", product);
}

/// `name = value  # why`, a line each.
void set_assignments(std::string_view text, std::string_view file, Settings& settings) {
  int line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, std::min(text.substr(0, end).find('#'), end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    const std::size_t equals = row.find('=');
    if (equals == std::string_view::npos || row.front() == ' ') continue;
    const std::string_view name = trimmed(row.substr(0, equals));
    settings.set_text(name, value_of(trimmed(row.substr(equals + 1))),
                      fmt::format("{}: {}", place_in(file, line), name));
  }
}

Result<Settings> read_nanogpt(const LaunchCommand& command) {
  Settings settings;
  for (const std::string& word : command.arguments) {
    if (is_config(word)) {
      const Result<std::string> text = command.files->read(word);
      if (!text) return tl::unexpected(text.error());
      set_assignments(*text, word, settings);
      continue;
    }
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string::npos)
      return bad_input(fmt::format("unexpected word {}", word), "train.py", "--key=value");
    settings.set_text(word.substr(2, equals - 2), value_of(word.substr(equals + 1)),
                      fmt::format("train.py: {}", word.substr(0, equals)));
  }
  return settings;
}

struct Shape {
  std::int64_t layers, heads, width;
};

/// from_pretrained's.
Shape shape_of(Settings& settings) {
  const std::string from = settings.text("init_from").value_or("scratch");
  if (from == "gpt2") return {12, 12, 768};
  if (from == "gpt2-medium") return {24, 16, 1024};
  if (from == "gpt2-large") return {36, 20, 1280};
  if (from == "gpt2-xl") return {48, 25, 1600};
  return {settings.whole("n_layer").value_or(12), settings.whole("n_head").value_or(12),
          settings.whole("n_embd").value_or(768)};
}

/// 50,257 rounded up, unless the data's meta.pkl says otherwise.
std::int64_t vocabulary(Settings& settings) {
  if (settings.text("init_from").value_or("").starts_with("gpt2")) return 50257;
  return settings.text("dataset") == "shakespeare_char" ? 65 : 50304;
}

std::string config_of(Settings& settings) {
  const Shape shape = shape_of(settings);
  const double dropout = settings.number("dropout").value_or(0.0);
  return JsonObject()
      .add("program", "nanoGPT")
      .add("model_type", "gpt2")
      .add("vocab_size", vocabulary(settings))
      .add("n_layer", shape.layers)
      .add("n_head", shape.heads)
      .add("n_embd", shape.width)
      .add("n_positions", settings.whole("block_size").value_or(1024))
      .add("activation_function", "gelu")
      .add("resid_pdrop", dropout)
      .add("embd_pdrop", dropout)
      .add("attn_pdrop", dropout)
      .text();
}

void say_nanogpt(Reading& reading) {
  Settings& settings = reading.settings;
  Translation& translation = reading.translation;
  translation.config = config_of(settings);
  const std::int64_t gpus = reading.command.gpus().value_or(1),
                     accumulated = settings.whole("gradient_accumulation_steps").value_or(40);
  translation.add("framework", gpus > 1 ? "ddp" : "torch");
  reading.add_options();
  translation.add("gradient-accumulation", std::max<std::int64_t>(1, accumulated / gpus));
  translation.add("weights", "fp32");
  translation.add("optimizer", "adamw");
  translation.add("optimizer-impl", "fused");
  const double clip = settings.number("grad_clip").value_or(1.0);
  translation.add("max-grad-norm", clip == 0.0 ? std::string("none") : fmt::format("{}", clip));
  reading.not_modelled(
      "nanoGPT's modules are its own: this is transformers' GPT-2 of that shape in a plain loop");
  if (settings.on("compile", true))
    reading.not_modelled(
        "nanoGPT compiles its model (--compile=False); this is the step as it is without");
}

}  // namespace

const SettingsProgram kNanogpt{.table = data::nanogpt_settings,
                               .say = say_nanogpt,
                               .read = read_nanogpt,
                               .begin = begin_training};

bool looks_like_nanogpt(const LaunchCommand& command) {
  if (command.program != "train.py" || command.arguments.empty()) return false;
  return std::ranges::all_of(command.arguments, [](std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    const auto known = data::nanogpt_settings().names.all();
    return is_config(word) || (word.starts_with("--") && name.size() < word.size() &&
                               std::ranges::find(known, name.substr(2)) != known.end());
  });
}

}  // namespace memtape::launch
