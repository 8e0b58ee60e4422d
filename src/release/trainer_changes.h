// SPDX-License-Identifier: Apache-2.0
// What changed between releases in the parts of a training run: the loss, Trainer, and the plugins
// of accelerate.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kLossUpcastsLogits{
    Package::transformers,
    {4, 46, 0},
    "ForCausalLMLoss makes its own float32 copy of the logits beside the model's; before, the "
    "model's forward replaced them, and the 16-bit ones were gone.",
    "models/llama/modeling_llama.py:LlamaForCausalLM.forward, loss/loss_utils.py"};

inline constexpr Change kAllLossesUpcastLogits{
    Package::transformers,
    {4, 48, 0},
    "Mistral and Granite call ForCausalLMLoss, too.",
    "models/mistral/modeling_mistral.py, models/granite/modeling_granite.py"};

inline constexpr Change kTrainerSetsUseCache{
    Package::transformers,
    {5, 0, 0},
    "Trainer sets config.use_cache to its own argument, which is false; before, decoders made a "
    "cache in training where their configuration says use_cache, as it does by default, and held "
    "it until the loss was there.",
    "trainer.py:Trainer.__init__, training_args.py:use_cache"};

inline constexpr Change kFsdpIsVersion2{
    Package::transformers,
    {5, 10, 0},
    "--fsdp means fully_shard unless fsdp_config names version 1, and wraps every layer; before, "
    "FullyShardedDataParallel, which wrapped layers where --fsdp said auto_wrap.",
    "training_args.py:TrainingArguments._process_fsdp_args"};

inline constexpr Change kFsdpWordsAreHidden{
    Package::transformers,
    {5, 0, 0},
    "Words of --fsdp become reshard_after_forward, which the plugin's strategy hides; before, they "
    "were the strategy (FSDP_SHARDING_STRATEGY).",
    "training_args.py:TrainingArguments.__post_init__"};

inline constexpr Change kTrainerMayFuseAdamW{
    Package::transformers,
    {4, 54, 0},
    "--optim defaults to adamw_torch_fused where torch is new enough; before, to adamw_torch.",
    "training_args.py:TrainingArguments.default_optim"};

inline constexpr Change kForeachAdamAddsInPlace{
    Package::torch,
    {2, 1, 0},
    "Adam over lists adds epsilon in place; before, to a further list of its own.",
    "torch/optim/adamw.py:_multi_tensor_adamw"};

inline constexpr Change kTrainerTrustsFusedAdamW{
    Package::torch,
    {2, 8, 0},
    "New enough for Trainer to fuse AdamW unless it is told otherwise.",
    "transformers, pytorch_utils.py:is_torch_greater_or_equal_than_2_8"};

inline constexpr Change kAdaptersTakeTheLayersDtype{
    Package::peft,
    {0, 6, 0},
    "Adapters have the dtype of the weights beside them; before, float32.",
    "tuners/lora/layer.py:LoraLayer.update_layer"};

inline constexpr Change kAdaptersAddToACopy{
    Package::peft,
    {0, 9, 0},
    "An adapter's product and the layer's give a new tensor; before, it was added in place.",
    "tuners/lora/layer.py:Linear.forward"};

inline constexpr Change kExpertTargetsAreConverted{
    Package::peft,
    {0, 19, 0},
    "Names of experts' layers, also behind a dot (shared_expert.gate_proj), mean the tensors in "
    "which "
    "transformers 5 has them; before, they matched what is a layer. It is not there in 0.18.1.",
    "utils/transformers_weight_conversion.py:_convert_peft_config_moe"};

inline constexpr Change kAdaptersAreCast{
    Package::peft,
    {0, 12, 0},
    "Adapters in a half type become float32 (autocast_adapter_dtype).",
    "tuners/tuners_utils.py:BaseTuner._cast_adapter_dtype"};

inline constexpr Change kMambaLayersAreRefused{
    Package::peft,
    {0, 16, 0},
    "peft refuses adapters of out_proj and conv1d in models of Mamba's kind; before, it gave them.",
    "tuners/tuners_utils.py:_check_lora_target_modules_mamba"};

inline constexpr Change kAllLinearByWholeNames{
    Package::peft,
    {0, 15, 0},
    "all-linear takes layers by their whole names; before, by the last parts, so that a head "
    "within "
    "a text model of a model of images was not left out.",
    "tuners/tuners_utils.py:_maybe_include_all_linear_layers"};

inline constexpr Change kProducts4BitKeepNoInputs{
    Package::bitsandbytes,
    {0, 43, 2},
    "Products over 4-bit weights keep no inputs; before, Python's ctx held them until the whole "
    "graph went.",
    "autograd/_functions.py:MatMul4Bit.forward"};

inline constexpr Change kZeroOwnsRecomputes{
    Package::deepspeed,
    {0, 19, 3},
    "Frozen parameters that a recompute in backward gathers belong to the module whose backward "
    "began last, and are released with it; before, each module released its own.",
    "runtime/zero/partitioned_param_coordinator.py:update_recompute_parameters"};

inline constexpr Change kZeroMakesBucketsInHooks{
    Package::deepspeed,
    {0, 17, 2},
    "ZeRO 1 and 2 make the buffers of a bucket as the first gradient is there; before, as backward "
    "begins, beside the logits and their gradients.",
    "runtime/zero/stage_1_and_2.py:DeepSpeedZeroOptimizer.process_gradients, backward_prologue"};

inline constexpr Change kZeroFlattensOnDevice{
    Package::deepspeed,
    {0, 18, 7},
    "ZeRO 1 and 2 join a group's parameters on the device where its free memory holds them once "
    "more; before, and where it does not, by way of the host.",
    "runtime/zero/stage_1_and_2.py:DeepSpeedZeroOptimizer.__init__, pull request 7828"};

inline constexpr Change kFsdp1UpcastsTrained{
    Package::accelerate,
    {0, 30, 0},
    "Under mixed precision, FSDP's flat parameters are made float32 as the model is prepared. They "
    "are not in 0.29.3 and are in 0.30.1.",
    "accelerator.py:Accelerator.prepare_model, upcasted_log"};

inline constexpr Change kFsdp2AccumulatesWhole{
    Package::accelerate,
    {1, 11, 0},
    "no_sync turns reductions of fully_shard off, so that gradients of earlier micro-batches stay "
    "whole; before, every micro-batch reduced its own.",
    "accelerator.py:Accelerator.no_sync, pull request 3762"};

inline constexpr Change kQuantizedBaseLeavesUnderFsdp{
    Package::transformers,
    {4, 39, 0},
    "Under FSDP, what bitsandbytes has quantized moves to host memory, tensor by tensor; before, "
    "it "
    "stayed on the GPU, on which the whole base lay. It does in 4.38.2.",
    "modeling_utils.py:_load_state_dict_into_meta_model, pull request 29587"};

inline constexpr Change kQuantizedBaseStaysUnderFsdp{
    Package::transformers,
    {5, 0, 0},
    "Under FSDP, what bitsandbytes has quantized stays on the GPU; before, it moved to host "
    "memory, tensor by tensor.",
    "modeling_utils.py:_load_state_dict_into_meta_model"};

inline constexpr Change kQuantizedLoadingWarmsUp{
    Package::transformers,
    {4, 51, 0},
    "As a quantized model is loaded, one block of half of its bytes in 16 bits is taken and given "
    "back first, whose segment the allocator keeps. There is none in 4.49.0, and in 4.50.3 only "
    "for "
    "what is not quantized.",
    "modeling_utils.py:caching_allocator_warmup, factor; "
    "quantizers/base.py:get_cuda_warm_up_factor"};

inline constexpr Change kWarmUpLeavesRoom{
    Package::transformers,
    {4, 52, 0},
    "Of the device's free memory 1.2 GiB are left to others; before, a twentieth.",
    "modeling_utils.py:caching_allocator_warmup, issue 37436"};

inline constexpr Change kLoadsInThreads{
    Package::transformers,
    {5, 0, 0},
    "Threads bring weights to the device, ahead of the one that quantizes them.",
    "core_model_loading.py:convert_and_load_state_dict_in_model, thread_pool"};

inline constexpr Change kQuantizesInOrder{
    Package::transformers,
    {5, 4, 0},
    "What is quantized as it is loaded is brought tensor by tensor, as \"worker threads loading "
    "full-precision tensors to GPU faster than the main thread can quantize them\" made \"a large "
    "memory spike\". Threads bring it in 5.3.0.",
    "core_model_loading.py:convert_and_load_state_dict_in_model, has_on_the_fly_quantization"};

inline constexpr Change kWarmUpPassesHeadOver{
    Package::transformers,
    {4, 54, 0},
    "The block has no bytes for a head that a class may tie, tied or not, until packed bytes "
    "count.",
    "modeling_utils.py:caching_allocator_warmup, _get_tied_weight_keys"};

inline constexpr Change kWarmUpCountsPackedBytes{
    Package::transformers,
    {5, 0, 0},
    "The block has the bytes that packed weights will have, by the quantizer's own count.",
    "modeling_utils.py:get_total_byte_count; quantizers/base.py:param_element_size"};

}  // namespace memtape::changes
