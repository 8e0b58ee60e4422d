// SPDX-License-Identifier: Apache-2.0
#include "answer/train_options.h"

#include <algorithm>
#include <array>
#include <string>

namespace memtape::answer {
namespace {

constexpr std::string_view kHardware = "Hardware";
constexpr std::string_view kStepGroup = "The step";
constexpr std::string_view kReleases = "Releases";
constexpr std::string_view kModel = "Model and adapters";
constexpr std::string_view kLayout = "Layout over GPUs";

constexpr std::string_view kMany = "Many at once";

constexpr auto kTrainOptions = std::to_array<NamedOption>({
    {"gpu", "NAME", "the GPU to judge against (memtape gpus lists them)", kHardware},
    {"gpus", "N", "how many of them (as many as the sizes of the layout take)", kHardware},
    {"gpu-memory-bytes", "N", "total memory of the GPU, instead of the catalog's figure",
     kHardware},
    {"context-bytes", "N", "memory of the CUDA context, instead of the catalog's figure",
     kHardware},
    {"driver-placement", "{linux,first-fit}", "where the driver puts segments", kHardware},

    {"framework", "NAME",
     "torch, transformers (Trainer, with its TrainingArguments), ddp, fsdp1, fsdp2, deepspeed, "
     "torch-tp, torch-pp, torch-cp, litgpt, megatron-core, torchtitan",
     kStepGroup},
    {"trainer", "{trainer,sft,dpo,...,llama-factory-dpo,none}",
     "which of transformers' and trl's trainers; none: a loop around accelerate", kStepGroup},
    {"task", "NAME", "causal-lm, masked-lm, seq2seq-lm, sequence-classification, ...", kStepGroup},
    {"micro-batch-size", "N", "sequences per GPU and forward pass", kStepGroup},
    {"sequence-length", "N",
     "tokens per sequence; else 2048, or as many as the model has positions", kStepGroup},
    {"target-length", "N", "labels per sequence of an encoder-decoder (as many as tokens)",
     kStepGroup},
    {"num-labels", "N", "classes of a classifier (the configuration's, else 2)", kStepGroup},
    {"gradient-accumulation", "N", "micro-batches per optimizer step (1)", kStepGroup},
    {"global-batch-size", "N",
     "sequences per optimizer step on all GPUs, in place of --gradient-accumulation", kStepGroup},
    {"precision", "NAME", "fp32, bf16, fp16, amp-bf16, amp-fp16", kStepGroup},
    {"optimizer", "NAME",
     "adamw, adam, sgd, sgd-momentum, adafactor, adamw-8bit, paged-adamw-8bit, ...", kStepGroup},
    {"optimizer-impl", "{fused,foreach,for-loop}", "which of torch's implementations", kStepGroup},
    {"max-grad-norm", "{X,none}", "clip gradients to this norm", kStepGroup},
    {"gradient-checkpointing", "{none,full,full-reentrant}", "what is recomputed", kStepGroup},
    {"attention", "{eager,sdpa,flash}", "the attention implementation", kStepGroup},
    {"attention-mask", "{default,none}", "whether the batch carries a mask", kStepGroup},
    {"imbalance", "{X,worst}", "tokens of the fullest expert over the mean (1)", kStepGroup},
    {"compile", "", "torch.compile(model) before the first step", kStepGroup},
    {"loss", "{torch,liger,chunked}", "how the cross entropy is computed", kStepGroup},

    {"weights", "{fp32,bf16,fp16}", "dtype of the parameters (follows --precision)", kModel},
    {"quantize", "NAME", "none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16", kModel},
    {"qlora", "",
     "QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit AdamW, "
     "checkpointing (Trainer)",
     kModel},
    {"quantization", "JSON|FILE", "the quantization library's own configuration", kModel},
    {"lora-rank", "N", "train LoRA adapters of this rank instead of the weights", kModel},
    {"lora-targets", "a,b,c|all-linear", "the modules that get an adapter", kModel},
    {"lora-dropout", "X", "dropout before the adapter", kModel},
    {"peft", "JSON|FILE", "a LoraConfig", kModel},
    {"freeze", "GLOB", "parameters that are not trained; may be repeated", kModel, true},
    {"train-last-layers", "N", "train the last N layers alone (-N: the first)", kModel},
    {"upcast-trained", "{true,false}", "cast what --train-last-layers trains to fp32", kModel},

    {"with", "PACKAGE==VERSION,...",
     "the releases meant, like torch==2.8.0,transformers==4.57.6 (else those of the active Python "
     "environment, else the newest known; none: those)",
     kReleases},
    {"real", "{never,auto,always}",
     "run the real step on a phantom GPU instead of predicting it: always, or where releases are "
     "not known (never)",
     kReleases},
    {"requirements", "FILE",
     "a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them", kReleases},
    {"python", "PATH", "an interpreter or environment that has them installed (verify runs it)",
     kReleases},
    {"transformers-version", "X.Y", "the same as --with transformers==X.Y", kReleases},
    {"litgpt-version", "X.Y", "the same as --with litgpt==X.Y", kReleases},

    {"dp", "N", "data parallel size", kLayout},
    {"zero", "{0,1,2,3}", "ZeRO stage", kLayout},
    {"tp", "N", "tensor parallel size", kLayout},
    {"sp", "N", "sequence parallel size", kLayout},
    {"pp", "N", "pipeline stages", kLayout},
    {"vpp", "N", "virtual stages per pipeline rank", kLayout},
    {"schedule", "NAME", "pipeline schedule", kLayout},
    {"cp", "N", "context parallel size", kLayout},
    {"ep", "N", "expert parallel size", kLayout},
    {"etp", "N", "tensor parallel size inside an expert", kLayout},
    {"offload", "{none,optimizer,all}", "what is held in host memory", kLayout},
    {"init-device", "{cuda,cpu,meta}", "where the model is made before it is wrapped", kLayout},
    {"rank", "R|all", "which rank to report", kLayout},
    {"strategy", "JSON|FILE", "the framework's own options by their own names", kLayout},

    {"solve", "{micro-batch-size,sequence-length,lora-rank,gpus}",
     "the largest that fits on --gpu; of gpus the fewest", kMany},
    {"grid", "\"A=1,2 B=3,4\"", "what each pair of the values of two options needs", kMany},
    {"compare", "GPU,...", "the same on each of these, like rtx-4090,4xa100-80gb", kMany},
    {"price", "GPU=X,...", "an hour of one, beside --compare", kMany},
});

constexpr std::string_view kAnswerGroup = "Answer";

constexpr auto kAnswerOptions = std::to_array<NamedOption>({
    {"html", "FILE", "write a page with the interactive time line", kAnswerGroup},
    {"snapshot", "FILE", "write a pickle for PyTorch's memory_viz", kAnswerGroup},
    {"strict", "", "exit 1 also where it may not fit", kAnswerGroup},
    {"rules", "", "the well-known rules of thumb beside the answer", kAnswerGroup},
    {"csv", "", "the answer as CSV, alone on the output", kAnswerGroup},
    {"json", "", "the answer as JSON, alone on the output", kAnswerGroup},
    {"quiet", "", "only the answer itself", kAnswerGroup},
    {"explain", "", "show how each number comes about", kAnswerGroup},
});

}  // namespace

std::span<const NamedOption> train_options() { return kTrainOptions; }

std::string_view option_meant(std::string_view typed) {
  struct Meant {
    std::string_view typed, option;
  };
  constexpr auto kMeant = std::to_array<Meant>({
      {"--batch-size", "--micro-batch-size"},
      {"--batch", "--micro-batch-size"},
      {"--bs", "--micro-batch-size"},
      {"--mbs", "--micro-batch-size"},
      {"--gbs", "--global-batch-size"},
      {"--seq", "--sequence-length"},
      {"--seq-len", "--sequence-length"},
      {"--seq-length", "--sequence-length"},
      {"--seqlen", "--sequence-length"},
      {"--max-length", "--sequence-length"},
      {"--max-seq-length", "--sequence-length"},
      {"--context", "--sequence-length"},
      {"--context-length", "--sequence-length"},
      {"--ctx", "--sequence-length"},
      {"--dtype", "--precision"},
      {"--fp8", "--precision"},
      {"--lora", "--lora-rank"},
      {"--rank-lora", "--lora-rank"},
      {"--checkpointing", "--gradient-checkpointing"},
      {"--activation-checkpointing", "--gradient-checkpointing"},
      {"--ga", "--gradient-accumulation"},
      {"--grad-accum", "--gradient-accumulation"},
      {"--memory", "--gpu-memory-bytes"},
      {"--vram", "--gpu-memory-bytes"},
      {"--num-gpus", "--gpus"},
      {"--nproc-per-node", "--gpus"},
      {"--engine", "--framework"},
      {"--optim", "--optimizer"},
      {"--attn-implementation", "--attention"},
      {"--flash-attention", "--attention"},
      {"--trainer-class", "--trainer"},
  });
  std::string word(typed);
  std::replace(word.begin() + std::min<std::ptrdiff_t>(2, std::ssize(word)), word.end(), '_', '-');
  for (const Meant& meant : kMeant)
    if (meant.typed == word) return meant.option;
  return {};
}

std::span<const NamedOption> answer_options() { return kAnswerOptions; }

}  // namespace memtape::answer
