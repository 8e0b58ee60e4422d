// SPDX-License-Identifier: Apache-2.0
#include "workload/train_options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "workload/framework.h"

namespace memtape {
namespace {

using option::Choice;
using option::Group;
using option::OnOff;
using option::Option;
using option::put;
using option::Real;
using option::Said;
using option::unusable;
using option::Whole;

// Names in the order of their enumerations.
/// Behind those of Precision those of LowBits.
constexpr auto kPrecisions = std::to_array<std::string_view>(
    {"fp32", "bf16", "fp16", "amp-bf16", "amp-fp16", "fp8", "mxfp8", "nvfp4"});
constexpr auto kOptimizers =
    std::to_array<std::string_view>({"adamw", "adam", "sgd", "sgd-momentum", "adagrad", "rmsprop",
                                     "adamax", "nadam", "adafactor", "adafactor-hf"});
constexpr auto kImpls = std::to_array<std::string_view>({"fused", "foreach", "for-loop"});
constexpr auto kCheckpointings =
    std::to_array<std::string_view>({"none", "full", "full-reentrant", "selective", "layer"});
constexpr auto kAttentions = std::to_array<std::string_view>({"eager", "sdpa", "flash"});
constexpr auto kTasks = std::to_array<std::string_view>(
    {"causal-lm", "masked-lm", "seq2seq-lm", "image-text-to-text", "image-classification",
     "zero-shot-image-classification", "speech-seq2seq", "sequence-classification",
     "token-classification", "question-answering", "multiple-choice"});
constexpr auto kInitDevices = std::to_array<std::string_view>({"cuda", "cpu", "meta"});
constexpr auto kWeights = std::to_array<std::string_view>({"fp32", "bf16", "fp16"});
constexpr auto kMasks = std::to_array<std::string_view>({"default", "none"});
constexpr auto kOffloads = std::to_array<std::string_view>({"none", "optimizer", "all"});

/// Fewer bits are those of products alone, beside parameters of bf16 or, under torchtitan, float32.
Result<void> set_precision(const Said& said, TrainRecipe& recipe) {
  constexpr int kFirstLow = static_cast<int>(Precision::amp_fp16) + 1;
  recipe.low_bits.reset();
  const int low = static_cast<int>(said.as<Precision>()) - kFirstLow;
  if (low < 0) return put<&TrainRecipe::precision>(said, recipe);
  if (low >= recipe.framework->takes.low_bits)
    return unsupported(fmt::format("{} is modelled for Megatron{} alone", said.text,
                                   low < 2 ? " and torchtitan" : ""),
                       "--precision", "--framework megatron-core, or bf16");
  recipe.precision = Precision::bf16;
  recipe.low_bits = static_cast<LowBits>(low);
  return {};
}

Result<void> set_checkpointing(const Said& said, TrainRecipe& recipe) {
  const auto chosen = said.as<Checkpointing>();
  if (chosen == Checkpointing::selective && !recipe.framework->takes.selective_checkpointing)
    return unusable(said.name(), said.text,
                    "none or full; selective is Megatron-LM's and torchtitan's");
  if (chosen == Checkpointing::layer && !recipe.framework->takes.layer_checkpointing)
    return unusable(said.name(), said.text, "none or full; layer is for --framework torch-pp");
  recipe.checkpointing = chosen;
  return {};
}

Result<void> set_weights(const Said& said, TrainRecipe& recipe) {
  constexpr std::array kTypes{DType::float32, DType::bfloat16, DType::float16};
  recipe.weights = kTypes[static_cast<std::size_t>(said.whole())];
  return {};
}

/// The word is worst.
Result<void> set_imbalance(const Said& said, TrainRecipe& recipe) {
  recipe.expert_load = {};
  recipe.expert_load.worst = std::holds_alternative<std::monostate>(said.value);
  if (!recipe.expert_load.worst) recipe.expert_load.imbalance = said.real();
  return {};
}

/// --with: releases by the names of their packages.
Result<void> set_releases(const Said& said, TrainRecipe& recipe) {
  if (said.text == "none") return {};
  const std::string where = "--" + std::string(said.name());
  auto named = parse_requirement_list(std::string(said.text), where, recipe.release);
  if (!named) return tl::unexpected(named.error());
  recipe.release = named->release;
  recipe.releases_from = where;
  for (const Package package : named->named)
    if (std::ranges::find(recipe.named_releases, package) == recipe.named_releases.end())
      recipe.named_releases.push_back(package);
  for (const std::string& package : named->ignored)
    recipe.assumed.push_back("the release of " + package + " changes nothing that is known here");
  return {};
}

/// --transformers-version and its kin: one package's release.
template <Package package>
Result<void> set_release_of(const Said& said, TrainRecipe& recipe) {
  if (package == Package::litgpt && recipe.framework->name != facts_of(package).name)
    return bad_input("which litgpt", "--litgpt-version", "it needs --framework litgpt");
  if (!Version::parse(said.text))
    return unusable(said.name(), said.text, "a version such as 4.48 or 5.17");
  const std::string list = std::string(facts_of(package).name) + "==" + std::string(said.text);
  return set_releases({said.option, list, said.value}, recipe);
}

/// litgpt's own --quantize; "bnb." may be left out.
Result<void> set_quantize(const Said& said, TrainRecipe& recipe) {
  if (said.text == "none") return {};
  constexpr auto kModes =
      std::to_array<std::string_view>({"bnb.nf4", "bnb.nf4-dq", "bnb.fp4", "bnb.fp4-dq"});
  const std::string mode = (said.text.starts_with("bnb.") ? "" : "bnb.") + std::string(said.text);
  if (std::ranges::find(kModes, mode) == kModes.end())
    return unusable(said.name(), said.text, suggestion(said.text, kModes));
  recipe.quantization.emplace().double_quant = mode.ends_with("-dq");
  return {};
}

LoraRecipe& lora(TrainRecipe& recipe) { return recipe.lora ? *recipe.lora : recipe.lora.emplace(); }

Result<void> set_lora_targets(const Said& said, TrainRecipe& recipe) {
  lora(recipe).targets = split_at_commas(said.text);
  if (!recipe.lora->targets.empty()) return {};
  return unusable(said.name(), said.text, "module names with commas between, or all-linear");
}

/// The framework's own options, which it reads itself.
Result<void> set_strategy(const Said& said, TrainRecipe& recipe) {
  if (said.text.empty() || !recipe.framework->strategy) return {};
  return recipe.framework->strategy(said.text, recipe);
}

/// Negative: the first layers.
Result<void> set_trained_layers(const Said& said, TrainRecipe& recipe) {
  const bool first = said.text.starts_with('-');
  const auto count = option::read_whole(said.name(), said.text.substr(first ? 1 : 0), Whole{});
  if (!count) return tl::unexpected(count.error());
  constexpr std::int64_t kMost = 10'000;
  const auto layers = static_cast<std::int16_t>(std::min(*count, kMost));
  recipe.program.trained_layers = first ? static_cast<std::int16_t>(-layers) : layers;
  return {};
}

constexpr Group kHardware("Hardware"), kStep("The step"), kReleases("Releases"),
    kModel("Model and adapters"), kLayout("Layout over GPUs"), kMany("Many at once"),
    kLora(kModel.of("peft/tuners/lora/config.py")),
    kMegatron(kLayout.of("megatron/training/arguments.py")),
    kZero(kLayout.of("deepspeed/runtime/zero/config.py")),
    kLlamaFactory(kModel.of("llamafactory/hparams/finetuning_args.py"));
constexpr std::string_view kOfFramework = "the framework's";
constexpr Whole kCount{}, kTokens{.unit = option::Unit::tokens},
    kBytes{.least = 0, .most = std::int64_t{1} << 62, .unit = option::Unit::bytes};

using R = TrainRecipe;
using L = LayoutRecipe;

constexpr auto kOptions = std::to_array<TrainOption>({
    {{"--gpu", "NAME", "the GPU to judge against (memtape gpus lists them)", kHardware}},
    {Option{"--gpus", "N", "how many of them", kHardware, kCount,
            "as many as the sizes of the layout take"}
         .people_say("--num-gpus --nproc-per-node"),
     put<&R::layout, &L::gpus>},
    {Option{"--gpu-memory-bytes", "N", "total memory of the GPU, instead of the catalog's figure",
            kHardware, kBytes}
         .people_say("--memory --vram")},
    {{"--context-bytes", "N", "memory of the CUDA context, instead of the catalog's figure",
      kHardware, kBytes}},
    {{"--driver-placement", "{linux,first-fit}", "where the driver puts segments", kHardware,
      option::Text{}, "linux"}},

    {Option{"--framework", "NAME", "whose training loop: {}", kStep, {}, "torch"}.people_say(
        "--engine")},
    {Option{"--trainer", "NAME",
            "which of transformers' and trl's trainers: {}; none is a loop around accelerate",
            kStep}
         .people_say("--trainer-class")},
    {{"--task", "NAME", "what is trained for: {}",
      kStep.of("transformers/models/auto/modeling_auto.py"), Choice{kTasks}, "the model's"},
     put_named<&R::names_task, &R::task>},
    {Option{"--micro-batch-size", "N", "sequences per GPU and forward pass",
            kStep.of("torch.utils.data.DataLoader(batch_size)"), kCount, kOfFramework}
         .people_say("--batch-size --batch --bs --mbs"),
     put<&R::micro_batch_size>},
    {Option{"--sequence-length", "N", "tokens per sequence", kStep, kTokens,
            "2048, or as many as the model has positions"}
         .people_say("--seq --seq-len --seq-length --seqlen --max-length --max-seq-length "
                     "--context --context-length --ctx"),
     put_named<&R::names_sequence_length, &R::sequence_length>},
    {{"--target-length", "N", "labels per sequence of an encoder-decoder", kStep, kTokens,
      "as many as tokens"},
     put<&R::target_length>},
    {{"--num-labels", "N", "classes of a classifier",
      kStep.of("transformers/configuration_utils.py"), kCount, "the configuration's, else 2"},
     put<&R::num_labels>},
    {Option{"--gradient-accumulation", "N", "micro-batches per optimizer step", kStep, kCount, "1"}
         .people_say("--ga --grad-accum"),
     put_named<&R::names_gradient_accumulation, &R::gradient_accumulation>},
    {Option{"--global-batch-size", "N",
            "sequences per optimizer step on all GPUs, in place of --gradient-accumulation",
            kStep.of("megatron/training/arguments.py"), kCount}
         .people_say("--gbs"),
     put<&R::global_batch_size>},
    {Option{"--precision", "NAME", "what is computed in: {}", kStep.of("torch.autocast"),
            Choice{kPrecisions}, kOfFramework}
         .people_say("--dtype --fp8"),
     set_precision},
    {Option{"--optimizer", "NAME|...", "{}; of Trainer those of its --optim, too, like adamw-8bit",
            kStep.of("torch.optim"), Choice{kOptimizers}, kOfFramework}
         .people_say("--optim"),
     put<&R::optimizer>},
    {{"--optimizer-impl", "{fused,foreach,for-loop}", "which of torch's implementations",
      kStep.of("torch.optim"), Choice{kImpls}, "the optimizer's"},
     put_named<&R::names_optimizer_impl, &R::optimizer_impl>},
    {Option{"--max-grad-norm", "{X,none}", "clip gradients to this norm",
            kStep.of("torch.nn.utils.clip_grad_norm_"), Real{}, kOfFramework}
         .or_word("none"),
     put<&R::max_grad_norm>},
    {Option{"--gradient-checkpointing", "{none,full,full-reentrant}", "what is recomputed",
            kStep.of("torch.utils.checkpoint"), Choice{kCheckpointings}, kOfFramework}
         .people_say("--checkpointing --activation-checkpointing"),
     set_checkpointing},
    {Option{"--attention", "{eager,sdpa,flash}", "the attention implementation",
            kStep.of("transformers/modeling_utils.py: attn_implementation"), Choice{kAttentions},
            "sdpa"}
         .people_say("--attn-implementation --flash-attention"),
     put_named<&R::names_attention, &R::attention>},
    {{"--attention-mask", "{default,none}", "whether the batch carries a mask", kStep,
      Choice{kMasks}, "default"},
     option::put_is<0, &R::batch_has_mask>},
    {Option{"--imbalance", "{X,worst}", "tokens of the fullest expert over the mean", kStep,
            Real{1.0}, "1"}
         .or_word("worst"),
     set_imbalance},
    {{"--compile", "", "torch.compile(model) before the first step", kStep.of("torch.compile"),
      OnOff{}},
     put<&R::compile>},
    {{"--loss", "{torch,liger,chunked}", "how the cross entropy is computed", kStep, {}, "torch"}},

    {{"--weights", "{fp32,bf16,fp16}", "dtype of the parameters",
      kModel.of("transformers/modeling_utils.py: dtype"), Choice{kWeights}, "follows --precision"},
     set_weights},
    {{"--quantize", "NAME", "none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16",
      kModel.of("litgpt/finetune/lora.py"), option::Text{}, "none"},
     set_quantize},
    {Option{"--qlora", "",
            "QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit "
            "AdamW, checkpointing (Trainer)",
            kModel, OnOff{}}
         .people_say("--load-in-4bit --4bit")},
    {Option{"--quantization", "JSON|FILE", "the quantization library's own configuration",
            kModel.of("transformers/utils/quantization_config.py")}
         .decides("--quantize")},
    {Option{"--lora-rank", "N", "train LoRA adapters of this rank instead of the weights", kLora,
            kCount}
         .people_say("--lora --rank-lora --lora-r --r"),
     put<&R::lora, &LoraRecipe::rank>},
    {{"--lora-targets", "a,b,c|all-linear", "the modules that get an adapter", kLora},
     set_lora_targets},
    {{"--lora-dropout", "X", "dropout before the adapter", kLora, Real{0.0, 1.0}, "0"},
     put<&R::lora, &LoraRecipe::dropout>},
    {Option{"--peft", "JSON|FILE", "a LoraConfig", kLora}.decides(
        "--lora-rank --lora-targets --lora-dropout")},
    {Option{"--as-family", "NAME", "an unknown MODEL as a family of its sizes: an estimate", kModel}
         .taken_by(option::kOfLaunch)},
    {Option{"--freeze", "GLOB", "parameters that are not trained; may be repeated", kModel}
         .adds_up(),
     put<&R::freeze>},
    {{"--train-last-layers", "N", "train the last N layers alone (-N: the first)", kLlamaFactory},
     set_trained_layers},
    {{"--upcast-trained", "{true,false}", "cast what --train-last-layers trains to fp32",
      kLlamaFactory, OnOff{}},
     put<&R::program, &ProgramRecipe::upcasts_trained>},

    {{"--with", "PACKAGE==VERSION,...",
      "the releases meant, like torch==2.8.0,transformers==4.57.6; none: the newest known",
      kReleases, option::Text{}, "those of the active Python environment, else the newest known"},
     set_releases},
    {Option{"--real", "{never,auto,always}",
            "run the real step on a phantom GPU instead of predicting it: always, or where "
            "releases are not known",
            kReleases, option::Text{}, "never"}
         .taken_by(option::kOfLaunch)},
    {{"--requirements", "FILE",
      "a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them", kReleases}},
    {{"--python", "PATH", "an interpreter or environment that has them installed (verify runs it)",
      kReleases}},
    {{"--transformers-version", "X.Y", "the same as --with transformers==X.Y", kReleases},
     set_release_of<Package::transformers>},
    {{"--litgpt-version", "X.Y", "the same as --with litgpt==X.Y", kReleases},
     set_release_of<Package::litgpt>},

    {{"--dp", "N", "data parallel size", kLayout.of("torch.nn.parallel.DistributedDataParallel"),
      kCount, "what the other sizes leave of --gpus"},
     put<&R::layout, &L::dp>},
    {{"--zero", "{0,1,2,3}", "ZeRO stage", kZero, Whole{0, 3}, kOfFramework},
     put<&R::layout, &L::zero>},
    {{"--tp", "N", "tensor parallel size", kMegatron, kCount, "1"}, put<&R::layout, &L::tp>},
    {{"--sp", "N", "sequence parallel size", kLayout, kCount, "1"}, put<&R::layout, &L::sp>},
    {{"--pp", "N", "pipeline stages", kMegatron, kCount, "1"}, put<&R::layout, &L::pp>},
    {{"--vpp", "N", "virtual stages per pipeline rank", kMegatron, kCount, "1"},
     put<&R::layout, &L::vpp>},
    {{"--schedule", "NAME", "pipeline schedule",
      kLayout.of("torch/distributed/pipelining/schedules.py"), option::Text{}, kOfFramework},
     put<&R::layout, &L::schedule>},
    {{"--cp", "N", "context parallel size", kMegatron, kCount, "1"}, put<&R::layout, &L::cp>},
    {{"--ep", "N", "expert parallel size", kMegatron, kCount, "1"}, put<&R::layout, &L::ep>},
    {{"--etp", "N", "tensor parallel size inside an expert", kMegatron, kCount},
     put<&R::layout, &L::etp>},
    {{"--offload", "{none,optimizer,all}", "what is held in host memory", kZero, Choice{kOffloads},
      "none"},
     put<&R::layout, &L::offload>},
    {{"--init-device", "{cuda,cpu,meta}", "where the model is made before it is wrapped",
      kLayout.of("torch.device"), Choice{kInitDevices}, kOfFramework},
     put<&R::init_device>},
    {Option{"--rank", "R|all", "which rank to report", kLayout, Whole{.least = 0}, "all"}
         .or_word("all")
         .taken_by(option::kOfLaunch),
     put<&R::layout, &L::rank>},
    {{"--strategy", "JSON|FILE", "the framework's own options by their own names", kLayout},
     set_strategy},

    {Option{"--solve", "{micro-batch-size,sequence-length,lora-rank,gpus}",
            "the largest that fits on --gpu; of gpus the fewest", kMany}
         .taken_by(option::kTrainAlone)},
    {Option{"--grid", "\"A=1,2 B=3,4\"", "what each pair of the values of two options needs", kMany}
         .taken_by(option::kOfLaunch)},
    {Option{"--compare", "GPU,...", "the same on each of these, like rtx-4090,4xa100-80gb", kMany}
         .taken_by(option::kTrainAlone)},
    {Option{"--price", "X|GPU=X,...", "an hour of one GPU, beside --compare", kMany}.taken_by(
        option::kOfLaunch)},
});

template <class E, std::size_t n>
std::string_view name_of(E value, const std::array<std::string_view, n>& names) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view TrainOption::default_in(const Release& release) const {
  for (const auto& [change, text] : earlier)
    if (!release.has(change)) return text;
  return default_text;
}

std::span<const TrainOption> train_options() { return kOptions; }

const TrainOption* find(std::span<const TrainOption> rows, std::string_view name) {
  const auto at = std::ranges::find(rows, name, &TrainOption::name);
  return at == rows.end() ? nullptr : &*at;
}

Result<void> tell(const TrainOption& option, std::string_view text, TrainRecipe& recipe) {
  // A variable of a shell that stands for something without effect may be anything.
  if (!option.set && (text == option.default_text || text.starts_with('$'))) return {};
  const Result<option::Value> value = option::read(option, text);
  if (!value) return tl::unexpected(value.error());
  return option.set ? option.set({option, text, *value}, recipe) : Result<void>();
}

std::string_view name(Precision precision) { return name_of(precision, kPrecisions); }
std::string_view name(OptimizerName optimizer) { return name_of(optimizer, kOptimizers); }
std::string_view name(OptimizerImpl impl) { return name_of(impl, kImpls); }
std::string_view name(Checkpointing checkpointing) {
  return name_of(checkpointing, kCheckpointings);
}
std::string_view name(AttentionChoice attention) { return name_of(attention, kAttentions); }
std::string_view name(InitDevice device) { return name_of(device, kInitDevices); }
std::string_view name(Task task) { return name_of(task, kTasks); }

}  // namespace memtape
