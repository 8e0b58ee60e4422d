// SPDX-License-Identifier: Apache-2.0
// nanoGPT (train.py, model.py, configurator.py): `python train.py [config/NAME.py] [--key=value]`,
// where a file of assignments and words override the script's own. Its GPT-2 is answered by
// transformers' of the same shape in the plain loop, and that is said.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"
#include "formats/assignments.h"
#include "launch/programs.h"
#include "launch/reading.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

bool is_config(std::string_view word) { return word.ends_with(".py"); }

Result<Settings> read_nanogpt(const LaunchCommand& command, const WordStyle&) {
  Settings settings;
  for (const std::string& word : command.arguments) {
    if (is_config(word)) {
      Result<std::string> text = command.files->read(word);
      const auto shipped = meaning_of(word.substr(word.rfind('/') + 1), data::nanogpt_configs());
      if (!text && shipped.empty()) return tl::unexpected(text.error());
      if (!text) text = std::string(shipped), std::ranges::replace(*text, ';', '\n');
      set_assignments(*text, word, settings);
      continue;
    }
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string::npos)
      return bad_input(fmt::format("unexpected word {}", word), "train.py", "--key=value");
    settings.set_text(word.substr(2, equals - 2), python_value(word.substr(equals + 1)),
                      fmt::format("train.py: {}", word.substr(0, equals)));
  }
  return settings;
}

/// A model of its own, or of a checkpoint. The vocabulary is 50,257 rounded up, unless the data's
/// meta.pkl says otherwise.
std::string config_of(Reading& reading) {
  Settings& settings = reading.settings;
  const std::string from = settings.text("init_from").value_or("scratch");
  const auto sizes = parts_between(meaning_of(from, data::nanogpt_checkpoints()), ' ');
  for (std::size_t i = 0; i < sizes.size(); ++i)
    settings.set_text(std::array{"n_layer", "n_head", "n_embd"}[i], std::string(sizes[i]), from);
  const bool of_letters = settings.text("dataset") == "shakespeare_char";
  const double dropout = settings.number("dropout").value_or(0.0);
  return reading.members("shape")
      .add("program", "nanoGPT")
      .add("model_type", "gpt2")
      .add("vocab_size", from.starts_with("gpt2") ? 50257
                         : of_letters             ? 65
                                                  : 50304)
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
  translation.config = config_of(reading);
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
