# SPDX-License-Identifier: Apache-2.0
# Made by bindings/python/generate.py: do not edit.
from typing import Any, Literal, Mapping, Optional, Sequence, Union, overload

from ._answer import OtherAnswer
from ._sweep import Sweep
from .answers import CompareAnswer, GpusAnswer, ModelAnswer, ModelsAnswer, QuestionAnswer, ServeAnswer, TrainAnswer

@overload
def train(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    gpu: Optional[Union[str, float]] = ...,  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[int, str]] = ...,  # how many of them (as many as the sizes of the layout take)
    gpu_memory_bytes: Optional[Union[int, str]] = ...,  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[int, str]] = ...,  # memory of the CUDA context, instead of the catalog's figure
    driver_placement: Optional[Literal["linux", "first-fit"]] = ...,  # where the driver puts segments
    framework: Optional[Union[str, float]] = ...,  # whose training loop: torch, transformers, ddp, fsdp1, fsdp2, deepspeed, torch-tp, torch-pp, torch-cp, litgpt, megatron-core, torchtitan
    trainer: Optional[Union[str, float]] = ...,  # which of transformers' and trl's trainers: trainer, sft, dpo, reward, grpo, kto, rloo, cpo, orpo, none, llama-factory-dpo, llama-factory-kto, llama-factory-rm; none is a loop around accelerate
    task: Optional[Union[str, float]] = ...,  # what is trained for: causal-lm, masked-lm, seq2seq-lm, image-text-to-text, image-classification, zero-shot-image-classification, speech-seq2seq, sequence-classification, token-classification, question-answering, multiple-choice
    micro_batch_size: Optional[Union[int, str]] = ...,  # sequences per GPU and forward pass
    sequence_length: Optional[Union[int, str]] = ...,  # tokens per sequence; else 2048, or as many as the model has positions
    target_length: Optional[Union[int, str]] = ...,  # labels per sequence of an encoder-decoder (as many as tokens)
    num_labels: Optional[Union[int, str]] = ...,  # classes of a classifier (the configuration's, else 2)
    gradient_accumulation: Optional[Union[int, str]] = ...,  # micro-batches per optimizer step (1)
    global_batch_size: Optional[Union[int, str]] = ...,  # sequences per optimizer step on all GPUs, in place of --gradient-accumulation
    precision: Optional[Union[str, float]] = ...,  # what is computed in: fp32, bf16, fp16, amp-bf16, amp-fp16, fp8, mxfp8
    optimizer: Optional[Union[str, float]] = ...,  # adamw, adam, sgd, sgd-momentum, adagrad, rmsprop, adamax, nadam, adafactor, adafactor-hf; of Trainer those of its --optim, too, like adamw-8bit
    optimizer_impl: Optional[Literal["fused", "foreach", "for-loop"]] = ...,  # which of torch's implementations
    max_grad_norm: Optional[Literal["X", "none"]] = ...,  # clip gradients to this norm
    gradient_checkpointing: Optional[Literal["none", "full", "full-reentrant"]] = ...,  # what is recomputed
    attention: Optional[Literal["eager", "sdpa", "flash"]] = ...,  # the attention implementation
    attention_mask: Optional[Literal["default", "none"]] = ...,  # whether the batch carries a mask
    imbalance: Optional[Literal["X", "worst"]] = ...,  # tokens of the fullest expert over the mean (1)
    compile: Optional[bool] = ...,  # torch.compile(model) before the first step
    loss: Optional[Literal["torch", "liger", "chunked"]] = ...,  # how the cross entropy is computed
    weights: Optional[Literal["fp32", "bf16", "fp16"]] = ...,  # dtype of the parameters (follows --precision)
    quantize: Optional[Union[str, float]] = ...,  # none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16
    qlora: Optional[bool] = ...,  # QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit AdamW, checkpointing (Trainer)
    quantization: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the quantization library's own configuration
    lora_rank: Optional[Union[int, str]] = ...,  # train LoRA adapters of this rank instead of the weights
    lora_targets: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the modules that get an adapter
    lora_dropout: Optional[Union[float, str]] = ...,  # dropout before the adapter
    peft: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # a LoraConfig
    as_family: Optional[Union[str, float]] = ...,  # an unknown MODEL as a family of its sizes: an estimate
    freeze: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # parameters that are not trained; may be repeated
    train_last_layers: Optional[Union[int, str]] = ...,  # train the last N layers alone (-N: the first)
    upcast_trained: Optional[Literal["true", "false"]] = ...,  # cast what --train-last-layers trains to fp32
    with_: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the releases meant, like torch==2.8.0,transformers==4.57.6 (else those of the active Python environment, else the newest known; none: those)
    real: Optional[Literal["never", "auto", "always"]] = ...,  # run the real step on a phantom GPU instead of predicting it: always, or where releases are not known (never)
    requirements: Optional[Union[str, float]] = ...,  # a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them
    python: Optional[Union[str, float]] = ...,  # an interpreter or environment that has them installed (verify runs it)
    transformers_version: Optional[Union[str, float]] = ...,  # the same as --with transformers==X.Y
    litgpt_version: Optional[Union[str, float]] = ...,  # the same as --with litgpt==X.Y
    dp: Optional[Union[int, str]] = ...,  # data parallel size
    zero: Optional[Literal["0", "1", "2", "3"]] = ...,  # ZeRO stage
    tp: Optional[Union[int, str]] = ...,  # tensor parallel size
    sp: Optional[Union[int, str]] = ...,  # sequence parallel size
    pp: Optional[Union[int, str]] = ...,  # pipeline stages
    vpp: Optional[Union[int, str]] = ...,  # virtual stages per pipeline rank
    schedule: Optional[Union[str, float]] = ...,  # pipeline schedule
    cp: Optional[Union[int, str]] = ...,  # context parallel size
    ep: Optional[Union[int, str]] = ...,  # expert parallel size
    etp: Optional[Union[int, str]] = ...,  # tensor parallel size inside an expert
    offload: Optional[Literal["none", "optimizer", "all"]] = ...,  # what is held in host memory
    init_device: Optional[Literal["cuda", "cpu", "meta"]] = ...,  # where the model is made before it is wrapped
    rank: Optional[Union[str, float]] = ...,  # which rank to report
    strategy: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the framework's own options by their own names
    price: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # an hour of one, beside --compare
    rules: Optional[bool] = ...,  # the well-known rules of thumb beside the answer
    accelerator_config: Any = ...,
    activation_offloading: Any = ...,
    adam_beta1: Any = ...,
    adam_beta2: Any = ...,
    adam_epsilon: Any = ...,
    alpha: Any = ...,
    assistant_only_loss: Any = ...,
    auto_find_batch_size: Any = ...,
    average_tokens_across_devices: Any = ...,
    batch_eval_metrics: Any = ...,
    beta: Any = ...,
    bf16: Any = ...,
    bf16_full_eval: Any = ...,
    cache_implementation: Any = ...,
    cast_lm_head_to_fp32: Any = ...,
    center_rewards_coefficient: Any = ...,
    chat_template_kwargs: Any = ...,
    chat_template_path: Any = ...,
    completion_only_loss: Any = ...,
    compute_metrics: Any = ...,
    cpo_alpha: Any = ...,
    cut_cross_entropy: Any = ...,
    data_seed: Any = ...,
    dataloader_drop_last: Any = ...,
    dataloader_in_order: Any = ...,
    dataloader_multiprocessing_context: Any = ...,
    dataloader_num_workers: Any = ...,
    dataloader_persistent_workers: Any = ...,
    dataloader_pin_memory: Any = ...,
    dataloader_prefetch_factor: Any = ...,
    dataset_kwargs: Any = ...,
    dataset_num_proc: Any = ...,
    dataset_text_field: Any = ...,
    ddp_backend: Any = ...,
    ddp_broadcast_buffers: Any = ...,
    ddp_bucket_cap_mb: Any = ...,
    ddp_find_unused_parameters: Any = ...,
    ddp_static_graph: Any = ...,
    ddp_timeout: Any = ...,
    debug: Any = ...,
    deepspeed: Any = ...,
    delta: Any = ...,
    desirable_weight: Any = ...,
    disable_dropout: Any = ...,
    disable_tqdm: Any = ...,
    discopop_tau: Any = ...,
    do_eval: Any = ...,
    do_predict: Any = ...,
    do_train: Any = ...,
    ds3_gather_for_generation: Any = ...,
    enable_jit_checkpoint: Any = ...,
    entropy_coef: Any = ...,
    entropy_coef_delta: Any = ...,
    entropy_coef_max: Any = ...,
    entropy_coef_min: Any = ...,
    entropy_target: Any = ...,
    eos_token: Any = ...,
    epsilon: Any = ...,
    epsilon_high: Any = ...,
    eval_accumulation_steps: Any = ...,
    eval_delay: Any = ...,
    eval_do_concat_batches: Any = ...,
    eval_on_start: Any = ...,
    eval_packing: Any = ...,
    eval_samples: Any = ...,
    eval_steps: Any = ...,
    eval_strategy: Any = ...,
    eval_use_gather_object: Any = ...,
    f_alpha_divergence_coef: Any = ...,
    f_divergence_type: Any = ...,
    fp16: Any = ...,
    fp16_full_eval: Any = ...,
    fsdp: Any = ...,
    fsdp_config: Any = ...,
    full_determinism: Any = ...,
    generate_during_eval: Any = ...,
    generation_batch_size: Any = ...,
    generation_kwargs: Any = ...,
    gradient_accumulation_steps: Any = ...,
    gradient_checkpointing_kwargs: Any = ...,
    greater_is_better: Any = ...,
    hub_always_push: Any = ...,
    hub_model_id: Any = ...,
    hub_private_repo: Any = ...,
    hub_revision: Any = ...,
    hub_strategy: Any = ...,
    hub_token: Any = ...,
    ignore_data_skip: Any = ...,
    importance_sampling_level: Any = ...,
    include_for_metrics: Any = ...,
    include_num_input_tokens_seen: Any = ...,
    is_encoder_decoder: Any = ...,
    label_names: Any = ...,
    label_smoothing: Any = ...,
    label_smoothing_factor: Any = ...,
    ld_alpha: Any = ...,
    learning_rate: Any = ...,
    length_column_name: Any = ...,
    liger_kernel_config: Any = ...,
    load_best_model_at_end: Any = ...,
    local_rank: Any = ...,
    log_completions: Any = ...,
    log_completions_hub_repo: Any = ...,
    log_level: Any = ...,
    log_level_replica: Any = ...,
    log_multimodal: Any = ...,
    log_on_each_node: Any = ...,
    log_unique_prompts: Any = ...,
    logging_first_step: Any = ...,
    logging_nan_inf_filter: Any = ...,
    logging_steps: Any = ...,
    logging_strategy: Any = ...,
    lora_mlp_kernel: Any = ...,
    lora_o_kernel: Any = ...,
    lora_qkv_kernel: Any = ...,
    loss_type: Any = ...,
    loss_weights: Any = ...,
    lr_scheduler_kwargs: Any = ...,
    lr_scheduler_type: Any = ...,
    mask_truncated_completions: Any = ...,
    max_completion_length: Any = ...,
    max_length: Any = ...,
    max_steps: Any = ...,
    max_tool_calling_iterations: Any = ...,
    metric_for_best_model: Any = ...,
    min_p: Any = ...,
    model_init_kwargs: Any = ...,
    multi_objective_aggregation: Any = ...,
    neftune_noise_alpha: Any = ...,
    normalize_advantages: Any = ...,
    num_completions_to_print: Any = ...,
    num_generations: Any = ...,
    num_generations_eval: Any = ...,
    num_iterations: Any = ...,
    num_train_epochs: Any = ...,
    off_policy_mask_threshold: Any = ...,
    optim: Any = ...,
    optim_args: Any = ...,
    optim_target_modules: Any = ...,
    output_dir: Any = ...,
    packed_sequences: Any = ...,
    packing: Any = ...,
    packing_strategy: Any = ...,
    pad_to_multiple_of: Any = ...,
    pad_token: Any = ...,
    padding_free: Any = ...,
    padding_value: Any = ...,
    parallelism_config: Any = ...,
    per_device_eval_batch_size: Any = ...,
    per_device_train_batch_size: Any = ...,
    precompute_ref_batch_size: Any = ...,
    precompute_ref_log_probs: Any = ...,
    prediction_loss_only: Any = ...,
    pref_loss: Any = ...,
    prepare_model_for_kbit_training: Any = ...,
    project: Any = ...,
    prompt_length: Any = ...,
    push_to_hub: Any = ...,
    quantize_moe_experts: Any = ...,
    ref_model_mixup_alpha: Any = ...,
    ref_model_sync_steps: Any = ...,
    remove_unused_columns: Any = ...,
    repetition_penalty: Any = ...,
    report_to: Any = ...,
    restore_callback_states_from_checkpoint: Any = ...,
    resume_from_checkpoint: Any = ...,
    reward_clip_range: Any = ...,
    reward_weights: Any = ...,
    router_aux_loss_coef: Any = ...,
    run_name: Any = ...,
    sapo_temperature_neg: Any = ...,
    sapo_temperature_pos: Any = ...,
    save_on_each_node: Any = ...,
    save_only_model: Any = ...,
    save_steps: Any = ...,
    save_strategy: Any = ...,
    save_total_limit: Any = ...,
    scale_rewards: Any = ...,
    scored_tokens: Any = ...,
    seed: Any = ...,
    shuffle_dataset: Any = ...,
    simpo_gamma: Any = ...,
    skip_memory_metrics: Any = ...,
    steps_per_generation: Any = ...,
    sync_ref_model: Any = ...,
    temperature: Any = ...,
    tf32: Any = ...,
    top_entropy_quantile: Any = ...,
    top_k: Any = ...,
    top_p: Any = ...,
    torch_compile: Any = ...,
    torch_compile_backend: Any = ...,
    torch_compile_mode: Any = ...,
    torch_empty_cache_steps: Any = ...,
    trackio_bucket_id: Any = ...,
    trackio_space_id: Any = ...,
    trackio_static_space_id: Any = ...,
    train_sampling_strategy: Any = ...,
    transformers_continuous_batching_config: Any = ...,
    truncation_mode: Any = ...,
    trust_remote_code: Any = ...,
    undesirable_weight: Any = ...,
    unfrozen_parameters: Any = ...,
    use_adaptive_entropy: Any = ...,
    use_bias_correction_kl: Any = ...,
    use_cache: Any = ...,
    use_cpu: Any = ...,
    use_liger_kernel: Any = ...,
    use_transformers_continuous_batching: Any = ...,
    use_transformers_paged: Any = ...,
    use_vllm: Any = ...,
    use_weighting: Any = ...,
    vespo_k_neg: Any = ...,
    vespo_k_pos: Any = ...,
    vespo_lambda_neg: Any = ...,
    vespo_lambda_pos: Any = ...,
    vllm_enable_sleep_mode: Any = ...,
    vllm_gpu_memory_utilization: Any = ...,
    vllm_group_port: Any = ...,
    vllm_importance_sampling_cap: Any = ...,
    vllm_importance_sampling_clip_max: Any = ...,
    vllm_importance_sampling_clip_min: Any = ...,
    vllm_importance_sampling_correction: Any = ...,
    vllm_importance_sampling_mode: Any = ...,
    vllm_max_model_length: Any = ...,
    vllm_mode: Any = ...,
    vllm_model_impl: Any = ...,
    vllm_server_base_url: Any = ...,
    vllm_server_host: Any = ...,
    vllm_server_port: Any = ...,
    vllm_server_timeout: Any = ...,
    vllm_structured_outputs_regex: Any = ...,
    vllm_tensor_parallel_size: Any = ...,
    warmup_steps: Any = ...,
    weight_decay: Any = ...,
) -> TrainAnswer: ...

@overload
def train(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    solve: str,
    **options: Any,
) -> QuestionAnswer: ...

@overload
def train(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    grid: str,
    **options: Any,
) -> QuestionAnswer: ...

@overload
def train(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    compare: str,
    **options: Any,
) -> QuestionAnswer: ...

# Lists of values.
@overload
def train(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    **options: Any,
) -> Sweep[TrainAnswer]: ...

@overload
def serve(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    engine: Optional[Union[str, float]] = ...,  # the inference engine
    engine_version: Optional[Union[str, float]] = ...,  # its version
    with_: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the releases meant, like vllm==0.32.0
    gpu: Optional[Union[str, float]] = ...,  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[int, str]] = ...,  # how many of them
    gpu_memory_bytes: Optional[Union[int, str]] = ...,  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[int, str]] = ...,  # memory of the CUDA context, instead of the catalog's figure
    solve: Optional[Union[str, float]] = ...,  # the largest value of that flag that fits
    users: Optional[Union[int, str]] = ...,  # people at a time, each with --context and --output
    context: Optional[Union[str, float]] = ...,  # tokens of a user's prompt: how many users are there room for?
    output: Optional[Union[str, float]] = ...,  # tokens of a user's answer (0)
    driver_placement: Optional[Literal["linux", "first-fit"]] = ...,  # where the driver puts segments
    as_family: Optional[Union[str, float]] = ...,  # an unknown MODEL as a family of its sizes: an estimate
    ctx_size: Optional[Union[int, str]] = ...,  # tokens of context; 0: what the model was trained for
    batch_size: Optional[Union[int, str]] = ...,  # logical batch (2048)
    ubatch_size: Optional[Union[int, str]] = ...,  # physical batch (512)
    parallel: Optional[Union[int, str]] = ...,  # sequences at a time
    kv_unified: Optional[bool] = ...,  # one cache for all sequences
    no_kv_unified: Optional[bool] = ...,  # 
    flash_attn: Optional[Union[str, float]] = ...,  # flash attention (auto)
    cache_type_k: Optional[Union[str, float]] = ...,  # type of the keys: f16, q8_0, q4_0 ...
    cache_type_v: Optional[Union[str, float]] = ...,  # type of the values
    kv_cache_dtype: Optional[Union[str, float]] = ...,  # type of keys and values
    device: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # none, or CUDA0, ROCm0, SYCL0, Vulkan0, MTL0, GPUOpenCL, RPC0 ...
    host_memory_bytes: Optional[Union[int, str]] = ...,  # what --device none is to fit in
    n_gpu_layers: Optional[Union[int, str]] = ...,  # layers on the GPUs, the output counts as one
    split_mode: Optional[Literal["none", "layer", "row"]] = ...,  # how the model is spread over GPUs
    tensor_split: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # share of each GPU
    main_gpu: Optional[Union[int, str]] = ...,  # the GPU of --split-mode none
    cpu_moe: Optional[bool] = ...,  # all experts in host memory
    n_cpu_moe: Optional[Union[int, str]] = ...,  # the experts of the first N layers in host memory
    override_tensor: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # tensors by regular expression
    no_kv_offload: Optional[bool] = ...,  # keys and values in host memory
    kv_offload: Optional[bool] = ...,  # 
    no_op_offload: Optional[bool] = ...,  # ops on host weights stay on the CPU
    op_offload: Optional[bool] = ...,  # 
    swa_full: Optional[bool] = ...,  # the full cache also for sliding windows
    no_mmap: Optional[bool] = ...,  # read the file instead of mapping it
    mmap: Optional[bool] = ...,  # 
    n_outputs_max: Optional[Union[int, str]] = ...,  # rows of logits reserved; 0: a whole batch
    embedding: Optional[bool] = ...,  # embeddings are asked for, pooled as the model says
    pooling: Optional[Literal["none", "mean", "cls", "last", "rank"]] = ...,  # how they are pooled instead
    reranking: Optional[bool] = ...,  # embeddings, pooled to a rank
    spec_type: Optional[Union[str, float]] = ...,  # speculative decoding: draft-mtp, ngram-mod ...
    spec_draft_n_max: Optional[Union[int, str]] = ...,  # tokens of a draft (3)
    spec_draft_type_k: Optional[Union[str, float]] = ...,  # type of the draft head's keys
    spec_draft_type_v: Optional[Union[str, float]] = ...,  # of its values
    spec_draft_model: Optional[Union[str, float]] = ...,  # a smaller model that drafts
    spec_draft_ngl: Optional[Union[int, str]] = ...,  # its layers on the GPUs
    spec_draft_quantize: Optional[Union[str, float]] = ...,  # as llama-quantize would make it
    lora: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # adapters, applied
    mmproj: Optional[Union[str, float]] = ...,  # the tower of a multimodal model; its weights alone
    no_mmproj_offload: Optional[bool] = ...,  # that in host memory
    mmproj_offload: Optional[bool] = ...,  # 
    quantize: Optional[Union[str, float]] = ...,  # as llama-quantize would make it: Q4_K_M, IQ4_XS ...
    fit: Optional[bool] = ...,  # how many layers fit, with the flags to paste
    max_model_len: Optional[Union[int, str]] = ...,  # tokens of prompt and answer; -1: what fits
    max_num_seqs: Optional[Union[int, str]] = ...,  # requests at a time
    max_num_batched_tokens: Optional[Union[int, str]] = ...,  # tokens of one step
    gpu_memory_utilization: Optional[Union[float, str]] = ...,  # share of the GPU that vLLM may use (0.92)
    kv_cache_memory_bytes: Optional[Union[int, str]] = ...,  # the KV cache's size, as is
    num_gpu_blocks_override: Optional[Union[int, str]] = ...,  # blocks of the KV cache, as they are
    block_size: Optional[Union[int, str]] = ...,  # tokens of a block
    attention_backend: Optional[Union[str, float]] = ...,  # FLASH_ATTN, FLASHINFER, TRITON_ATTN ...
    dtype: Optional[Union[str, float]] = ...,  # auto, bfloat16, float16, float32
    quantization: Optional[Union[str, float]] = ...,  # of an unquantized checkpoint: fp8, bitsandbytes
    cpu_offload_gb: Optional[Union[float, str]] = ...,  # GiB of each rank's weights that lie in host memory
    tensor_parallel_size: Optional[Union[int, str]] = ...,  # ranks of tensor parallelism
    pipeline_parallel_size: Optional[Union[int, str]] = ...,  # pipeline stages
    data_parallel_size: Optional[Union[int, str]] = ...,  # ranks of data parallelism
    decode_context_parallel_size: Optional[Union[int, str]] = ...,  # tensor parallel ranks that share a context's cache
    enable_expert_parallel: Optional[Union[str, float]] = ...,  # whole experts per rank
    enforce_eager: Optional[bool] = ...,  # no CUDA graphs, no compilation
    compilation_config: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # mode, cudagraph_mode and cudagraph_capture_sizes are read
    optimization_level: Optional[Union[int, str]] = ...,  # 0: no compilation and no graphs; 1: pieces (2)
    cudagraph_capture_sizes: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # sizes of CUDA graphs
    max_cudagraph_capture_size: Optional[Union[int, str]] = ...,  # the largest CUDA graph
    enable_prefix_caching: Optional[bool] = ...,  # 
    no_enable_prefix_caching: Optional[bool] = ...,  # recurrent layers then need fewer blocks
    disable_hybrid_kv_cache_manager: Optional[bool] = ...,  # sliding layers are held as full ones
    no_async_scheduling: Optional[bool] = ...,  # one batch at a time
    async_scheduling: Optional[bool] = ...,  # 
    usage_context: Optional[Literal["llm", "api-server"]] = ...,  # whose defaults for tokens and requests: LLM() or vllm serve (api-server)
    runner: Optional[Literal["auto", "generate", "pooling"]] = ...,  # pooling: embeddings, scores and rewards
    convert: Optional[Literal["auto", "none", "embed", "classify"]] = ...,  # a model that generates, to one that pools
    task: Optional[Union[str, float]] = ...,  # of older releases: embed, classify, score, reward
    enable_lora: Optional[bool] = ...,  # room for adapters beside every layer
    max_loras: Optional[Union[int, str]] = ...,  # adapters that may run at a time (1)
    max_lora_rank: Optional[Union[int, str]] = ...,  # the largest rank of an adapter (16)
    max_cpu_loras: Optional[Union[int, str]] = ...,  # 
    lora_modules: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # 
    speculative_config: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # method ngram, mtp (the model's own predictor), eagle, eagle3 or draft_model, with model and num_speculative_tokens
    language_model_only: Optional[bool] = ...,  # without the encoders of images and videos
    limit_mm_per_prompt: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # images and videos of a prompt; 0 of all is without
    mm_processor_kwargs: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # of the processor: max_pixels of an image
    skip_mm_profiling: Optional[bool] = ...,  # images and videos have no part in the profile run
    hf_overrides: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # members of config.json in the place of its own
    rank: Optional[Union[int, str]] = ...,  # 
    disable_custom_all_reduce: Optional[bool] = ...,  # 
    distributed_executor_backend: Optional[Union[str, float]] = ...,  # 
    enable_chunked_prefill: Optional[bool] = ...,  # 
    no_enable_chunked_prefill: Optional[bool] = ...,  # whole prompts in one step
    trust_remote_code: Optional[bool] = ...,  # 
    served_model_name: Optional[Union[str, float]] = ...,  # 
    tokenizer: Optional[Union[str, float]] = ...,  # 
    load_format: Optional[Union[str, float]] = ...,  # fastsafetensors and instanttensor read files on the GPU
    revision: Optional[Union[str, float]] = ...,  # 
    seed: Optional[Union[int, str]] = ...,  # 
    host: Optional[Union[str, float]] = ...,  # 
    port: Optional[Union[int, str]] = ...,  # 
    api_key: Optional[Union[str, float]] = ...,  # 
    chat_template: Optional[Union[str, float]] = ...,  # 
    enable_auto_tool_choice: Optional[bool] = ...,  # 
    tool_call_parser: Optional[Union[str, float]] = ...,  # 
    reasoning_parser: Optional[Union[str, float]] = ...,  # 
    generation_config: Optional[Union[str, float]] = ...,  # 
    swap_space: Optional[Union[float, str]] = ...,  # 
    max_log_len: Optional[Union[int, str]] = ...,  # 
    disable_log_stats: Optional[bool] = ...,  # 
    disable_log_requests: Optional[bool] = ...,  # 
    mem_fraction_static: Optional[Union[float, str]] = ...,  # share of the free memory for weights and caches (by the device)
    context_length: Optional[Union[int, str]] = ...,  # tokens of prompt and answer
    max_running_requests: Optional[Union[int, str]] = ...,  # requests at a time
    max_total_tokens: Optional[Union[int, str]] = ...,  # tokens of the cache, at most
    chunked_prefill_size: Optional[Union[int, str]] = ...,  # tokens of one prefill step; -1: whole prompts
    max_prefill_tokens: Optional[Union[int, str]] = ...,  # tokens of a batch of whole prompts
    page_size: Optional[Union[int, str]] = ...,  # tokens of a page (1)
    tp_size: Optional[Union[int, str]] = ...,  # ranks of tensor parallelism
    pp_size: Optional[Union[int, str]] = ...,  # pipeline stages
    dp_size: Optional[Union[int, str]] = ...,  # whole servers beside each other
    ep_size: Optional[Union[int, str]] = ...,  # ranks that whole experts lie on
    attn_dp_size: Optional[Union[int, str]] = ...,  # 
    enable_dp_attention: Optional[bool] = ...,  # 
    cuda_graph_max_bs: Optional[Union[int, str]] = ...,  # largest captured batch
    disable_cuda_graph: Optional[bool] = ...,  # no CUDA graphs
    disable_decode_cuda_graph: Optional[bool] = ...,  # none of decoding
    disable_prefill_cuda_graph: Optional[bool] = ...,  # none of prefill: no room is kept for them
    cuda_graph_max_bs_prefill: Optional[Union[int, str]] = ...,  # tokens of the largest graph of prefill
    cuda_graph_backend_decode: Optional[Union[str, float]] = ...,  # disabled: none
    cuda_graph_backend_prefill: Optional[Union[str, float]] = ...,  # disabled: none
    disable_radix_cache: Optional[bool] = ...,  # no cache of prefixes
    swa_full_tokens_ratio: Optional[Union[float, str]] = ...,  # tokens of sliding layers per token of others (0.8)
    disable_hybrid_swa_memory: Optional[bool] = ...,  # sliding layers are held as full ones
    mamba_full_memory_ratio: Optional[Union[float, str]] = ...,  # states per byte of keys and values (0.9)
    max_mamba_cache_size: Optional[Union[int, str]] = ...,  # slots of recurrent states
    mamba_ssm_dtype: Optional[Union[str, float]] = ...,  # of recurrent states
    json_model_override_args: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # members of config.json in the place of its own
    attention: Optional[Literal["eager", "sdpa", "kernels-community/vllm-flash-attn3"]] = ...,  # attention implementation (sdpa); the kernel of the hub for GPT-OSS
    prompt_length: Optional[Union[int, str]] = ...,  # tokens of each prompt (512)
    max_new_tokens: Optional[Union[int, str]] = ...,  # tokens made for each (20)
    cache_implementation: Optional[Literal["dynamic", "static", "offloaded", "offloaded_static", "quantized"]] = ...,  # how keys and values are kept (dynamic)
    cache_config: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # of a quantized cache: nbits, axis_key, axis_value, q_group_size, residual_length
    prefill_chunk_size: Optional[Union[int, str]] = ...,  # prompt tokens a pass
    num_beams: Optional[Union[int, str]] = ...,  # beams of beam search (1)
    do_sample: Optional[bool] = ...,  # draw tokens in place of the likeliest
    temperature: Optional[Union[float, str]] = ...,  # scores are divided by it (1)
    top_k: Optional[Union[int, str]] = ...,  # draw from so many tokens (50; 0: all)
    top_p: Optional[Union[float, str]] = ...,  # draw from the likeliest, of that probability together (1)
    min_p: Optional[Union[float, str]] = ...,  # draw from what is at least so likely beside the likeliest
    typical_p: Optional[Union[float, str]] = ...,  # draw from the most typical tokens (1)
    repetition_penalty: Optional[Union[float, str]] = ...,  # of tokens that were there (1)
    output_scores: Optional[bool] = ...,  # return every token's scores
    output_logits: Optional[bool] = ...,  # return every token's logits
    prompt_lookup_num_tokens: Optional[Union[int, str]] = ...,  # candidates that are looked up in the prompt and checked in one pass
    assistant_model: Optional[Union[str, float]] = ...,  # a smaller model of the same vocabulary that proposes tokens
    num_assistant_tokens: Optional[Union[int, str]] = ...,  # that it proposes for a pass, at most (20)
    num_assistant_tokens_schedule: Optional[Literal["constant", "heuristic", "heuristic_transient"]] = ...,  # how that number changes from round to round (constant)
    assistant_confidence_threshold: Optional[Union[float, str]] = ...,  # probability below which it stops proposing (0.4; 0: never)
) -> ServeAnswer: ...

@overload
def serve(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    compare: str,
    **options: Any,
) -> CompareAnswer: ...

# Lists of values.
@overload
def serve(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    **options: Any,
) -> Sweep[ServeAnswer]: ...

def plan_train(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    objective: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # what is best (throughput)
    top: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # how many plans are shown (5)
    gpus_per_node: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # GPUs that share fast links (8)
    cluster: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # GPUs, nodes, links, memory and price: dgx-h100, p5 ...
    method: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # how much is trained; several with commas
    sharding: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # how data parallel ranks share the model
    price: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # an hour of one GPU
    export: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # write what launches a plan: its script and configurations
    plan: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # which of the plans (1)
    force: Optional[bool] = ...,  # write over files that are there
    gpu: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # how many of them (as many as the sizes of the layout take)
    gpu_memory_bytes: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # memory of the CUDA context, instead of the catalog's figure
    driver_placement: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # where the driver puts segments
    framework: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # whose training loop: torch, transformers, ddp, fsdp1, fsdp2, deepspeed, torch-tp, torch-pp, torch-cp, litgpt, megatron-core, torchtitan
    trainer: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # which of transformers' and trl's trainers: trainer, sft, dpo, reward, grpo, kto, rloo, cpo, orpo, none, llama-factory-dpo, llama-factory-kto, llama-factory-rm; none is a loop around accelerate
    task: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # what is trained for: causal-lm, masked-lm, seq2seq-lm, image-text-to-text, image-classification, zero-shot-image-classification, speech-seq2seq, sequence-classification, token-classification, question-answering, multiple-choice
    micro_batch_size: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # sequences per GPU and forward pass
    sequence_length: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # tokens per sequence; else 2048, or as many as the model has positions
    target_length: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # labels per sequence of an encoder-decoder (as many as tokens)
    num_labels: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # classes of a classifier (the configuration's, else 2)
    gradient_accumulation: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # micro-batches per optimizer step (1)
    global_batch_size: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # sequences per optimizer step on all GPUs, in place of --gradient-accumulation
    precision: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # what is computed in: fp32, bf16, fp16, amp-bf16, amp-fp16, fp8, mxfp8
    optimizer: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # adamw, adam, sgd, sgd-momentum, adagrad, rmsprop, adamax, nadam, adafactor, adafactor-hf; of Trainer those of its --optim, too, like adamw-8bit
    optimizer_impl: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # which of torch's implementations
    max_grad_norm: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # clip gradients to this norm
    gradient_checkpointing: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # what is recomputed
    attention: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the attention implementation
    attention_mask: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # whether the batch carries a mask
    imbalance: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # tokens of the fullest expert over the mean (1)
    compile: Optional[bool] = ...,  # torch.compile(model) before the first step
    loss: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # how the cross entropy is computed
    weights: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # dtype of the parameters (follows --precision)
    quantize: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16
    qlora: Optional[bool] = ...,  # QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit AdamW, checkpointing (Trainer)
    quantization: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the quantization library's own configuration
    lora_rank: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # train LoRA adapters of this rank instead of the weights
    lora_targets: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the modules that get an adapter
    lora_dropout: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # dropout before the adapter
    peft: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # a LoraConfig
    freeze: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # parameters that are not trained; may be repeated
    train_last_layers: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # train the last N layers alone (-N: the first)
    upcast_trained: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # cast what --train-last-layers trains to fp32
    with_: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the releases meant, like torch==2.8.0,transformers==4.57.6 (else those of the active Python environment, else the newest known; none: those)
    requirements: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them
    python: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # an interpreter or environment that has them installed (verify runs it)
    transformers_version: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the same as --with transformers==X.Y
    litgpt_version: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the same as --with litgpt==X.Y
    dp: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # data parallel size
    zero: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # ZeRO stage
    tp: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # tensor parallel size
    sp: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # sequence parallel size
    pp: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # pipeline stages
    vpp: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # virtual stages per pipeline rank
    schedule: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # pipeline schedule
    cp: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # context parallel size
    ep: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # expert parallel size
    etp: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # tensor parallel size inside an expert
    offload: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # what is held in host memory
    init_device: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # where the model is made before it is wrapped
    strategy: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the framework's own options by their own names
    accelerator_config: Any = ...,
    activation_offloading: Any = ...,
    adam_beta1: Any = ...,
    adam_beta2: Any = ...,
    adam_epsilon: Any = ...,
    alpha: Any = ...,
    assistant_only_loss: Any = ...,
    auto_find_batch_size: Any = ...,
    average_tokens_across_devices: Any = ...,
    batch_eval_metrics: Any = ...,
    beta: Any = ...,
    bf16: Any = ...,
    bf16_full_eval: Any = ...,
    cache_implementation: Any = ...,
    cast_lm_head_to_fp32: Any = ...,
    center_rewards_coefficient: Any = ...,
    chat_template_kwargs: Any = ...,
    chat_template_path: Any = ...,
    completion_only_loss: Any = ...,
    compute_metrics: Any = ...,
    cpo_alpha: Any = ...,
    cut_cross_entropy: Any = ...,
    data_seed: Any = ...,
    dataloader_drop_last: Any = ...,
    dataloader_in_order: Any = ...,
    dataloader_multiprocessing_context: Any = ...,
    dataloader_num_workers: Any = ...,
    dataloader_persistent_workers: Any = ...,
    dataloader_pin_memory: Any = ...,
    dataloader_prefetch_factor: Any = ...,
    dataset_kwargs: Any = ...,
    dataset_num_proc: Any = ...,
    dataset_text_field: Any = ...,
    ddp_backend: Any = ...,
    ddp_broadcast_buffers: Any = ...,
    ddp_bucket_cap_mb: Any = ...,
    ddp_find_unused_parameters: Any = ...,
    ddp_static_graph: Any = ...,
    ddp_timeout: Any = ...,
    debug: Any = ...,
    deepspeed: Any = ...,
    delta: Any = ...,
    desirable_weight: Any = ...,
    disable_dropout: Any = ...,
    disable_tqdm: Any = ...,
    discopop_tau: Any = ...,
    do_eval: Any = ...,
    do_predict: Any = ...,
    do_train: Any = ...,
    ds3_gather_for_generation: Any = ...,
    enable_jit_checkpoint: Any = ...,
    entropy_coef: Any = ...,
    entropy_coef_delta: Any = ...,
    entropy_coef_max: Any = ...,
    entropy_coef_min: Any = ...,
    entropy_target: Any = ...,
    eos_token: Any = ...,
    epsilon: Any = ...,
    epsilon_high: Any = ...,
    eval_accumulation_steps: Any = ...,
    eval_delay: Any = ...,
    eval_do_concat_batches: Any = ...,
    eval_on_start: Any = ...,
    eval_packing: Any = ...,
    eval_samples: Any = ...,
    eval_steps: Any = ...,
    eval_strategy: Any = ...,
    eval_use_gather_object: Any = ...,
    f_alpha_divergence_coef: Any = ...,
    f_divergence_type: Any = ...,
    fp16: Any = ...,
    fp16_full_eval: Any = ...,
    fsdp: Any = ...,
    fsdp_config: Any = ...,
    full_determinism: Any = ...,
    generate_during_eval: Any = ...,
    generation_batch_size: Any = ...,
    generation_kwargs: Any = ...,
    gradient_accumulation_steps: Any = ...,
    gradient_checkpointing_kwargs: Any = ...,
    greater_is_better: Any = ...,
    hub_always_push: Any = ...,
    hub_model_id: Any = ...,
    hub_private_repo: Any = ...,
    hub_revision: Any = ...,
    hub_strategy: Any = ...,
    hub_token: Any = ...,
    ignore_data_skip: Any = ...,
    importance_sampling_level: Any = ...,
    include_for_metrics: Any = ...,
    include_num_input_tokens_seen: Any = ...,
    is_encoder_decoder: Any = ...,
    label_names: Any = ...,
    label_smoothing: Any = ...,
    label_smoothing_factor: Any = ...,
    ld_alpha: Any = ...,
    learning_rate: Any = ...,
    length_column_name: Any = ...,
    liger_kernel_config: Any = ...,
    load_best_model_at_end: Any = ...,
    local_rank: Any = ...,
    log_completions: Any = ...,
    log_completions_hub_repo: Any = ...,
    log_level: Any = ...,
    log_level_replica: Any = ...,
    log_multimodal: Any = ...,
    log_on_each_node: Any = ...,
    log_unique_prompts: Any = ...,
    logging_first_step: Any = ...,
    logging_nan_inf_filter: Any = ...,
    logging_steps: Any = ...,
    logging_strategy: Any = ...,
    lora_mlp_kernel: Any = ...,
    lora_o_kernel: Any = ...,
    lora_qkv_kernel: Any = ...,
    loss_type: Any = ...,
    loss_weights: Any = ...,
    lr_scheduler_kwargs: Any = ...,
    lr_scheduler_type: Any = ...,
    mask_truncated_completions: Any = ...,
    max_completion_length: Any = ...,
    max_length: Any = ...,
    max_steps: Any = ...,
    max_tool_calling_iterations: Any = ...,
    metric_for_best_model: Any = ...,
    min_p: Any = ...,
    model_init_kwargs: Any = ...,
    multi_objective_aggregation: Any = ...,
    neftune_noise_alpha: Any = ...,
    normalize_advantages: Any = ...,
    num_completions_to_print: Any = ...,
    num_generations: Any = ...,
    num_generations_eval: Any = ...,
    num_iterations: Any = ...,
    num_train_epochs: Any = ...,
    off_policy_mask_threshold: Any = ...,
    optim: Any = ...,
    optim_args: Any = ...,
    optim_target_modules: Any = ...,
    output_dir: Any = ...,
    packed_sequences: Any = ...,
    packing: Any = ...,
    packing_strategy: Any = ...,
    pad_to_multiple_of: Any = ...,
    pad_token: Any = ...,
    padding_free: Any = ...,
    padding_value: Any = ...,
    parallelism_config: Any = ...,
    per_device_eval_batch_size: Any = ...,
    per_device_train_batch_size: Any = ...,
    precompute_ref_batch_size: Any = ...,
    precompute_ref_log_probs: Any = ...,
    prediction_loss_only: Any = ...,
    pref_loss: Any = ...,
    prepare_model_for_kbit_training: Any = ...,
    project: Any = ...,
    prompt_length: Any = ...,
    push_to_hub: Any = ...,
    quantize_moe_experts: Any = ...,
    ref_model_mixup_alpha: Any = ...,
    ref_model_sync_steps: Any = ...,
    remove_unused_columns: Any = ...,
    repetition_penalty: Any = ...,
    report_to: Any = ...,
    restore_callback_states_from_checkpoint: Any = ...,
    resume_from_checkpoint: Any = ...,
    reward_clip_range: Any = ...,
    reward_weights: Any = ...,
    router_aux_loss_coef: Any = ...,
    run_name: Any = ...,
    sapo_temperature_neg: Any = ...,
    sapo_temperature_pos: Any = ...,
    save_on_each_node: Any = ...,
    save_only_model: Any = ...,
    save_steps: Any = ...,
    save_strategy: Any = ...,
    save_total_limit: Any = ...,
    scale_rewards: Any = ...,
    scored_tokens: Any = ...,
    seed: Any = ...,
    shuffle_dataset: Any = ...,
    simpo_gamma: Any = ...,
    skip_memory_metrics: Any = ...,
    steps_per_generation: Any = ...,
    sync_ref_model: Any = ...,
    temperature: Any = ...,
    tf32: Any = ...,
    top_entropy_quantile: Any = ...,
    top_k: Any = ...,
    top_p: Any = ...,
    torch_compile: Any = ...,
    torch_compile_backend: Any = ...,
    torch_compile_mode: Any = ...,
    torch_empty_cache_steps: Any = ...,
    trackio_bucket_id: Any = ...,
    trackio_space_id: Any = ...,
    trackio_static_space_id: Any = ...,
    train_sampling_strategy: Any = ...,
    transformers_continuous_batching_config: Any = ...,
    truncation_mode: Any = ...,
    trust_remote_code: Any = ...,
    undesirable_weight: Any = ...,
    unfrozen_parameters: Any = ...,
    use_adaptive_entropy: Any = ...,
    use_bias_correction_kl: Any = ...,
    use_cache: Any = ...,
    use_cpu: Any = ...,
    use_liger_kernel: Any = ...,
    use_transformers_continuous_batching: Any = ...,
    use_transformers_paged: Any = ...,
    use_vllm: Any = ...,
    use_weighting: Any = ...,
    vespo_k_neg: Any = ...,
    vespo_k_pos: Any = ...,
    vespo_lambda_neg: Any = ...,
    vespo_lambda_pos: Any = ...,
    vllm_enable_sleep_mode: Any = ...,
    vllm_gpu_memory_utilization: Any = ...,
    vllm_group_port: Any = ...,
    vllm_importance_sampling_cap: Any = ...,
    vllm_importance_sampling_clip_max: Any = ...,
    vllm_importance_sampling_clip_min: Any = ...,
    vllm_importance_sampling_correction: Any = ...,
    vllm_importance_sampling_mode: Any = ...,
    vllm_max_model_length: Any = ...,
    vllm_mode: Any = ...,
    vllm_model_impl: Any = ...,
    vllm_server_base_url: Any = ...,
    vllm_server_host: Any = ...,
    vllm_server_port: Any = ...,
    vllm_server_timeout: Any = ...,
    vllm_structured_outputs_regex: Any = ...,
    vllm_tensor_parallel_size: Any = ...,
    warmup_steps: Any = ...,
    weight_decay: Any = ...,
) -> OtherAnswer: ...

def plan_serve(
    model: Any,
    *held: Any,
    config: Any = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    available: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the GPUs at hand, like 8xh100-80gb,4xa100-80gb
    users: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # requests at a time (1)
    context: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # tokens of a prompt, like 32k (1024)
    output: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # tokens of an answer (256)
    ttft: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the longest time to a first token, like 2s
    tpot: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # the longest time between tokens, like 50ms
    engine: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # which engines (vllm)
    allow_quantize: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # roundings of weights that are allowed (none)
    price: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # an hour of one GPU
    export: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # write what launches a plan: its script and containers
    plan: Optional[Union[str, float, Sequence[Union[str, float]]]] = ...,  # which of the plans (1)
    force: Optional[bool] = ...,  # write over files that are there
) -> OtherAnswer: ...

def fits(model: Any, gpu: str, *held: Any, **options: Any) -> bool: ...
def launch(command: Union[str, Sequence[str]], *, releases: Optional[str] = ..., **options: Any) -> Any: ...
def models() -> ModelsAnswer: ...
def model(name: str) -> ModelAnswer: ...
def gpus(id: Optional[str] = ...) -> GpusAnswer: ...
def ask(request: Mapping[str, Any]) -> Any: ...
