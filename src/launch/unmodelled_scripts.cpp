// SPDX-License-Identifier: Apache-2.0
// Names from transformers 5.17 (examples/pytorch) and trl 1.16 (trl/scripts, examples/scripts).
#include "launch/unmodelled_scripts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memtape::launch {
namespace {

struct Script {
  std::string_view name;  ///< without .py
  std::string_view trains;
};

constexpr std::string_view kTrlHas =
    "sft, dpo, reward, grpo, rloo and kto are modelled, and cpo.py and orpo.py";
constexpr std::string_view kExamplesHas =
    "run_clm.py, run_glue.py, run_qa.py and others are modelled";

constexpr auto kOfTrl = std::to_array<Script>({
    {"rloo_vlm", "RLOOTrainer over a model of images and text"},
    {"bco", "BCOTrainer"},
    {"tpo", "TPOTrainer"},
    {"gkd", "GKDTrainer"},
    {"gold", "GOLDTrainer"},
    {"distillation", "DistillationTrainer"},
    {"online_dpo", "OnlineDPOTrainer"},
    {"online_dpo_vlm", "OnlineDPOTrainer over a model of images and text"},
    {"xpo", "XPOTrainer"},
    {"nash_md", "NashMDTrainer"},
    {"ppo", "PPOTrainer"},
    {"ppo_tldr", "PPOTrainer"},
    {"prm", "PRMTrainer"},
    {"sdft", "SDFTTrainer"},
    {"sdpo", "SDPOTrainer"},
    {"ssd", "SSDTrainer"},
    {"async_grpo", "AsyncGRPOTrainer"},
    {"grpo_2048", "GRPOTrainer with an environment"},
    {"grpo_agent", "GRPOTrainer with tools"},
    {"grpo_continuous_batching", "GRPOTrainer with continuous batching"},
    {"sft_gemma3", "SFTTrainer over a model of images and text"},
    {"sft_gpt_oss", "SFTTrainer over a checkpoint of MXFP4"},
    {"sft_nemotron_3", "SFTTrainer as that script sets it up"},
    {"sft_tiny_aya_tool_calling", "SFTTrainer as that script sets it up"},
    {"sft_vlm", "SFTTrainer over a model of images and text"},
    {"sft_vlm_gemma3", "SFTTrainer over a model of images and text"},
    {"sft_diffusion_gemma", "DiffusionGemmaSFTTrainer"},
    {"dpo_vlm", "DPOTrainer over a model of images and text"},
    {"mpo_vlm", "DPOTrainer over a model of images and text"},
    {"grpo_vlm", "GRPOTrainer over a model of images and text"},
    {"gspo_vlm", "GRPOTrainer over a model of images and text"},
});

constexpr auto kOfTransformers = std::to_array<Script>({
    {"run_qa_beam_search", "XLNet's head for question answering"},
    {"run_plm", "XLNet on permutations of its tokens"},
    {"run_image_classification", "a model of images"},
    {"run_mim", "a model of images"},
    {"run_mae", "a model of images"},
    {"run_clip", "a model of images and text"},
    {"run_object_detection", "a model of images"},
    {"run_instance_segmentation", "a model of images"},
    {"run_semantic_segmentation", "a model of images"},
    {"run_audio_classification", "a model of speech"},
    {"run_speech_recognition_ctc", "a model of speech"},
    {"run_speech_recognition_ctc_adapter", "a model of speech"},
    {"run_speech_recognition_seq2seq", "a model of speech"},
});

constexpr auto kOfNanochat = std::to_array<Script>({
    {"scripts.base_train", "a model of its own with Muon"},
    {"scripts.mid_train", "a model of its own with Muon"},
    {"scripts.chat_sft", "a model of its own with Muon"},
    {"scripts.chat_rl", "a model of its own with Muon"},
});

const Script* find(std::span<const Script> scripts, std::string_view name) {
  const auto found = std::ranges::find(scripts, name, &Script::name);
  return found == scripts.end() ? nullptr : &*found;
}

/// "kto" of kto.py, trl.scripts.kto and `trl kto`.
std::string_view trl_name(const LaunchCommand& command) {
  constexpr std::string_view kModules = "trl.scripts.";
  std::string_view name = command.program;
  if (name == "trl" && command.arguments.empty()) return "";
  if (name == "trl") return command.arguments.front();
  if (name.starts_with(kModules)) return name.substr(kModules.size());
  return name.ends_with(".py") ? name.substr(0, name.size() - 3) : "";
}

/// Unsloth's own programs, and scripts that can be read and import it.
bool uses_unsloth(const LaunchCommand& command) {
  if (command.program.starts_with("unsloth")) return true;
  if (!command.program.ends_with(".py") || !command.files) return false;
  const Result<std::string> text = command.files->read(command.path);
  return text && (text->find("import unsloth") != std::string::npos ||
                  text->find("from unsloth") != std::string::npos);
}

}  // namespace

Result<void> check_script(const LaunchCommand& command) {
  if (uses_unsloth(command))
    return unsupported("Unsloth's own forwards, backwards and offloading are not modelled",
                       command.program, "trl's sft and axolotl are, with the same settings");
  if (const Script* script = find(kOfNanochat, command.program))
    return unsupported(fmt::format("nanochat trains {}, which is not modelled", script->trains),
                       command.program, "nanoGPT's train.py is known");
  const std::string_view name = trl_name(command);
  if (const Script* script = find(kOfTrl, name))
    return unsupported(fmt::format("trl's {} is not modelled", script->trains), command.program,
                       std::string(kTrlHas));
  if (command.program == "trl")
    return bad_input(fmt::format("\"{}\" is no trainer of trl's", name), command.program,
                     std::string(kTrlHas));
  constexpr std::string_view kLoop = "_no_trainer";
  const bool is_loop = name.ends_with(kLoop);
  const std::string_view trainers = is_loop ? name.substr(0, name.size() - kLoop.size()) : name;
  if (const Script* script = find(kOfTransformers, trainers))
    return unsupported(fmt::format("it trains {}, which is not modelled", script->trains),
                       command.program, std::string(kExamplesHas));
  if (is_loop)
    return unsupported("this loop around accelerate is not modelled", command.program,
                       "run_clm_no_trainer.py, run_glue_no_trainer.py and others are");
  return {};
}

}  // namespace memtape::launch
