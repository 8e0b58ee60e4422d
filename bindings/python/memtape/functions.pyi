# SPDX-License-Identifier: Apache-2.0
# Made by bindings/python/generate.py: do not edit.
import os
from typing import Any, Literal, Mapping, Optional, Sequence, TypedDict, Union, overload

from typing_extensions import Unpack

from .answers import CompareAnswer, GpusAnswer, ModelAnswer, ModelsAnswer, PlanAnswer, QuestionAnswer, ServeAnswer, TrainAnswer

class TrainWithoutGpu(TypedDict, total=False):
    gpus: Optional[int]  # how many of them (as many as the sizes of the layout take)
    gpu_memory_bytes: Optional[Union[int, str]]  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[int, str]]  # memory of the CUDA context, instead of the catalog's figure
    driver_placement: Optional[Literal["linux", "first-fit"]]  # where the driver puts segments (linux)
    framework: Optional[Literal["torch", "transformers", "ddp", "fsdp1", "fsdp2", "deepspeed", "torch-tp", "torch-pp", "torch-cp", "litgpt", "megatron-core", "torchtitan", "torchtune"]]  # whose training loop: torch, transformers, ddp, fsdp1, fsdp2, deepspeed, torch-tp, torch-pp, torch-cp, litgpt, megatron-core, torchtitan, torchtune (torch)
    trainer: Optional[Literal["trainer", "sft", "dpo", "reward", "grpo", "kto", "rloo", "cpo", "orpo", "none", "llama-factory-dpo", "llama-factory-kto", "llama-factory-rm"]]  # which of transformers' and trl's trainers: trainer, sft, dpo, reward, grpo, kto, rloo, cpo, orpo, none, llama-factory-dpo, llama-factory-kto, llama-factory-rm; none is a loop around accelerate
    task: Optional[Literal["causal-lm", "masked-lm", "seq2seq-lm", "image-text-to-text", "image-classification", "zero-shot-image-classification", "speech-seq2seq", "sequence-classification", "token-classification", "question-answering", "multiple-choice"]]  # what is trained for: causal-lm, masked-lm, seq2seq-lm, image-text-to-text, image-classification, zero-shot-image-classification, speech-seq2seq, sequence-classification, token-classification, question-answering, multiple-choice (the model's)
    micro_batch_size: Optional[int]  # sequences per GPU and forward pass (the framework's)
    sequence_length: Optional[Union[int, str]]  # tokens per sequence (2048, or as many as the model has positions)
    target_length: Optional[Union[int, str]]  # labels per sequence of an encoder-decoder (as many as tokens)
    num_labels: Optional[int]  # classes of a classifier (the configuration's, else 2)
    gradient_accumulation: Optional[int]  # micro-batches per optimizer step (1)
    global_batch_size: Optional[int]  # sequences per optimizer step on all GPUs, in place of --gradient-accumulation
    precision: Optional[Literal["fp32", "bf16", "fp16", "amp-bf16", "amp-fp16", "fp8", "mxfp8", "nvfp4"]]  # what is computed in: fp32, bf16, fp16, amp-bf16, amp-fp16, fp8, mxfp8, nvfp4 (the framework's)
    optimizer: Optional[str]  # adamw, adam, sgd, sgd-momentum, adagrad, rmsprop, adamax, nadam, adafactor, adafactor-hf; of Trainer those of its --optim, too, like adamw-8bit (the framework's)
    optimizer_impl: Optional[Literal["fused", "foreach", "for-loop"]]  # which of torch's implementations (the optimizer's)
    max_grad_norm: Optional[Union[float, Literal["none"]]]  # clip gradients to this norm (the framework's)
    gradient_checkpointing: Optional[Literal["none", "full", "full-reentrant", "selective", "layer"]]  # what is recomputed (the framework's)
    attention: Optional[Literal["eager", "sdpa", "flash"]]  # the attention implementation (sdpa)
    attention_mask: Optional[Literal["default", "none"]]  # whether the batch carries a mask (default)
    imbalance: Optional[Union[float, Literal["worst"]]]  # tokens of the fullest expert over the mean (1)
    compile: Optional[bool]  # torch.compile(model) before the first step
    loss: Optional[Literal["torch", "liger", "chunked"]]  # how the cross entropy is computed (torch)
    weights: Optional[Literal["fp32", "bf16", "fp16"]]  # dtype of the parameters (follows --precision)
    quantize: Optional[str]  # none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16 (none)
    qlora: Optional[bool]  # QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit AdamW, checkpointing (Trainer)
    quantization: Optional[Any]  # the quantization library's own configuration
    lora_rank: Optional[int]  # train LoRA adapters of this rank instead of the weights
    lora_targets: Optional[Union[str, float, Sequence[Union[str, float]]]]  # the modules that get an adapter
    lora_dropout: Optional[float]  # dropout before the adapter (0)
    peft: Optional[Any]  # a LoraConfig
    as_family: Optional[str]  # an unknown MODEL as a family of its sizes: an estimate
    freeze: Optional[Union[str, float, Sequence[Union[str, float]]]]  # parameters that are not trained; may be repeated
    train_last_layers: Optional[Union[int, str]]  # train the last N layers alone (-N: the first)
    upcast_trained: Optional[Union[bool, Literal["true", "false"]]]  # cast what --train-last-layers trains to fp32
    with_: Optional[Union[str, float, Sequence[Union[str, float]]]]  # the releases meant, like torch==2.8.0,transformers==4.57.6; none: the newest known (those of the active Python environment, else the newest known)
    real: Optional[Literal["never", "auto", "always"]]  # run the real step on a phantom GPU instead of predicting it: always, or where releases are not known (never)
    requirements: Optional[Union[str, "os.PathLike[str]"]]  # a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them
    python: Optional[Union[str, "os.PathLike[str]"]]  # an interpreter or environment that has them installed (verify runs it)
    transformers_version: Optional[str]  # the same as --with transformers==X.Y
    litgpt_version: Optional[str]  # the same as --with litgpt==X.Y
    dp: Optional[int]  # data parallel size (what the other sizes leave of --gpus)
    zero: Optional[Literal["0", "1", "2", "3", 0, 1, 2, 3]]  # ZeRO stage (the framework's)
    tp: Optional[int]  # tensor parallel size (1)
    sp: Optional[int]  # sequence parallel size (1)
    pp: Optional[int]  # pipeline stages (1)
    vpp: Optional[int]  # virtual stages per pipeline rank (1)
    schedule: Optional[str]  # pipeline schedule (the framework's)
    cp: Optional[int]  # context parallel size (1)
    ep: Optional[int]  # expert parallel size (1)
    etp: Optional[int]  # tensor parallel size inside an expert
    offload: Optional[Literal["none", "optimizer", "all"]]  # what is held in host memory (none)
    init_device: Optional[Literal["cuda", "cpu", "meta"]]  # where the model is made before it is wrapped (the framework's)
    rank: Optional[Union[int, Literal["all"]]]  # which rank to report (all)
    strategy: Optional[Any]  # the framework's own options by their own names
    price: Optional[str]  # an hour of one GPU, beside --compare
    rules: Optional[bool]  # the well-known rules of thumb beside the answer
    accelerator_config: Any
    activation_offloading: Any
    adam_beta1: Any
    adam_beta2: Any
    adam_epsilon: Any
    alpha: Any
    assistant_only_loss: Any
    auto_find_batch_size: Any
    average_tokens_across_devices: Any
    base_model_attribute_name: Any
    batch_eval_metrics: Any
    beta: Any
    bf16: Any
    bf16_full_eval: Any
    cache_implementation: Any
    cast_lm_head_to_fp32: Any
    center_rewards_coefficient: Any
    chars_per_token: Any
    chat_template_kwargs: Any
    chat_template_path: Any
    completion_only_loss: Any
    compute_metrics: Any
    cpo_alpha: Any
    cut_cross_entropy: Any
    data_seed: Any
    dataloader_drop_last: Any
    dataloader_in_order: Any
    dataloader_multiprocessing_context: Any
    dataloader_num_workers: Any
    dataloader_persistent_workers: Any
    dataloader_pin_memory: Any
    dataloader_prefetch_factor: Any
    dataset_batch_size: Any
    dataset_kwargs: Any
    dataset_num_proc: Any
    dataset_text_field: Any
    ddp_backend: Any
    ddp_broadcast_buffers: Any
    ddp_bucket_cap_mb: Any
    ddp_find_unused_parameters: Any
    ddp_static_graph: Any
    ddp_timeout: Any
    debug: Any
    deepspeed: Any
    delta: Any
    desirable_weight: Any
    disable_dropout: Any
    disable_tqdm: Any
    discopop_tau: Any
    do_eval: Any
    do_predict: Any
    do_train: Any
    ds3_gather_for_generation: Any
    enable_jit_checkpoint: Any
    entropy_coef: Any
    entropy_coef_delta: Any
    entropy_coef_max: Any
    entropy_coef_min: Any
    entropy_target: Any
    eos_token: Any
    epsilon: Any
    epsilon_high: Any
    eval_accumulation_steps: Any
    eval_delay: Any
    eval_do_concat_batches: Any
    eval_on_start: Any
    eval_packing: Any
    eval_samples: Any
    eval_steps: Any
    eval_strategy: Any
    eval_use_gather_object: Any
    f_alpha_divergence_coef: Any
    f_divergence_type: Any
    force_use_ref_model: Any
    fp16: Any
    fp16_full_eval: Any
    fsdp: Any
    fsdp_config: Any
    full_determinism: Any
    fused_lora: Any
    generate_during_eval: Any
    generation_batch_size: Any
    generation_kwargs: Any
    gradient_accumulation_steps: Any
    gradient_checkpointing_kwargs: Any
    greater_is_better: Any
    hub_always_push: Any
    hub_model_id: Any
    hub_private_repo: Any
    hub_revision: Any
    hub_strategy: Any
    hub_token: Any
    ignore_data_skip: Any
    importance_sampling_level: Any
    include_for_metrics: Any
    include_num_input_tokens_seen: Any
    is_encoder_decoder: Any
    keep_outputs: Any
    label_names: Any
    label_pad_token_id: Any
    label_smoothing: Any
    label_smoothing_factor: Any
    ld_alpha: Any
    learning_rate: Any
    length_column_name: Any
    liger_kernel_config: Any
    load_best_model_at_end: Any
    local_rank: Any
    log_completions: Any
    log_completions_hub_repo: Any
    log_level: Any
    log_level_replica: Any
    log_multimodal: Any
    log_on_each_node: Any
    log_unique_prompts: Any
    logging_first_step: Any
    logging_nan_inf_filter: Any
    logging_steps: Any
    logging_strategy: Any
    lora_mlp_kernel: Any
    lora_o_kernel: Any
    lora_qkv_kernel: Any
    loss_type: Any
    loss_weights: Any
    lr_scheduler_kwargs: Any
    lr_scheduler_type: Any
    mask_truncated_completions: Any
    max_completion_length: Any
    max_density_ratio: Any
    max_length: Any
    max_prompt_length: Any
    max_seq_length: Any
    max_steps: Any
    max_target_length: Any
    max_tool_calling_iterations: Any
    metric_for_best_model: Any
    min_density_ratio: Any
    min_p: Any
    model_adapter_name: Any
    model_init_kwargs: Any
    multi_objective_aggregation: Any
    n_gpu: Any
    neftune_noise_alpha: Any
    normalize_advantages: Any
    num_completions_to_print: Any
    num_generations: Any
    num_generations_eval: Any
    num_iterations: Any
    num_of_sequences: Any
    num_train_epochs: Any
    off_policy_mask_threshold: Any
    optim: Any
    optim_args: Any
    optim_target_modules: Any
    output_dir: Any
    packed_sequences: Any
    packing: Any
    packing_strategy: Any
    pad_to_multiple_of: Any
    pad_token: Any
    padding_free: Any
    padding_value: Any
    parallelism_config: Any
    per_device_eval_batch_size: Any
    per_device_train_batch_size: Any
    precompute_ref_batch_size: Any
    precompute_ref_log_probs: Any
    prediction_loss_only: Any
    pref_loss: Any
    prepare_model_for_kbit_training: Any
    project: Any
    prompt_length: Any
    prompt_sample_size: Any
    push_to_hub: Any
    quantize_moe_experts: Any
    ref_adapter_name: Any
    ref_model_init_kwargs: Any
    ref_model_mixup_alpha: Any
    ref_model_sync_steps: Any
    reference_free: Any
    remove_unused_columns: Any
    repetition_penalty: Any
    report_to: Any
    restore_callback_states_from_checkpoint: Any
    resume_from_checkpoint: Any
    reward_clip_range: Any
    reward_weights: Any
    router_aux_loss_coef: Any
    rpo_alpha: Any
    run_name: Any
    sapo_temperature_neg: Any
    sapo_temperature_pos: Any
    save_on_each_node: Any
    save_only_model: Any
    save_steps: Any
    save_strategy: Any
    save_total_limit: Any
    scale_rewards: Any
    scored_tokens: Any
    seed: Any
    shuffle_dataset: Any
    simpo_gamma: Any
    skip_memory_metrics: Any
    steps_per_generation: Any
    sync_ref_model: Any
    temperature: Any
    tf32: Any
    tools: Any
    top_entropy_quantile: Any
    top_k: Any
    top_p: Any
    torch_compile: Any
    torch_compile_backend: Any
    torch_compile_mode: Any
    torch_empty_cache_steps: Any
    trackio_bucket_id: Any
    trackio_space_id: Any
    trackio_static_space_id: Any
    train_sampling_strategy: Any
    transformers_continuous_batching_config: Any
    truncation_mode: Any
    trust_remote_code: Any
    undesirable_weight: Any
    unfrozen_parameters: Any
    use_adaptive_entropy: Any
    use_bias_correction_kl: Any
    use_cache: Any
    use_cpu: Any
    use_liger: Any
    use_liger_kernel: Any
    use_liger_loss: Any
    use_logits_to_keep: Any
    use_num_logits_to_keep: Any
    use_transformers_continuous_batching: Any
    use_transformers_paged: Any
    use_vllm: Any
    use_weighting: Any
    vespo_k_neg: Any
    vespo_k_pos: Any
    vespo_lambda_neg: Any
    vespo_lambda_pos: Any
    vllm_device: Any
    vllm_dtype: Any
    vllm_enable_prefix_caching: Any
    vllm_enable_sleep_mode: Any
    vllm_gpu_memory_utilization: Any
    vllm_group_port: Any
    vllm_guided_decoding_regex: Any
    vllm_importance_sampling_cap: Any
    vllm_importance_sampling_clip_max: Any
    vllm_importance_sampling_clip_min: Any
    vllm_importance_sampling_correction: Any
    vllm_importance_sampling_mode: Any
    vllm_max_model_len: Any
    vllm_max_model_length: Any
    vllm_mode: Any
    vllm_model_impl: Any
    vllm_server_base_url: Any
    vllm_server_host: Any
    vllm_server_port: Any
    vllm_server_timeout: Any
    vllm_structured_outputs_regex: Any
    vllm_tensor_parallel_size: Any
    wandb_log_unique_prompts: Any
    warmup_steps: Any
    weight_decay: Any

class TrainOptions(TrainWithoutGpu, total=False):
    gpu: Optional[str]  # the GPU to judge against (memtape gpus lists them)

class ServeWithoutEngine(TypedDict, total=False):
    engine_version: Optional[str]  # its version (the newest known)
    with_: Optional[Union[str, float, Sequence[Union[str, float]]]]  # the releases meant, like vllm==0.32.0
    gpus: Optional[Union[int, str]]  # how many of them (1)
    gpu_memory_bytes: Optional[Union[int, str]]  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[int, str]]  # memory of the CUDA context, instead of the catalog's figure
    users: Optional[Union[int, str]]  # people at a time, each with --context and --output
    context: Optional[str]  # tokens of a user's prompt: how many users are there room for?
    output: Optional[str]  # tokens of a user's answer (0)
    driver_placement: Optional[Literal["linux", "first-fit"]]  # where the driver puts segments (linux)
    as_family: Optional[str]  # an unknown MODEL as a family of its sizes: an estimate
    ctx_size: Optional[Union[int, str]]  # tokens of context; 0: what the model was trained for
    batch_size: Optional[Union[int, str]]  # logical batch (2048)
    ubatch_size: Optional[Union[int, str]]  # physical batch (512)
    parallel: Optional[Union[int, str]]  # sequences at a time
    kv_unified: Optional[bool]  # one cache for all sequences
    no_kv_unified: Optional[bool]  # 
    flash_attn: Optional[str]  # flash attention (auto)
    cache_type_k: Optional[str]  # type of the keys (f16)
    cache_type_v: Optional[str]  # type of the values (f16)
    kv_cache_dtype: Optional[str]  # type of keys and values
    device: Optional[Union[str, float, Sequence[Union[str, float]]]]  # none, or CUDA0, ROCm0, SYCL0, Vulkan0, MTL0, GPUOpenCL, RPC0 ...
    host_memory_bytes: Optional[Union[int, str]]  # what --device none is to fit in
    n_gpu_layers: Optional[Union[int, str]]  # layers on the GPUs, the output counts as one
    split_mode: Optional[Literal["none", "layer", "row"]]  # how the model is spread over GPUs
    tensor_split: Optional[Union[str, float, Sequence[Union[str, float]]]]  # share of each GPU
    main_gpu: Optional[Union[int, str]]  # the GPU of --split-mode none
    cpu_moe: Optional[bool]  # all experts in host memory
    n_cpu_moe: Optional[Union[int, str]]  # the experts of the first N layers in host memory
    override_tensor: Optional[Union[str, float, Sequence[Union[str, float]]]]  # tensors by regular expression
    no_kv_offload: Optional[bool]  # keys and values in host memory
    kv_offload: Optional[bool]  # 
    no_op_offload: Optional[bool]  # ops on host weights stay on the CPU
    op_offload: Optional[bool]  # 
    swa_full: Optional[bool]  # the full cache also for sliding windows
    no_mmap: Optional[bool]  # read the file instead of mapping it
    mmap: Optional[bool]  # 
    n_outputs_max: Optional[Union[int, str]]  # rows of logits reserved; 0: a whole batch
    embedding: Optional[bool]  # embeddings are asked for, pooled as the model says
    pooling: Optional[Literal["none", "mean", "cls", "last", "rank"]]  # how they are pooled instead
    reranking: Optional[bool]  # embeddings, pooled to a rank
    spec_type: Optional[str]  # speculative decoding: draft-mtp, ngram-mod ...
    spec_draft_n_max: Optional[Union[int, str]]  # tokens of a draft (3)
    spec_draft_type_k: Optional[str]  # type of the draft head's keys
    spec_draft_type_v: Optional[str]  # of its values
    spec_draft_model: Optional[str]  # a smaller model that drafts
    spec_draft_ngl: Optional[Union[int, str]]  # its layers on the GPUs
    spec_draft_quantize: Optional[str]  # as llama-quantize would make it
    lora: Optional[Union[Union[str, "os.PathLike[str]"], Sequence[Union[str, "os.PathLike[str]"]]]]  # adapters, applied
    mmproj: Optional[Union[str, "os.PathLike[str]"]]  # the tower of a multimodal model; its weights alone
    no_mmproj_offload: Optional[bool]  # that in host memory
    mmproj_offload: Optional[bool]  # 
    quantize: Optional[str]  # as llama-quantize would make it
    fit: Optional[bool]  # how many layers fit, with the flags to paste
    fit_unsaid: Optional[bool]  # as llama-server: the context and layers that fit, if not said
    max_model_len: Optional[Union[int, str]]  # tokens of prompt and answer; -1: what fits
    max_num_seqs: Optional[Union[int, str]]  # requests at a time
    max_num_batched_tokens: Optional[Union[int, str]]  # tokens of one step
    gpu_memory_utilization: Optional[Union[float, str]]  # share of the GPU that vLLM may use (0.92)
    kv_cache_memory_bytes: Optional[Union[int, str]]  # the KV cache's size, as is
    num_gpu_blocks_override: Optional[Union[int, str]]  # blocks of the KV cache, as they are
    block_size: Optional[Union[int, str]]  # tokens of a block
    attention_backend: Optional[str]  # kernels of attention
    dtype: Optional[str]  # of weights and activations (auto)
    quantization: Optional[str]  # of an unquantized checkpoint
    cpu_offload_gb: Optional[Union[float, str]]  # GiB of each rank's weights that lie in host memory
    tensor_parallel_size: Optional[Union[int, str]]  # ranks of tensor parallelism
    pipeline_parallel_size: Optional[Union[int, str]]  # pipeline stages
    data_parallel_size: Optional[Union[int, str]]  # ranks of data parallelism
    decode_context_parallel_size: Optional[Union[int, str]]  # tensor parallel ranks that share a context's cache
    enable_expert_parallel: Optional[str]  # whole experts per rank
    enforce_eager: Optional[bool]  # no CUDA graphs, no compilation
    compilation_config: Optional[Any]  # mode, cudagraph_mode and cudagraph_capture_sizes are read
    optimization_level: Optional[Union[int, str]]  # 0: no compilation and no graphs; 1: pieces (2)
    cudagraph_capture_sizes: Optional[Union[str, float, Sequence[Union[str, float]]]]  # sizes of CUDA graphs
    max_cudagraph_capture_size: Optional[Union[int, str]]  # the largest CUDA graph
    enable_prefix_caching: Optional[bool]  # 
    no_enable_prefix_caching: Optional[bool]  # recurrent layers then need fewer blocks
    disable_hybrid_kv_cache_manager: Optional[bool]  # sliding layers are held as full ones
    enable_sleep_mode: Optional[bool]  # a note says what stays on the GPU while it sleeps
    no_async_scheduling: Optional[bool]  # one batch at a time
    async_scheduling: Optional[bool]  # 
    usage_context: Optional[Literal["llm", "api-server"]]  # whose defaults for tokens and requests: LLM() or vllm serve (api-server)
    runner: Optional[Literal["auto", "generate", "pooling"]]  # pooling: embeddings, scores and rewards
    convert: Optional[Literal["auto", "none", "embed", "classify"]]  # a model that generates, to one that pools
    task: Optional[str]  # of older releases
    enable_lora: Optional[bool]  # room for adapters beside every layer
    max_loras: Optional[Union[int, str]]  # adapters that may run at a time (1)
    max_lora_rank: Optional[Union[int, str]]  # the largest rank of an adapter (16)
    max_cpu_loras: Optional[Union[int, str]]  # 
    lora_modules: Optional[Union[str, float, Sequence[Union[str, float]]]]  # 
    speculative_config: Optional[Any]  # method ngram, mtp (the model's own predictor), eagle, eagle3 or draft_model, with model and num_speculative_tokens
    language_model_only: Optional[bool]  # without the encoders of images and videos
    limit_mm_per_prompt: Optional[Any]  # images and videos of a prompt; 0 of all is without
    mm_processor_kwargs: Optional[Any]  # of the processor: max_pixels of an image
    skip_mm_profiling: Optional[bool]  # images and videos have no part in the profile run
    hf_overrides: Optional[Any]  # members of config.json in the place of its own
    rope_scaling: Optional[Any]  # the same of rope_scaling alone, as Qwen's cards have it
    rank: Optional[Union[int, str]]  # 
    disable_custom_all_reduce: Optional[bool]  # 
    distributed_executor_backend: Optional[str]  # 
    enable_chunked_prefill: Optional[bool]  # 
    no_enable_chunked_prefill: Optional[bool]  # whole prompts in one step
    trust_remote_code: Optional[bool]  # 
    served_model_name: Optional[str]  # 
    tokenizer: Optional[str]  # 
    load_format: Optional[str]  # fastsafetensors and instanttensor read files on the GPU
    revision: Optional[str]  # 
    seed: Optional[Union[int, str]]  # 
    host: Optional[str]  # 
    port: Optional[Union[int, str]]  # 
    api_key: Optional[str]  # 
    chat_template: Optional[Union[str, "os.PathLike[str]"]]  # 
    enable_auto_tool_choice: Optional[bool]  # 
    tool_call_parser: Optional[str]  # 
    reasoning_parser: Optional[str]  # 
    generation_config: Optional[str]  # 
    swap_space: Optional[Union[float, str]]  # 
    max_log_len: Optional[Union[int, str]]  # 
    disable_log_stats: Optional[bool]  # 
    disable_log_requests: Optional[bool]  # 
    mem_fraction_static: Optional[Union[float, str]]  # share of the free memory for weights and caches (by the device)
    context_length: Optional[Union[int, str]]  # tokens of prompt and answer
    max_running_requests: Optional[Union[int, str]]  # requests at a time
    max_total_tokens: Optional[Union[int, str]]  # tokens of the cache, at most
    chunked_prefill_size: Optional[Union[int, str]]  # tokens of one prefill step; -1: whole prompts
    max_prefill_tokens: Optional[Union[int, str]]  # tokens of a batch of whole prompts
    page_size: Optional[Union[int, str]]  # tokens of a page (1)
    tp_size: Optional[Union[int, str]]  # ranks of tensor parallelism
    pp_size: Optional[Union[int, str]]  # pipeline stages
    dp_size: Optional[Union[int, str]]  # whole servers beside each other
    ep_size: Optional[Union[int, str]]  # ranks that whole experts lie on
    attn_dp_size: Optional[Union[int, str]]  # 
    enable_dp_attention: Optional[bool]  # 
    cuda_graph_max_bs: Optional[Union[int, str]]  # largest captured batch
    disable_cuda_graph: Optional[bool]  # no CUDA graphs
    disable_decode_cuda_graph: Optional[bool]  # none of decoding
    disable_prefill_cuda_graph: Optional[bool]  # none of prefill: no room is kept for them
    cuda_graph_max_bs_prefill: Optional[Union[int, str]]  # tokens of the largest graph of prefill
    cuda_graph_backend_decode: Optional[str]  # disabled: none
    cuda_graph_backend_prefill: Optional[str]  # disabled: none
    disable_radix_cache: Optional[bool]  # no cache of prefixes
    swa_full_tokens_ratio: Optional[Union[float, str]]  # tokens of sliding layers per token of others (0.8)
    disable_hybrid_swa_memory: Optional[bool]  # sliding layers are held as full ones
    mamba_full_memory_ratio: Optional[Union[float, str]]  # states per byte of keys and values (0.9)
    max_mamba_cache_size: Optional[Union[int, str]]  # slots of recurrent states
    mamba_ssm_dtype: Optional[str]  # of recurrent states
    json_model_override_args: Optional[Any]  # members of config.json in the place of its own
    max_loras_per_batch: Optional[Union[int, str]]  # adapters that may run at a time (8)
    lora_target_modules: Optional[str]  # the layers that adapters change, or all
    lora_paths: Optional[Union[str, float, Sequence[Union[str, float]]]]  # 
    attention: Optional[Literal["eager", "sdpa", "kernels-community/vllm-flash-attn3"]]  # attention implementation; for GPT-OSS the kernel of the hub (sdpa)
    prompt_length: Optional[Union[int, str]]  # tokens of each prompt (512)
    max_new_tokens: Optional[Union[int, str]]  # tokens made for each (20)
    cache_implementation: Optional[Literal["dynamic", "static", "offloaded", "offloaded_static", "quantized"]]  # how keys and values are kept (dynamic)
    cache_config: Optional[Any]  # of a quantized cache: nbits, axis_key, axis_value, q_group_size, residual_length
    prefill_chunk_size: Optional[Union[int, str]]  # prompt tokens a pass
    num_beams: Optional[Union[int, str]]  # beams of beam search (1)
    do_sample: Optional[bool]  # draw tokens in place of the likeliest
    temperature: Optional[Union[float, str]]  # scores are divided by it (1)
    top_k: Optional[Union[int, str]]  # draw from so many tokens (50; 0: all)
    top_p: Optional[Union[float, str]]  # draw from the likeliest, of that probability together (1)
    min_p: Optional[Union[float, str]]  # draw from what is at least so likely beside the likeliest
    typical_p: Optional[Union[float, str]]  # draw from the most typical tokens (1)
    repetition_penalty: Optional[Union[float, str]]  # of tokens that were there (1)
    output_scores: Optional[bool]  # return every token's scores
    output_logits: Optional[bool]  # return every token's logits
    prompt_lookup_num_tokens: Optional[Union[int, str]]  # candidates that are looked up in the prompt and checked in one pass
    assistant_model: Optional[str]  # a smaller model of the same vocabulary that proposes tokens
    num_assistant_tokens: Optional[Union[int, str]]  # that it proposes for a pass, at most (20)
    num_assistant_tokens_schedule: Optional[Literal["constant", "heuristic", "heuristic_transient"]]  # how that number changes from round to round (constant)
    assistant_confidence_threshold: Optional[Union[float, str]]  # probability below which it stops proposing (0.4; 0: never)

class ServeOptions(ServeWithoutEngine, total=False):
    engine: Optional[Literal["llamacpp", "vllm", "sglang", "transformers"]]  # the inference engine (llamacpp)
    gpu: Optional[str]  # the GPU to judge against (memtape gpus lists them)

class PlanTrainOptions(TypedDict, total=False):
    objective: Optional[Union[Literal["throughput", "gpus", "cost", "headroom"], Sequence[Literal["throughput", "gpus", "cost", "headroom"]]]]  # what is best (throughput)
    top: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # how many plans are shown (5)
    gpus_per_node: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # GPUs that share fast links (8)
    cluster: Optional[Union[Union[str, "os.PathLike[str]"], Sequence[Union[str, "os.PathLike[str]"]]]]  # GPUs, nodes, links, memory and price: dgx-h100, p5 ...
    method: Optional[Union[Literal["full", "lora", "qlora"], Sequence[Literal["full", "lora", "qlora"]]]]  # how much is trained; several with commas
    sharding: Optional[Union[Literal["ddp", "full", "full-sync", "grad-op", "hybrid"], Sequence[Literal["ddp", "full", "full-sync", "grad-op", "hybrid"]]]]  # how data parallel ranks share the model
    price: Optional[Union[str, Sequence[str]]]  # an hour of one GPU
    export: Optional[Union[Union[str, "os.PathLike[str]"], Sequence[Union[str, "os.PathLike[str]"]]]]  # write what launches a plan: its script and configurations
    plan: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # which of the plans (1)
    force: Optional[bool]  # write over files that are there
    gpu: Optional[Union[str, Sequence[str]]]  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[int, Sequence[int]]]  # how many of them (as many as the sizes of the layout take)
    gpu_memory_bytes: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # memory of the CUDA context, instead of the catalog's figure
    driver_placement: Optional[Union[Literal["linux", "first-fit"], Sequence[Literal["linux", "first-fit"]]]]  # where the driver puts segments (linux)
    framework: Optional[Union[Literal["torch", "transformers", "ddp", "fsdp1", "fsdp2", "deepspeed", "torch-tp", "torch-pp", "torch-cp", "litgpt", "megatron-core", "torchtitan", "torchtune"], Sequence[Literal["torch", "transformers", "ddp", "fsdp1", "fsdp2", "deepspeed", "torch-tp", "torch-pp", "torch-cp", "litgpt", "megatron-core", "torchtitan", "torchtune"]]]]  # whose training loop: torch, transformers, ddp, fsdp1, fsdp2, deepspeed, torch-tp, torch-pp, torch-cp, litgpt, megatron-core, torchtitan, torchtune (torch)
    trainer: Optional[Union[Literal["trainer", "sft", "dpo", "reward", "grpo", "kto", "rloo", "cpo", "orpo", "none", "llama-factory-dpo", "llama-factory-kto", "llama-factory-rm"], Sequence[Literal["trainer", "sft", "dpo", "reward", "grpo", "kto", "rloo", "cpo", "orpo", "none", "llama-factory-dpo", "llama-factory-kto", "llama-factory-rm"]]]]  # which of transformers' and trl's trainers: trainer, sft, dpo, reward, grpo, kto, rloo, cpo, orpo, none, llama-factory-dpo, llama-factory-kto, llama-factory-rm; none is a loop around accelerate
    task: Optional[Union[Literal["causal-lm", "masked-lm", "seq2seq-lm", "image-text-to-text", "image-classification", "zero-shot-image-classification", "speech-seq2seq", "sequence-classification", "token-classification", "question-answering", "multiple-choice"], Sequence[Literal["causal-lm", "masked-lm", "seq2seq-lm", "image-text-to-text", "image-classification", "zero-shot-image-classification", "speech-seq2seq", "sequence-classification", "token-classification", "question-answering", "multiple-choice"]]]]  # what is trained for: causal-lm, masked-lm, seq2seq-lm, image-text-to-text, image-classification, zero-shot-image-classification, speech-seq2seq, sequence-classification, token-classification, question-answering, multiple-choice (the model's)
    micro_batch_size: Optional[Union[int, Sequence[int]]]  # sequences per GPU and forward pass (the framework's)
    sequence_length: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # tokens per sequence (2048, or as many as the model has positions)
    target_length: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # labels per sequence of an encoder-decoder (as many as tokens)
    num_labels: Optional[Union[int, Sequence[int]]]  # classes of a classifier (the configuration's, else 2)
    gradient_accumulation: Optional[Union[int, Sequence[int]]]  # micro-batches per optimizer step (1)
    global_batch_size: Optional[Union[int, Sequence[int]]]  # sequences per optimizer step on all GPUs, in place of --gradient-accumulation
    precision: Optional[Union[Literal["fp32", "bf16", "fp16", "amp-bf16", "amp-fp16", "fp8", "mxfp8", "nvfp4"], Sequence[Literal["fp32", "bf16", "fp16", "amp-bf16", "amp-fp16", "fp8", "mxfp8", "nvfp4"]]]]  # what is computed in: fp32, bf16, fp16, amp-bf16, amp-fp16, fp8, mxfp8, nvfp4 (the framework's)
    optimizer: Optional[Union[str, Sequence[str]]]  # adamw, adam, sgd, sgd-momentum, adagrad, rmsprop, adamax, nadam, adafactor, adafactor-hf; of Trainer those of its --optim, too, like adamw-8bit (the framework's)
    optimizer_impl: Optional[Union[Literal["fused", "foreach", "for-loop"], Sequence[Literal["fused", "foreach", "for-loop"]]]]  # which of torch's implementations (the optimizer's)
    max_grad_norm: Optional[Union[Union[float, Literal["none"]], Sequence[Union[float, Literal["none"]]]]]  # clip gradients to this norm (the framework's)
    gradient_checkpointing: Optional[Union[Literal["none", "full", "full-reentrant", "selective", "layer"], Sequence[Literal["none", "full", "full-reentrant", "selective", "layer"]]]]  # what is recomputed (the framework's)
    attention: Optional[Union[Literal["eager", "sdpa", "flash"], Sequence[Literal["eager", "sdpa", "flash"]]]]  # the attention implementation (sdpa)
    attention_mask: Optional[Union[Literal["default", "none"], Sequence[Literal["default", "none"]]]]  # whether the batch carries a mask (default)
    imbalance: Optional[Union[Union[float, Literal["worst"]], Sequence[Union[float, Literal["worst"]]]]]  # tokens of the fullest expert over the mean (1)
    compile: Optional[bool]  # torch.compile(model) before the first step
    loss: Optional[Union[Literal["torch", "liger", "chunked"], Sequence[Literal["torch", "liger", "chunked"]]]]  # how the cross entropy is computed (torch)
    weights: Optional[Union[Literal["fp32", "bf16", "fp16"], Sequence[Literal["fp32", "bf16", "fp16"]]]]  # dtype of the parameters (follows --precision)
    quantize: Optional[Union[str, Sequence[str]]]  # none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16 (none)
    qlora: Optional[bool]  # QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit AdamW, checkpointing (Trainer)
    quantization: Optional[Any]  # the quantization library's own configuration
    lora_rank: Optional[Union[int, Sequence[int]]]  # train LoRA adapters of this rank instead of the weights
    lora_targets: Optional[Union[str, float, Sequence[Union[str, float]]]]  # the modules that get an adapter
    lora_dropout: Optional[Union[float, Sequence[float]]]  # dropout before the adapter (0)
    peft: Optional[Any]  # a LoraConfig
    freeze: Optional[Union[str, float, Sequence[Union[str, float]]]]  # parameters that are not trained; may be repeated
    train_last_layers: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # train the last N layers alone (-N: the first)
    upcast_trained: Optional[Union[Union[bool, Literal["true", "false"]], Sequence[Union[bool, Literal["true", "false"]]]]]  # cast what --train-last-layers trains to fp32
    with_: Optional[Union[str, float, Sequence[Union[str, float]]]]  # the releases meant, like torch==2.8.0,transformers==4.57.6; none: the newest known (those of the active Python environment, else the newest known)
    requirements: Optional[Union[Union[str, "os.PathLike[str]"], Sequence[Union[str, "os.PathLike[str]"]]]]  # a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them
    python: Optional[Union[Union[str, "os.PathLike[str]"], Sequence[Union[str, "os.PathLike[str]"]]]]  # an interpreter or environment that has them installed (verify runs it)
    transformers_version: Optional[Union[str, Sequence[str]]]  # the same as --with transformers==X.Y
    litgpt_version: Optional[Union[str, Sequence[str]]]  # the same as --with litgpt==X.Y
    dp: Optional[Union[int, Sequence[int]]]  # data parallel size (what the other sizes leave of --gpus)
    zero: Optional[Union[Literal["0", "1", "2", "3", 0, 1, 2, 3], Sequence[Literal["0", "1", "2", "3", 0, 1, 2, 3]]]]  # ZeRO stage (the framework's)
    tp: Optional[Union[int, Sequence[int]]]  # tensor parallel size (1)
    sp: Optional[Union[int, Sequence[int]]]  # sequence parallel size (1)
    pp: Optional[Union[int, Sequence[int]]]  # pipeline stages (1)
    vpp: Optional[Union[int, Sequence[int]]]  # virtual stages per pipeline rank (1)
    schedule: Optional[Union[str, Sequence[str]]]  # pipeline schedule (the framework's)
    cp: Optional[Union[int, Sequence[int]]]  # context parallel size (1)
    ep: Optional[Union[int, Sequence[int]]]  # expert parallel size (1)
    etp: Optional[Union[int, Sequence[int]]]  # tensor parallel size inside an expert
    offload: Optional[Union[Literal["none", "optimizer", "all"], Sequence[Literal["none", "optimizer", "all"]]]]  # what is held in host memory (none)
    init_device: Optional[Union[Literal["cuda", "cpu", "meta"], Sequence[Literal["cuda", "cpu", "meta"]]]]  # where the model is made before it is wrapped (the framework's)
    strategy: Optional[Any]  # the framework's own options by their own names
    accelerator_config: Any
    activation_offloading: Any
    adam_beta1: Any
    adam_beta2: Any
    adam_epsilon: Any
    alpha: Any
    assistant_only_loss: Any
    auto_find_batch_size: Any
    average_tokens_across_devices: Any
    base_model_attribute_name: Any
    batch_eval_metrics: Any
    beta: Any
    bf16: Any
    bf16_full_eval: Any
    cache_implementation: Any
    cast_lm_head_to_fp32: Any
    center_rewards_coefficient: Any
    chars_per_token: Any
    chat_template_kwargs: Any
    chat_template_path: Any
    completion_only_loss: Any
    compute_metrics: Any
    cpo_alpha: Any
    cut_cross_entropy: Any
    data_seed: Any
    dataloader_drop_last: Any
    dataloader_in_order: Any
    dataloader_multiprocessing_context: Any
    dataloader_num_workers: Any
    dataloader_persistent_workers: Any
    dataloader_pin_memory: Any
    dataloader_prefetch_factor: Any
    dataset_batch_size: Any
    dataset_kwargs: Any
    dataset_num_proc: Any
    dataset_text_field: Any
    ddp_backend: Any
    ddp_broadcast_buffers: Any
    ddp_bucket_cap_mb: Any
    ddp_find_unused_parameters: Any
    ddp_static_graph: Any
    ddp_timeout: Any
    debug: Any
    deepspeed: Any
    delta: Any
    desirable_weight: Any
    disable_dropout: Any
    disable_tqdm: Any
    discopop_tau: Any
    do_eval: Any
    do_predict: Any
    do_train: Any
    ds3_gather_for_generation: Any
    enable_jit_checkpoint: Any
    entropy_coef: Any
    entropy_coef_delta: Any
    entropy_coef_max: Any
    entropy_coef_min: Any
    entropy_target: Any
    eos_token: Any
    epsilon: Any
    epsilon_high: Any
    eval_accumulation_steps: Any
    eval_delay: Any
    eval_do_concat_batches: Any
    eval_on_start: Any
    eval_packing: Any
    eval_samples: Any
    eval_steps: Any
    eval_strategy: Any
    eval_use_gather_object: Any
    f_alpha_divergence_coef: Any
    f_divergence_type: Any
    force_use_ref_model: Any
    fp16: Any
    fp16_full_eval: Any
    fsdp: Any
    fsdp_config: Any
    full_determinism: Any
    fused_lora: Any
    generate_during_eval: Any
    generation_batch_size: Any
    generation_kwargs: Any
    gradient_accumulation_steps: Any
    gradient_checkpointing_kwargs: Any
    greater_is_better: Any
    hub_always_push: Any
    hub_model_id: Any
    hub_private_repo: Any
    hub_revision: Any
    hub_strategy: Any
    hub_token: Any
    ignore_data_skip: Any
    importance_sampling_level: Any
    include_for_metrics: Any
    include_num_input_tokens_seen: Any
    is_encoder_decoder: Any
    keep_outputs: Any
    label_names: Any
    label_pad_token_id: Any
    label_smoothing: Any
    label_smoothing_factor: Any
    ld_alpha: Any
    learning_rate: Any
    length_column_name: Any
    liger_kernel_config: Any
    load_best_model_at_end: Any
    local_rank: Any
    log_completions: Any
    log_completions_hub_repo: Any
    log_level: Any
    log_level_replica: Any
    log_multimodal: Any
    log_on_each_node: Any
    log_unique_prompts: Any
    logging_first_step: Any
    logging_nan_inf_filter: Any
    logging_steps: Any
    logging_strategy: Any
    lora_mlp_kernel: Any
    lora_o_kernel: Any
    lora_qkv_kernel: Any
    loss_type: Any
    loss_weights: Any
    lr_scheduler_kwargs: Any
    lr_scheduler_type: Any
    mask_truncated_completions: Any
    max_completion_length: Any
    max_density_ratio: Any
    max_length: Any
    max_prompt_length: Any
    max_seq_length: Any
    max_steps: Any
    max_target_length: Any
    max_tool_calling_iterations: Any
    metric_for_best_model: Any
    min_density_ratio: Any
    min_p: Any
    model_adapter_name: Any
    model_init_kwargs: Any
    multi_objective_aggregation: Any
    n_gpu: Any
    neftune_noise_alpha: Any
    normalize_advantages: Any
    num_completions_to_print: Any
    num_generations: Any
    num_generations_eval: Any
    num_iterations: Any
    num_of_sequences: Any
    num_train_epochs: Any
    off_policy_mask_threshold: Any
    optim: Any
    optim_args: Any
    optim_target_modules: Any
    output_dir: Any
    packed_sequences: Any
    packing: Any
    packing_strategy: Any
    pad_to_multiple_of: Any
    pad_token: Any
    padding_free: Any
    padding_value: Any
    parallelism_config: Any
    per_device_eval_batch_size: Any
    per_device_train_batch_size: Any
    precompute_ref_batch_size: Any
    precompute_ref_log_probs: Any
    prediction_loss_only: Any
    pref_loss: Any
    prepare_model_for_kbit_training: Any
    project: Any
    prompt_length: Any
    prompt_sample_size: Any
    push_to_hub: Any
    quantize_moe_experts: Any
    ref_adapter_name: Any
    ref_model_init_kwargs: Any
    ref_model_mixup_alpha: Any
    ref_model_sync_steps: Any
    reference_free: Any
    remove_unused_columns: Any
    repetition_penalty: Any
    report_to: Any
    restore_callback_states_from_checkpoint: Any
    resume_from_checkpoint: Any
    reward_clip_range: Any
    reward_weights: Any
    router_aux_loss_coef: Any
    rpo_alpha: Any
    run_name: Any
    sapo_temperature_neg: Any
    sapo_temperature_pos: Any
    save_on_each_node: Any
    save_only_model: Any
    save_steps: Any
    save_strategy: Any
    save_total_limit: Any
    scale_rewards: Any
    scored_tokens: Any
    seed: Any
    shuffle_dataset: Any
    simpo_gamma: Any
    skip_memory_metrics: Any
    steps_per_generation: Any
    sync_ref_model: Any
    temperature: Any
    tf32: Any
    tools: Any
    top_entropy_quantile: Any
    top_k: Any
    top_p: Any
    torch_compile: Any
    torch_compile_backend: Any
    torch_compile_mode: Any
    torch_empty_cache_steps: Any
    trackio_bucket_id: Any
    trackio_space_id: Any
    trackio_static_space_id: Any
    train_sampling_strategy: Any
    transformers_continuous_batching_config: Any
    truncation_mode: Any
    trust_remote_code: Any
    undesirable_weight: Any
    unfrozen_parameters: Any
    use_adaptive_entropy: Any
    use_bias_correction_kl: Any
    use_cache: Any
    use_cpu: Any
    use_liger: Any
    use_liger_kernel: Any
    use_liger_loss: Any
    use_logits_to_keep: Any
    use_num_logits_to_keep: Any
    use_transformers_continuous_batching: Any
    use_transformers_paged: Any
    use_vllm: Any
    use_weighting: Any
    vespo_k_neg: Any
    vespo_k_pos: Any
    vespo_lambda_neg: Any
    vespo_lambda_pos: Any
    vllm_device: Any
    vllm_dtype: Any
    vllm_enable_prefix_caching: Any
    vllm_enable_sleep_mode: Any
    vllm_gpu_memory_utilization: Any
    vllm_group_port: Any
    vllm_guided_decoding_regex: Any
    vllm_importance_sampling_cap: Any
    vllm_importance_sampling_clip_max: Any
    vllm_importance_sampling_clip_min: Any
    vllm_importance_sampling_correction: Any
    vllm_importance_sampling_mode: Any
    vllm_max_model_len: Any
    vllm_max_model_length: Any
    vllm_mode: Any
    vllm_model_impl: Any
    vllm_server_base_url: Any
    vllm_server_host: Any
    vllm_server_port: Any
    vllm_server_timeout: Any
    vllm_structured_outputs_regex: Any
    vllm_tensor_parallel_size: Any
    wandb_log_unique_prompts: Any
    warmup_steps: Any
    weight_decay: Any

class PlanServeOptions(TypedDict, total=False):
    gpu: Optional[Union[str, Sequence[str]]]  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[int, Sequence[int]]]  # how many of them (as many as the sizes of the layout take)
    available: Optional[Union[str, float, Sequence[Union[str, float]]]]  # the GPUs at hand, like 8xh100-80gb,4xa100-80gb
    users: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # requests at a time (1)
    context: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # tokens of a prompt, like 32k (1024)
    output: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # tokens of an answer (256)
    ttft: Optional[Union[str, Sequence[str]]]  # the longest time to a first token, like 2s
    tpot: Optional[Union[str, Sequence[str]]]  # the longest time between tokens, like 50ms
    engine: Optional[Union[Literal["vllm", "sglang", "any"], Sequence[Literal["vllm", "sglang", "any"]]]]  # which engines (vllm)
    allow_quantize: Optional[Union[str, float, Sequence[Union[str, float]]]]  # roundings of weights that are allowed, or checkpoint: quantized ones that exist (none)
    price: Optional[Union[str, Sequence[str]]]  # an hour of one GPU
    export: Optional[Union[Union[str, "os.PathLike[str]"], Sequence[Union[str, "os.PathLike[str]"]]]]  # write what launches a plan: its script and containers
    plan: Optional[Union[Union[int, str], Sequence[Union[int, str]]]]  # which of the plans (1)
    force: Optional[bool]  # write over files that are there

@overload
def train(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    **options: Unpack[TrainOptions],
) -> TrainAnswer: ...

@overload
def train(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    solve: Literal["micro-batch-size", "sequence-length", "lora-rank", "gpus"],
    **options: Unpack[TrainOptions],
) -> QuestionAnswer: ...

@overload
def train(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    grid: str,
    **options: Unpack[TrainOptions],
) -> QuestionAnswer: ...

@overload
def train(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    compare: str,
    **options: Unpack[TrainOptions],
) -> QuestionAnswer: ...

@overload
def serve(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    **options: Unpack[ServeOptions],
) -> ServeAnswer: ...

@overload
def serve(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    compare: str,
    **options: Unpack[ServeOptions],
) -> CompareAnswer: ...

@overload
def serve(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    solve: str,
    **options: Unpack[ServeOptions],
) -> CompareAnswer: ...

def plan_train(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    **options: Unpack[PlanTrainOptions],
) -> PlanAnswer: ...

def plan_serve(
    model: Any,
    *held: Any,
    config: Union[None, str, Mapping[str, Any], Any] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    **options: Unpack[PlanServeOptions],
) -> PlanAnswer: ...

@overload
def fits(model: Any, gpu: str, *held: Any, **options: Unpack[TrainWithoutGpu]) -> bool: ...
@overload
def fits(model: Any, gpu: str, *held: Any, engine: str, **options: Unpack[ServeWithoutEngine]) -> bool: ...
def launch(
    command: Union[str, Sequence[str]],
    *,
    releases: Optional[str] = ...,
    **options: Unpack[TrainOptions],
) -> Any: ...
def models() -> ModelsAnswer: ...
def model(name: str) -> ModelAnswer: ...
def gpus(id: Optional[str] = ...) -> GpusAnswer: ...
def ask(request: Mapping[str, Any]) -> Any: ...
