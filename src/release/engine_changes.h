// SPDX-License-Identifier: Apache-2.0
// What changed between releases of the inference engines vLLM and SGLang, as far as it affects
// memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kVllmEngineIsV1{
    Package::vllm,
    {0, 8, 0},
    "The V1 engine runs unless VLLM_USE_V1=0 asks for the V0 engine; before, the V0 engine, whose "
    "batch is a whole prompt and whose graphs are not counted.",
    "vllm/envs.py:VLLM_USE_V1"};

inline constexpr Change kVllmOffersV1{
    Package::vllm,
    {0, 7, 0},
    "VLLM_USE_V1=1 asks for the V1 engine.",
    "vllm/engine/arg_utils.py:EngineArgs._override_v1_engine_args of 0.7.0"};

inline constexpr Change kVllmRunsV1OnEveryGpu{
    Package::vllm,
    {0, 10, 2},
    "The V1 engine runs on GPUs before Ampere, too; before, the V0 engine runs there.",
    "vllm/engine/arg_utils.py:EngineArgs._is_v1_supported_oracle (Compute Capability < 8.0)"};

inline constexpr Change kVllmChunksLongPrompts{
    Package::vllm,
    {0, 5, 3},
    "The V0 engine cuts prompts of models for more than 32,768 tokens into chunks; before, a batch "
    "holds the longest prompt whole.",
    "vllm/engine/arg_utils.py:EngineArgs.create_engine_config (use_long_context)"};

inline constexpr Change kVllmLeavesImagesWhole{
    Package::vllm,
    {0, 6, 3},
    "The V0 engine cuts no prompts of models with images, and their batches hold 5,120 tokens at "
    "least; before, they were cut as others.",
    "vllm/engine/arg_utils.py:EngineArgs.create_engine_config (is_multimodal_model)"};

inline constexpr Change kVllmChunksBy2048{
    Package::vllm,
    {0, 6, 5},
    "The V0 engine's chunks are of 2,048 tokens; before, of 512.",
    "vllm/config.py:SchedulerConfig.__post_init__"};

inline constexpr Change kVllmCountsWhatIsAllocated{
    Package::vllm,
    {0, 6, 4},
    "The V0 engine's worker counts the most that was allocated; before, what the device had less "
    "of after the profile run, with what the allocator kept.",
    "vllm/worker/worker.py:Worker.determine_num_available_blocks (peak_memory)"};

inline constexpr Change kVllmRunsDenseModelsOnV2{
    Package::vllm,
    {0, 25, 1},
    "Models without experts and without recurrent layers run on the second model runner.",
    "vllm/config/vllm.py:VllmConfig.use_v2_model_runner"};

inline constexpr Change kVllmRunsDeepseekV4OnV2{
    Package::vllm,
    {0, 28, 0},
    "DeepSeek V4 runs on the second model runner, as few models with experts do.",
    "vllm/config/vllm.py:DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES"};

inline constexpr Change kVllmRunsAllModelsOnV2{
    Package::vllm,
    {0, 29, 0},
    "All models run on the second model runner.",
    "vllm/config/vllm.py:VllmConfig.use_v2_model_runner"};

inline constexpr Change kVllmPoolsOnV1{
    Package::vllm,
    {0, 9, 2},
    "Models for embeddings, scores and rewards run on the V1 engine; before, on the V0 engine.",
    "vllm/engine/arg_utils.py:EngineArgs._is_v1_supported_oracle"};

inline constexpr Change kVllmPoolsOnV2{
    Package::vllm,
    {0, 28, 0},
    "Models for embeddings, scores and rewards may run on the second model runner.",
    "vllm/config/vllm.py:VllmConfig.use_v2_model_runner"};

inline constexpr Change kVllmCachesLatents{
    Package::vllm,
    {0, 7, 1},
    "DeepSeek's attention caches one latent vector for each token; before, keys and values of all "
    "heads, padded to 256 numbers.",
    "vllm/config.py:ModelConfig.use_mla"};

inline constexpr Change kVllmCachesLatentsOfAllSchemes{
    Package::vllm,
    {0, 7, 3},
    "It does so for every quantization; before, for 16 bits and fp8.",
    "vllm/config.py:ModelConfig.use_mla"};

inline constexpr Change kVllmGroupsLayersByKind{
    Package::vllm,
    {0, 9, 1},
    "Layers with a window need the blocks of their window alone; before, all layers were held as "
    "full ones.",
    "vllm/v1/core/kv_cache_utils.py:get_kv_cache_config"};

inline constexpr Change kVllmSizesGraphsByBatch{
    Package::vllm,
    {0, 10, 0},
    "CUDA graphs reach to twice the requests, at most 512 tokens; before, the V1 engine captured "
    "all sizes to 512.",
    "vllm/config.py:SchedulerConfig.cuda_graph_sizes"};

inline constexpr Change kVllmCapturesWholeDecodes{
    Package::vllm,
    {0, 11, 0},
    "Beside the pieces between attention layers, whole steps of decoding are captured "
    "(FULL_AND_PIECEWISE).",
    "vllm/config/__init__.py:VllmConfig.__post_init__"};

inline constexpr Change kVllmConnectsBeforeItsSnapshot{
    Package::vllm,
    {0, 11, 0},
    "Ranks are connected before the first snapshot of memory, so that what NCCL takes then comes "
    "on top of the share of the GPU.",
    "vllm/v1/worker/gpu_worker.py:Worker.init_device"};

inline constexpr Change kVllmCapturesCoarserSizes{
    Package::vllm,
    {0, 11, 1},
    "Above 256 tokens every 16th size is captured; before, every 8th.",
    "vllm/config/vllm.py:VllmConfig._set_cudagraph_sizes"};

inline constexpr Change kVllmCapturesAdaptersApart{
    Package::vllm,
    {0, 11, 1},
    "With room for adapters, every graph is captured with and without them "
    "(cudagraph_specialize_lora); before, only with them.",
    "vllm/v1/cudagraph_dispatcher.py:CudagraphDispatcher.initialize_cudagraph_keys"};

inline constexpr Change kVllmPadsGroups{
    Package::vllm,
    {0, 12, 0},
    "Kinds of layers that differ in number by less than a quarter form groups of the larger size.",
    "vllm/v1/core/kv_cache_utils.py:_get_kv_cache_groups_uniform_page_size"};

inline constexpr Change kVllmKeepsChunksApart{
    Package::vllm,
    {0, 14, 0},
    "Layers of local attention in chunks have blocks of their own by default.",
    "vllm/envs.py:VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE"};

inline constexpr Change kVllmMasksLogitsInPlace{
    Package::vllm,
    {0, 17, 0},
    "The sampler masks logits in place (Triton); before, it sorted them.",
    "vllm/v1/sample/ops/topk_topp_sampler.py:apply_top_k_top_p"};

inline constexpr Change kVllmPadsGroupsMore{
    Package::vllm,
    {0, 18, 0},
    "Kinds of layers that differ in number by less than a half form groups of the larger size.",
    "vllm/v1/core/kv_cache_utils.py:_get_kv_cache_groups_uniform_page_size"};

inline constexpr Change kVllmTakesMoreOfTheDevice{
    Package::vllm,
    {0, 20, 0},
    "92 % of a GPU is taken, and the first model runner takes an estimate of the CUDA graphs off "
    "the cache; before, 90 %, and graphs came on top.",
    "vllm/config/cache.py, vllm/envs.py:VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"};

inline constexpr Change kVllmRunsOnCuda13{Package::vllm,
                                          {0, 20, 0},
                                          "The wheels are built for CUDA 13; before, for CUDA 12.",
                                          "vllm/envs.py:VLLM_MAIN_CUDA_VERSION"};

inline constexpr Change kVllmCountsTokensByRequests{
    Package::vllm,
    {0, 20, 1},
    "The logged tokens of the cache are those of as many requests as there is room for; before, "
    "the "
    "blocks over the number of groups.",
    "vllm/v1/core/kv_cache_utils.py:_report_kv_cache_config"};

inline constexpr Change kVllmCachesPrefixesOfHybrids{
    Package::vllm,
    {0, 26, 0},
    "Prefixes are cached by default in models with recurrent layers, too.",
    "vllm/config/model.py:ModelConfig.is_prefix_caching_supported"};

inline constexpr Change kVllmCountsTokensInFlight{
    Package::vllm,
    {0, 26, 0},
    "A window's blocks have room for all tokens in flight, two batches where scheduling runs "
    "ahead; "
    "before, for one batch.",
    "vllm/v1/kv_cache_interface.py:SlidingWindowSpec.max_memory_usage_bytes"};

inline constexpr Change kVllmWorkerCountsTheDevice{
    Package::vllm,
    {0, 27, 0},
    "The worker counts what the device has less of; before, what torch's peak rose by.",
    "vllm/v1/worker/gpu_worker.py:Worker.determine_available_memory (total_consumed)"};

inline constexpr Change kVllmEstimatesGraphsOfV2{
    Package::vllm,
    {0, 29, 0},
    "The second model runner estimates its CUDA graphs, too; before, it took them to be nothing.",
    "vllm/v1/worker/gpu/cudagraph_utils.py:profile_cudagraph_memory"};

inline constexpr Change kVllmServesLanguageModelOnly{
    Package::vllm,
    {0, 17, 0},
    "--language-model-only serves a model without its encoders; before, --limit-mm-per-prompt of "
    "0.",
    "vllm/engine/arg_utils.py"};

inline constexpr Change kVllmLeavesOthersOut{
    Package::vllm,
    {0, 9, 1},
    "The V1 worker counts what it takes itself; before, all that is in use on the device, by other "
    "programs, too.",
    "vllm/v1/worker/gpu_worker.py:Worker.determine_available_memory (memory_profiling)"};

inline constexpr Change kVllmTakesManyItemsOfAPrompt{
    Package::vllm,
    {0, 8, 4},
    "The V1 engine takes 999 images and videos of a prompt where nobody limits them; before, and "
    "on "
    "the V0 engine, one.",
    "vllm/config.py:MultiModalConfig.get_limit_per_prompt"};

inline constexpr Change kVllmTakesLimitsAsJson{
    Package::vllm,
    {0, 10, 0},
    "--limit-mm-per-prompt is JSON; before, image=4,video=1, too.",
    "vllm/engine/arg_utils.py:nullable_kvs"};

inline constexpr Change kVllmProfilesVideosOfTheContext{
    Package::vllm,
    {0, 11, 0},
    "The profile run's video has as many frames as the model's context holds, 14 at most; before, "
    "as a batch holds, 16 at most.",
    "vllm/v1/worker/gpu_model_runner.py:GPUModelRunner._get_mm_dummy_batch (seq_len)"};

inline constexpr Change kVllmEncodersJoinTheirGates{
    Package::vllm,
    {0, 27, 1},
    "Encoders of images hold what is modelled while they run (Qwen2.5-VL's gates are one product, "
    "queries and keys are rotated together). They do not in 0.8.5 and do in 0.27.1.",
    "vllm/model_executor/models/qwen2_5_vl.py:Qwen2_5_VisionBlock"};

inline constexpr Change kVllmGatesByCard{
    Package::vllm,
    {0, 19, 0},
    "Nemotron-H's gates are in the model's dtype on Hopper and on data centers' Blackwell, where a "
    "kernel computes in float32; before, in float32. They are in float32 in 0.14.1 and not in "
    "0.19.0.",
    "vllm/model_executor/layers/fused_moe/router/gate_linear.py:GateLinear"};
inline constexpr Change kVllmDropsLongDummyPrompts{
    Package::vllm,
    {0, 7, 0},
    "The V0 engine's profile takes text alone where a prompt of all images and videos is longer "
    "than "
    "a batch, and the encoder does not run. Not so in 0.6.6.",
    "vllm/multimodal/profiling.py:MultiModalProfiler.get_dummy_data"};

inline constexpr Change kVllmRunsLongDummyPrompts{
    Package::vllm,
    {0, 8, 3},
    "The V0 engine's profile runs a prompt of all its images and videos though it is longer than a "
    "batch. It does not in 0.8.2.",
    "vllm/multimodal/profiling.py:MultiModalProfiler.get_decoder_dummy_data"};

inline constexpr Change kVllmQwenEncodersJoinQueries{
    Package::vllm,
    {0, 11, 0},
    "Encoders of Qwen2-VL and Qwen2.5-VL rotate queries and keys in one tensor of the model's "
    "dtype; before, each in float32 with copies, and the ranks gathered them first. Not so in "
    "0.10.2.",
    "vllm/model_executor/models/qwen2_vl.py:apply_rotary_pos_emb_vision"};

inline constexpr Change kVllmQwenEncodersRotateByKernel{
    Package::vllm,
    {0, 9, 0},
    "Encoders of Qwen2-VL and Qwen2.5-VL rotate by one kernel; before, where the package "
    "flash-attn "
    "was not installed, by ops of torch.",
    "vllm/model_executor/models/qwen2_vl.py:apply_rotary_pos_emb_vision (vllm_flash_attn)"};

inline constexpr Change kVllmQwenEncodersJoinGates{
    Package::vllm,
    {0, 10, 2},
    "Qwen2.5-VL's encoder has gate and up in one product. It does not in 0.10.0 and does in "
    "0.10.2.",
    "vllm/model_executor/models/qwen2_5_vl.py:Qwen2_5_VisionMLP"};

inline constexpr Change kVllmCastsPixels{
    Package::vllm,
    {0, 9, 2},
    "Pixel values come to the device in the model's dtype; before, in float32. They do not in "
    "0.9.0 and do in 0.9.2.",
    "vllm/inputs/registry.py:InputProcessingContext.call_hf_processor (maybe_cast_dtype)"};

inline constexpr Change kVllmBatchesGemma4Frames{
    Package::vllm,
    {0, 22, 0},
    "Gemma 4's images and frames are encoded together, as many as _encoder_chunk allows; before, "
    "one "
    "by one.",
    "vllm/model_executor/models/gemma4_mm.py:_encoder_chunk"};

inline constexpr Change kVllmQuantizesWhileLoading{
    Package::vllm,
    {0, 13, 0},
    "Online fp8 quantizes a layer once it is loaded, while the loader still refers to all weights "
    "in 16 bits; before, all were loaded first and then quantized layer by layer.",
    "model_executor/layers/quantization/fp8.py:Fp8LinearMethod.create_weights"};

inline constexpr Change kVllmCountsWhatIsCopied{
    Package::vllm,
    {0, 14, 0},
    "Online fp8 sees that a layer is complete by what was copied to this rank; before, by whole "
    "tensors of the checkpoint, which with tensor parallelism are more.",
    "model_executor/layers/quantization/fp8.py:CopyNumelCounter"};

inline constexpr Change kVllmStreamsOnlineWeights{
    Package::vllm,
    {0, 16, 0},
    "Online fp8 makes a layer's 16-bit weights when it is loaded and lets them go when it is "
    "quantized.",
    "model_executor/layers/quantization/fp8.py:Fp8OnlineLinearMethod, pull request 31914"};

inline constexpr Change kVllmOffloadsProcessed{
    Package::vllm,
    {0, 17, 0},
    "What processing makes of a weight in host memory goes there, too; before, it stays on the "
    "GPU.",
    "model_executor/model_loader/utils.py:device_loading_context"};

inline constexpr Change kVllmMixesAlgorithms{
    Package::vllm,
    {0, 17, 0},
    "A ModelOpt checkpoint may quantize layers by several algorithms (MIXED_PRECISION).",
    "model_executor/layers/quantization/modelopt.py:ModelOptMixedPrecisionConfig"};

inline constexpr Change kVllmMixesWeightsAlone{
    Package::vllm,
    {0, 22, 0},
    "W4A16_NVFP4 is one of them. It is not in 0.21.",
    "model_executor/layers/quantization/modelopt.py:w4a16_nvfp4_config"};

inline constexpr Change kVllmQuantizesHeads{
    Package::vllm,
    {0, 23, 0},
    "The lm_head of a ModelOpt checkpoint may be quantized. It may not in 0.22.",
    "model_executor/layers/quantization/modelopt.py:get_quant_method"};

inline constexpr Change kVllmHasNoBitsAndBytes{
    Package::vllm,
    {0, 28, 0},
    "bitsandbytes is none of the methods of quantization.",
    "model_executor/layers/quantization/__init__.py:QuantizationMethods"};

inline constexpr Change kVllmServesNoOrderOfActivations{
    Package::vllm,
    {0, 32, 0},
    "GPTQ checkpoints with groups in the order of their activations are refused.",
    "model_executor/layers/quantization/utils/gptq_utils.py:normalize_and_validate_gptq_desc_act"};

inline constexpr Change kVllmShortensSectionedRopes{
    Package::vllm,
    {0, 32, 0},
    "Qwen3-VL's and Qwen3.5's tables of rotary embeddings span the model's positions; before, four "
    "times as many, as Qwen2-VL's still do.",
    "model_executor/models/qwen3_vl.py:mrope_positions_factor"};

inline constexpr Change kSglangReservesByDevice{
    Package::sglang,
    {0, 4, 8},
    "mem_fraction_static leaves a reserve by the device's memory, and beside a vision tower more "
    "the larger the tower is; before, a table by the number of tensor ranks, and 95 % of it.",
    "srt/server_args.py"};

inline constexpr Change kSglangLocatesExperts{
    Package::sglang,
    {0, 4, 8},
    "Every rank holds maps of where experts lie. They are not in 0.4.5 and are in 0.5.2.",
    "srt/eplb/expert_location.py"};

inline constexpr Change kSglangRefersToLoadedExperts{
    Package::sglang,
    {0, 4, 7},
    "Qwen3's mixtures refer to their experts as they were loaded, whatever quantization or "
    "repacking puts in their place. They do not in 0.4.6.post4 and do in 0.4.6.post5.",
    "srt/models/qwen3_moe.py:routed_experts_weights_of_layer"};

inline constexpr Change kSglangListsExpertsWhenAsked{
    Package::sglang,
    {0, 5, 9},
    "Qwen3's mixtures list their experts when the list is first asked for, after processing.",
    "srt/models/qwen3_moe.py:routed_experts_weights_of_layer"};

inline constexpr Change kSglangReservesByUse{
    Package::sglang,
    {0, 5, 3},
    "The reserve is the sum of what a chunk, graphs and ranks take.",
    "srt/server_args.py"};

inline constexpr Change kSglangPrefersFlashAttention{
    Package::sglang,
    {0, 4, 6},
    "FlashAttention 3 is the default on Hopper; before, FlashInfer, and Triton where keys and "
    "values are latent. FlashInfer's workspace is larger for Qwen's models.",
    "srt/model_executor/model_runner.py:model_specific_adjustment"};

inline constexpr Change kSglangTrimsLocalTables{
    Package::sglang,
    {0, 4, 7},
    "A captured batch's table of local attention has a row of one chunk's pages for each chunk of "
    "each request. In 0.4.6.post3 and .post4 the row has the pages of all chunks, in 0.4.6.post5 "
    "no "
    "longer.",
    "srt/layers/attention/flashattention_backend.py:init_cuda_graph_state (max_blocks_per_seq)"};

inline constexpr Change kSglangSlidesApart{
    Package::sglang,
    {0, 4, 10},
    "Layers with a sliding window have a pool of their own unless --disable-hybrid-swa-memory is "
    "given. They do not in 0.4.9.",
    "srt/model_executor/model_runner.py:initialize"};

inline constexpr Change kSglangViewsPageTables{
    Package::sglang,
    {0, 5, 0},
    "Captured batches share one table of pages; before, each had a copy, and there was a second "
    "table for drafts. They do not in 0.4.10 and do in 0.4.10.post2.",
    "srt/layers/attention/flashattention_backend.py:init_forward_metadata_capture_cuda_graph"};

inline constexpr Change kSglangSlidesChunks{
    Package::sglang,
    {0, 5, 7},
    "Llama 4's layers of chunked attention have a pool of their own. They do not in 0.5.6, where "
    "--hybrid-kvcache-ratio asks for it, and do in 0.5.12.",
    "srt/configs/model_config.py:is_hybrid_swa_model"};

inline constexpr Change kSglangMakesTablesInUse{
    Package::sglang,
    {0, 5, 7},
    "The table of an encoder's pages is made for encoder-decoders alone, and one for the pool of "
    "sliding layers where there is one. Not in 0.5.6, in 0.5.9.",
    "srt/layers/attention/flashattention_backend.py:init_cuda_graph_state"};

inline constexpr Change kSglangExtendsRopes{
    Package::sglang,
    {0, 5, 3},
    "Caches of rotary embeddings are extended for the longest context. They are not in 0.5.2 and "
    "are in 0.5.9.",
    "srt/model_executor/model_runner.py"};

inline constexpr Change kSglangReservesForPrefillGraphs{
    Package::sglang,
    {0, 5, 10},
    "The reserve counts the graphs of prefill, too.",
    "srt/server_args.py"};

inline constexpr Change kSglangFillsSmallDevices{
    Package::sglang,
    {0, 5, 14},
    "Devices with 20 to 35 GiB have larger chunks and graphs, graphs are no larger than "
    "--max-running-requests, and the reserve leaves out graphs that are not captured.",
    "srt/arg_groups/memory_hook.py"};

inline constexpr Change kSglangTracksStates{
    Package::sglang,
    {0, 5, 14},
    "A request has two more slots of recurrent states (extra_buffer) in models that take them.",
    "srt/server_args.py"};

}  // namespace memtape::changes
