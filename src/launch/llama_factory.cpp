// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory (0.9.5): `llamafactory-cli train cfg.yaml [name=value ...]`, or with --name value.
// Its Trainer differs by what it does to the model first (model/adapter.py, model_utils/
// checkpointing.py): the model is loaded in the compute dtype, what is trained is cast to float32
// unless pure_bf16, and checkpointing is on.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_object.h"
#include "launch/python_arguments.h"
#include "launch/setting_names.h"
#include "launch/setting_rows.h"
#include "launch/trainer_program.h"

namespace memtape::launch {
namespace {

std::vector<std::string_view> neutral_names() {
  std::vector<std::string_view> names = training_argument_fields();
  const KnownNames known = data::llama_factory_names();
  names.insert(names.end(), known.neutral.begin(), known.neutral.end());
  return names;
}

bool is_file(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

/// cfg.yaml and name=value words after it, or flags.
Result<Settings> read_factory_arguments(const LaunchCommand& command) {
  const std::vector<std::string>& words = command.arguments;
  if (words.empty() || !is_file(words.front())) {
    std::vector<std::string_view> names = training_argument_fields();
    for (const std::string_view name : data::llama_factory_names().all()) names.push_back(name);
    return read_python_arguments(
        words, {.name = "llamafactory-cli train", .names = names, .on_by_default = {}});
  }
  const Result<std::string> text = command.files->read(words.front());
  if (!text) return tl::unexpected(text.error());
  Result<Settings> settings = read_settings(*text, words.front());
  if (!settings) return settings;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos)
      return bad_input(fmt::format("unexpected word {}", words[i]), "llamafactory-cli train",
                       "name=value after the file");
    const Result<YamlNode> value =
        read_yaml_mapping(fmt::format("v: {}", words[i].substr(equals + 1)), words[i]);
    if (!value) return tl::unexpected(value.error());
    settings->set({.name = words[i].substr(0, equals),
                   .value = value->children.front(),
                   .where = fmt::format("llamafactory-cli train: {}", words[i])});
  }
  return settings;
}

void add_flash_attention(Settings& settings, Translation& translation) {
  constexpr auto kKernels = std::to_array<Word>(
      {{"auto", ""}, {"disabled", "eager"}, {"sdpa", "sdpa"}, {"fa2", "flash"}, {"fa3", "flash"}});
  const std::string ours = in_our_words("flash_attn", kKernels, settings).value_or("");
  if (!ours.empty()) translation.add("attention", ours);
}

/// "q_proj,v_proj" or a list of them; "all" is peft's all-linear.
std::vector<std::string> names_in(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words)
    for (std::size_t at = 0; at <= word.size();) {
      const std::size_t comma = std::min(word.find(',', at), word.size());
      const std::size_t begin = std::min(word.find_first_not_of(' ', at), comma);
      if (begin < comma) names.push_back(word.substr(begin, comma - begin));
      at = comma + 1;
    }
  return names;
}

/// finetuning_type freeze: whole layers, which are cast as all is in full.
void add_trained_layers(Settings& settings, Translation& translation) {
  const std::vector<std::string> modules = names_in(settings.words("freeze_trainable_modules"));
  if (!modules.empty() && modules.front() != "all")
    settings.fail(*settings.find("freeze_trainable_modules"),
                  "training some modules of a layer is not modelled", "all");
  translation.add("train-last-layers", settings.whole("freeze_trainable_layers").value_or(2));
  if (!settings.on("pure_bf16")) translation.add("upcast-trained", "true");
}

void add_finetuning(Settings& settings, Translation& translation) {
  constexpr auto kTypes = std::to_array<std::string_view>({"lora", "full", "freeze", "oft"});
  const std::string type = settings.choice("finetuning_type", kTypes).value_or("lora");
  const bool half = settings.on("bf16") || settings.on("pure_bf16"), fp16 = settings.on("fp16");
  const std::string compute = half ? "bf16" : fp16 ? "fp16" : "fp32";
  if (type == "oft")
    settings.fail(*settings.find("finetuning_type"), "OFT's adapters are not modelled",
                  "lora, freeze or full");
  translation.add("weights", type == "full" && !settings.on("pure_bf16") ? "fp32" : compute);
  if (type == "freeze") add_trained_layers(settings, translation);
  if (type != "lora") return;
  add_default(translation, "ddp_find_unused_parameters", "false");  // hparams/parser.py
  std::vector<std::string> targets = names_in(settings.words("lora_target"));
  if (targets.empty() || targets.front() == "all") targets = {"all-linear"};
  const std::int64_t rank = settings.whole("lora_rank").value_or(8);
  add_lora({.rank = rank,
            .alpha = settings.number("lora_alpha").value_or(2.0 * static_cast<double>(rank)),
            .use_rslora = settings.on("use_rslora"),
            .dropout = settings.number("lora_dropout").value_or(0.0),
            .targets = std::move(targets),
            .modules_to_save = names_in(settings.words("additional_target")),
            .rank_pattern = {},
            .layers_to_transform = {},
            .use_dora = settings.on("use_dora")},
           translation);
  const std::optional<std::int64_t> bits = settings.whole("quantization_bit");
  if (!bits) return;
  if (*bits != 4 && *bits != 8)
    settings.fail(*settings.find("quantization_bit"), "only 4 and 8 bits are modelled", "4");
  add_quantization({.bits = static_cast<int>(*bits),
                    .double_quant = settings.on("double_quantization", true),
                    .type = settings.text("quantization_type").value_or("nf4"),
                    .compute_dtype = half   ? "bfloat16"
                                     : fp16 ? "float16"
                                            : "float32"},
                   translation);
  translation.add("prepare_model_for_kbit_training", "false");
}

/// An optimizer with projected gradients, and the settings of its own beside what `optim` says.
struct LowRank {
  std::string_view name;
  std::vector<std::string_view> arguments;  ///< NAME_argument is the optimizer's argument
};

/// What LLaMA-Factory makes of `optim`; it refuses others, transformers' default for torch from 2.8
/// on among them.
std::optional<std::string> low_rank_optimizer(std::string_view name, std::string_view optim) {
  if (optim == "adamw_torch") return fmt::format("{}_adamw", name);
  if (name == "apollo") return std::nullopt;
  if (optim == "adamw_bnb_8bit" || optim == "adamw_8bit" || optim == "paged_adamw_8bit")
    return "galore_adamw_8bit";
  if (optim == "adafactor") return "galore_adafactor";
  return std::nullopt;
}

/// use_galore, use_apollo (train/trainer_utils.py): Trainer's optimizers of that name, with the
/// head left out of all linear layers.
void add_low_rank(Settings& settings, const LowRank& low_rank, Translation& translation) {
  const std::string prefix = fmt::format("{}_", low_rank.name);
  const std::string optim = settings.text("optim").value_or("adamw_torch");
  const std::optional<std::string> optimizer = low_rank_optimizer(low_rank.name, optim);
  if (!optimizer)
    return settings.fail(*settings.find("optim"),
                         fmt::format("LLaMA-Factory knows no {} of \"{}\"", low_rank.name, optim),
                         "adamw_torch");
  if (!settings.find("optim"))
    translation.remarks.warnings.push_back(fmt::format(
        "optim is taken to be adamw_torch: with {} LLaMA-Factory refuses transformers' default",
        low_rank.name));
  std::erase_if(translation.options, [](const auto& o) { return o.first == "optim"; });
  const bool layerwise = settings.on(prefix + "layerwise");
  translation.add("optim", *optimizer + (layerwise ? "_layerwise" : ""));
  std::vector<std::string> targets = names_in(settings.words(prefix + "target"));
  if (targets.empty() || targets.front() == "all") targets = {"."};  // the head's name has no dot
  translation.add("optim_target_modules", json_list(targets));
  std::vector<std::string> arguments{
      fmt::format("rank={}", settings.whole(prefix + "rank").value_or(16)),
      fmt::format("update_proj_gap={}", settings.whole(prefix + "update_interval").value_or(200))};
  for (const std::string_view name : low_rank.arguments)
    if (const auto value = settings.text(prefix + std::string(name)))
      arguments.push_back(fmt::format("{}={}", name, *value));
  translation.add("optim_args", fmt::format("{}", fmt::join(arguments, ",")));
}

void add_factory_optimizer(Settings& settings, Translation& translation) {
  if (settings.on("use_galore"))
    add_low_rank(settings, {.name = "galore", .arguments = {"scale", "proj_type"}}, translation);
  if (settings.on("use_apollo"))
    add_low_rank(settings,
                 {.name = "apollo", .arguments = {"scale", "proj", "proj_type", "scale_type"}},
                 translation);
}

/// CustomDPOTrainer; `pref_loss` says whether there is a reference.
void add_preference(Settings& settings, Translation& translation) {
  translation.add("trainer", "llama-factory-dpo");
  translation.add("pref_loss", settings.text("pref_loss").value_or("sigmoid"));
}

void add_factory_checkpointing(Settings& settings, Translation& translation) {
  if (settings.on("disable_gradient_checkpointing")) return;
  std::erase_if(translation.options, [](const auto& o) {
    return o.first == "gradient_checkpointing" || o.first == "gradient_checkpointing_kwargs";
  });
  translation.add("gradient_checkpointing", "true");
  translation.add("gradient_checkpointing_kwargs",
                  JsonObject().add("use_reentrant", settings.on("use_reentrant_gc", true)).text());
}

}  // namespace

Result<Translation> translate_llama_factory(const LaunchCommand& command) {
  Result<Settings> settings = read_factory_arguments(command);
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  const KnownNames known = data::llama_factory_names();
  const std::vector<std::string_view> neutral = neutral_names();
  translation->remarks.add(
      settings->check_names({known.modelled, known.not_modelled, neutral, known.refused}));
  if (settings->failure()) return tl::unexpected(*settings->failure());
  constexpr auto kStages =
      std::to_array<std::string_view>({"pt", "sft", "rm", "ppo", "dpo", "kto"});
  const std::string stage = settings->choice("stage", kStages).value_or("sft");
  if (stage == "ppo")
    return unsupported("stage ppo is not modelled", settings->find("stage")->where,
                       "sft, pt, rm, dpo or kto");
  const std::optional<std::string> model = settings->text("model_name_or_path");
  if (!model)
    return bad_input("no model is named", "llamafactory-cli train", "model_name_or_path: MODEL");
  translation->model = *model;
  if (stage == "dpo") add_preference(*settings, *translation);
  if (stage == "kto" || stage == "rm") translation->add("trainer", "llama-factory-" + stage);
  if (const auto done = add_training_arguments(*settings, *translation); !done)
    return tl::unexpected(done.error());
  add_factory_optimizer(*settings, *translation);
  add_finetuning(*settings, *translation);
  add_flash_attention(*settings, *translation);
  add_factory_checkpointing(*settings, *translation);
  if (settings->on("enable_liger_kernel")) translation->add("use_liger_kernel", "true");
  translation->add("sequence-length", settings->whole("cutoff_len").value_or(2048));
  if (!settings->on("packing") && stage != "pt")
    translation->remarks.warnings.emplace_back(
        "sequences are padded to the longest of their batch; all are taken to be cutoff_len long");
  if (settings->failure()) return tl::unexpected(*settings->failure());
  return translation;
}

}  // namespace memtape::launch
