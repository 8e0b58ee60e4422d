# SPDX-License-Identifier: Apache-2.0
# Made by bindings/python/generate.py: do not edit.
from typing import Any, Mapping, Optional, Sequence, Union, overload

from ._answer import Answer, OtherAnswer
from .answers import GpusAnswer, ModelAnswer, ModelsAnswer, ServeAnswer, TrainAnswer

@overload
def train(
    model: Any,
    *held: Any,
    config: Union[str, Mapping[str, Any], None] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    gpu: Optional[Union[str, int, float]] = ...,  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[int, str]] = ...,  # how many of them (as many as the sizes of the layout take)
    gpu_memory_bytes: Optional[Union[int, str]] = ...,  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[int, str]] = ...,  # memory of the CUDA context, instead of the catalog's figure
    driver_placement: Optional[Union[str, int, float]] = ...,  # where the driver puts segments
    framework: Optional[Union[str, int, float]] = ...,  # torch, transformers (Trainer, with its TrainingArguments), ddp, fsdp1, fsdp2, deepspeed, torch-tp, torch-pp, torch-cp, litgpt, megatron-core, torchtitan
    trainer: Optional[Union[str, int, float]] = ...,  # which of transformers' and trl's trainers; none: a loop around accelerate
    task: Optional[Union[str, int, float]] = ...,  # causal-lm, masked-lm, seq2seq-lm, sequence-classification, ...
    micro_batch_size: Optional[Union[int, str]] = ...,  # sequences per GPU and forward pass
    sequence_length: Optional[Union[int, str]] = ...,  # tokens per sequence; else 2048, or as many as the model has positions
    target_length: Optional[Union[int, str]] = ...,  # labels per sequence of an encoder-decoder (as many as tokens)
    num_labels: Optional[Union[int, str]] = ...,  # classes of a classifier (the configuration's, else 2)
    gradient_accumulation: Optional[Union[int, str]] = ...,  # micro-batches per optimizer step (1)
    global_batch_size: Optional[Union[int, str]] = ...,  # sequences per optimizer step on all GPUs, in place of --gradient-accumulation
    precision: Optional[Union[str, int, float]] = ...,  # fp32, bf16, fp16, amp-bf16, amp-fp16
    optimizer: Optional[Union[str, int, float]] = ...,  # adamw, adam, sgd, sgd-momentum, adafactor, adamw-8bit, paged-adamw-8bit, ...
    optimizer_impl: Optional[Union[str, int, float]] = ...,  # which of torch's implementations
    max_grad_norm: Optional[Union[str, int, float]] = ...,  # clip gradients to this norm
    gradient_checkpointing: Optional[Union[str, int, float]] = ...,  # what is recomputed
    attention: Optional[Union[str, int, float]] = ...,  # the attention implementation
    attention_mask: Optional[Union[str, int, float]] = ...,  # whether the batch carries a mask
    imbalance: Optional[Union[str, int, float]] = ...,  # tokens of the fullest expert over the mean (1)
    compile: Optional[bool] = ...,  # torch.compile(model) before the first step
    loss: Optional[Union[str, int, float]] = ...,  # how the cross entropy is computed
    weights: Optional[Union[str, int, float]] = ...,  # dtype of the parameters (follows --precision)
    quantize: Optional[Union[str, int, float]] = ...,  # none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16
    qlora: Optional[bool] = ...,  # QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit AdamW, checkpointing (Trainer)
    quantization: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the quantization library's own configuration
    lora_rank: Optional[Union[int, str]] = ...,  # train LoRA adapters of this rank instead of the weights
    lora_targets: Optional[Union[str, Sequence[str]]] = ...,  # the modules that get an adapter
    lora_dropout: Optional[Union[str, int, float]] = ...,  # dropout before the adapter
    peft: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # a LoraConfig
    freeze: Optional[Union[str, Sequence[str]]] = ...,  # parameters that are not trained; may be repeated
    train_last_layers: Optional[Union[int, str]] = ...,  # train the last N layers alone (-N: the first)
    upcast_trained: Optional[Union[str, int, float]] = ...,  # cast what --train-last-layers trains to fp32
    real: Optional[Union[str, int, float]] = ...,  # run the real step on a phantom GPU instead of predicting it: always, or where releases are not known (never)
    requirements: Optional[Union[str, int, float]] = ...,  # a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them
    python: Optional[Union[str, int, float]] = ...,  # an interpreter or environment that has them installed (verify runs it)
    transformers_version: Optional[Union[str, int, float]] = ...,  # the same as --with transformers==X.Y
    litgpt_version: Optional[Union[str, int, float]] = ...,  # the same as --with litgpt==X.Y
    dp: Optional[Union[int, str]] = ...,  # data parallel size
    zero: Optional[Union[str, int, float]] = ...,  # ZeRO stage
    tp: Optional[Union[int, str]] = ...,  # tensor parallel size
    sp: Optional[Union[int, str]] = ...,  # sequence parallel size
    pp: Optional[Union[int, str]] = ...,  # pipeline stages
    vpp: Optional[Union[int, str]] = ...,  # virtual stages per pipeline rank
    schedule: Optional[Union[str, int, float]] = ...,  # pipeline schedule
    cp: Optional[Union[int, str]] = ...,  # context parallel size
    ep: Optional[Union[int, str]] = ...,  # expert parallel size
    etp: Optional[Union[int, str]] = ...,  # tensor parallel size inside an expert
    offload: Optional[Union[str, int, float]] = ...,  # what is held in host memory
    init_device: Optional[Union[str, int, float]] = ...,  # where the model is made before it is wrapped
    rank: Optional[Union[str, int, float]] = ...,  # which rank to report
    strategy: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the framework's own options by their own names
    solve: None = ...,  # the largest that fits on --gpu; of gpus the fewest
    grid: None = ...,  # what each pair of the values of two options needs
    compare: None = ...,  # the same on each of these, like rtx-4090,4xa100-80gb
    price: Optional[Union[str, Sequence[str]]] = ...,  # an hour of one, beside --compare
    **options: Any,
) -> TrainAnswer: ...
@overload
def train(model: Any, *held: Any, **options: Any) -> Any: ...

@overload
def serve(
    model: Any,
    *held: Any,
    config: Union[str, Mapping[str, Any], None] = ...,
    files: Optional[Mapping[str, Any]] = ...,
    releases: Optional[str] = ...,
    engine: Optional[Union[str, int, float]] = ...,  # the inference engine
    engine_version: Optional[Union[str, int, float]] = ...,  # its version
    gpu: Optional[Union[str, int, float]] = ...,  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[int, str]] = ...,  # how many of them
    gpu_memory_bytes: Optional[Union[int, str]] = ...,  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[int, str]] = ...,  # memory of the CUDA context, instead of the catalog's figure
    compare: None = ...,  # a line for each GPU (all that run CUDA) and each of --quantize a,b,c
    solve: None = ...,  # the largest value of that flag that fits
    users: Optional[Union[int, str]] = ...,  # people at a time, each with --context and --output
    context: Optional[Union[str, int, float]] = ...,  # tokens of a user's prompt: how many users are there room for?
    output: Optional[Union[str, int, float]] = ...,  # tokens of a user's answer (0)
    driver_placement: Optional[Union[str, int, float]] = ...,  # where the driver puts segments
    ctx_size: Optional[Union[int, str]] = ...,  # tokens of context; 0: what the model was trained for
    batch_size: Optional[Union[int, str]] = ...,  # logical batch (2048)
    ubatch_size: Optional[Union[int, str]] = ...,  # physical batch (512)
    parallel: Optional[Union[int, str]] = ...,  # sequences at a time
    kv_unified: Optional[bool] = ...,  # one cache for all sequences
    no_kv_unified: Optional[bool] = ...,  # 
    flash_attn: Optional[Union[str, int, float]] = ...,  # flash attention (auto)
    cache_type_k: Optional[Union[str, int, float]] = ...,  # type of the keys: f16, q8_0, q4_0 ...
    cache_type_v: Optional[Union[str, int, float]] = ...,  # type of the values
    kv_cache_dtype: Optional[Union[str, int, float]] = ...,  # type of keys and values
    device: Optional[Union[str, Sequence[str]]] = ...,  # none, or CUDA0, ROCm0, SYCL0, Vulkan0, MTL0, GPUOpenCL, RPC0 ...
    host_memory_bytes: Optional[Union[int, str]] = ...,  # what --device none is to fit in
    n_gpu_layers: Optional[Union[int, str]] = ...,  # layers on the GPUs, the output counts as one
    split_mode: Optional[Union[str, int, float]] = ...,  # how the model is spread over GPUs
    tensor_split: Optional[Union[str, Sequence[str]]] = ...,  # share of each GPU
    main_gpu: Optional[Union[int, str]] = ...,  # the GPU of --split-mode none
    cpu_moe: Optional[bool] = ...,  # all experts in host memory
    n_cpu_moe: Optional[Union[int, str]] = ...,  # the experts of the first N layers in host memory
    override_tensor: Optional[Union[str, Sequence[str]]] = ...,  # tensors by regular expression
    no_kv_offload: Optional[bool] = ...,  # keys and values in host memory
    kv_offload: Optional[bool] = ...,  # 
    no_op_offload: Optional[bool] = ...,  # ops on host weights stay on the CPU
    op_offload: Optional[bool] = ...,  # 
    swa_full: Optional[bool] = ...,  # the full cache also for sliding windows
    no_mmap: Optional[bool] = ...,  # read the file instead of mapping it
    mmap: Optional[bool] = ...,  # 
    n_outputs_max: Optional[Union[int, str]] = ...,  # rows of logits reserved; 0: a whole batch
    embedding: Optional[bool] = ...,  # embeddings are asked for, pooled as the model says
    pooling: Optional[Union[str, int, float]] = ...,  # how they are pooled instead
    reranking: Optional[bool] = ...,  # embeddings, pooled to a rank
    spec_type: Optional[Union[str, int, float]] = ...,  # speculative decoding: draft-mtp, ngram-mod ...
    spec_draft_n_max: Optional[Union[int, str]] = ...,  # tokens of a draft (3)
    spec_draft_type_k: Optional[Union[str, int, float]] = ...,  # type of the draft head's keys
    spec_draft_type_v: Optional[Union[str, int, float]] = ...,  # of its values
    spec_draft_model: Optional[Union[str, int, float]] = ...,  # a smaller model that drafts
    spec_draft_ngl: Optional[Union[int, str]] = ...,  # its layers on the GPUs
    spec_draft_quantize: Optional[Union[str, int, float]] = ...,  # as llama-quantize would make it
    lora: Optional[Union[str, Sequence[str]]] = ...,  # adapters, applied
    mmproj: Optional[Union[str, int, float]] = ...,  # the tower of a multimodal model; its weights alone
    no_mmproj_offload: Optional[bool] = ...,  # that in host memory
    mmproj_offload: Optional[bool] = ...,  # 
    quantize: Optional[Union[str, int, float]] = ...,  # as llama-quantize would make it: Q4_K_M, IQ4_XS ...
    fit: Optional[bool] = ...,  # how many layers fit, with the flags to paste
    max_model_len: Optional[Union[int, str]] = ...,  # tokens of prompt and answer; -1: what fits
    max_num_seqs: Optional[Union[int, str]] = ...,  # requests at a time
    max_num_batched_tokens: Optional[Union[int, str]] = ...,  # tokens of one step
    gpu_memory_utilization: Optional[Union[str, int, float]] = ...,  # share of the GPU that vLLM may use (0.92)
    kv_cache_memory_bytes: Optional[Union[int, str]] = ...,  # the KV cache's size, as is
    num_gpu_blocks_override: Optional[Union[int, str]] = ...,  # blocks of the KV cache, as they are
    block_size: Optional[Union[int, str]] = ...,  # tokens of a block
    dtype: Optional[Union[str, int, float]] = ...,  # auto, bfloat16, float16, float32
    quantization: Optional[Union[str, int, float]] = ...,  # of an unquantized checkpoint: fp8
    tensor_parallel_size: Optional[Union[int, str]] = ...,  # ranks of tensor parallelism
    pipeline_parallel_size: Optional[Union[int, str]] = ...,  # pipeline stages
    data_parallel_size: Optional[Union[int, str]] = ...,  # ranks of data parallelism
    decode_context_parallel_size: Optional[Union[int, str]] = ...,  # tensor parallel ranks that share a context's cache
    enable_expert_parallel: Optional[Union[str, int, float]] = ...,  # whole experts per rank
    enforce_eager: Optional[bool] = ...,  # no CUDA graphs, no compilation
    compilation_config: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # mode, cudagraph_mode and cudagraph_capture_sizes are read
    optimization_level: Optional[Union[int, str]] = ...,  # 0: no compilation and no graphs; 1: pieces (2)
    cudagraph_capture_sizes: Optional[Union[str, Sequence[str]]] = ...,  # sizes of CUDA graphs
    max_cudagraph_capture_size: Optional[Union[int, str]] = ...,  # the largest CUDA graph
    enable_prefix_caching: Optional[bool] = ...,  # 
    no_enable_prefix_caching: Optional[bool] = ...,  # recurrent layers then need fewer blocks
    disable_hybrid_kv_cache_manager: Optional[bool] = ...,  # sliding layers are held as full ones
    no_async_scheduling: Optional[bool] = ...,  # one batch at a time
    async_scheduling: Optional[bool] = ...,  # 
    usage_context: Optional[Union[str, int, float]] = ...,  # whose defaults for tokens and requests: LLM() or vllm serve (llm)
    enable_lora: Optional[bool] = ...,  # room for adapters beside every layer
    max_loras: Optional[Union[int, str]] = ...,  # adapters that may run at a time (1)
    max_lora_rank: Optional[Union[int, str]] = ...,  # the largest rank of an adapter (16)
    max_cpu_loras: Optional[Union[int, str]] = ...,  # 
    lora_modules: Optional[Union[str, int, float]] = ...,  # 
    speculative_config: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # method ngram, mtp (the model's own predictor), eagle, eagle3 or draft_model, with model and num_speculative_tokens
    language_model_only: Optional[bool] = ...,  # without the encoders of images and videos
    limit_mm_per_prompt: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # images and videos of a prompt; 0 of all is without
    hf_overrides: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # members of config.json in the place of its own
    rank: Optional[Union[int, str]] = ...,  # 
    disable_custom_all_reduce: Optional[bool] = ...,  # 
    distributed_executor_backend: Optional[Union[str, int, float]] = ...,  # 
    enable_chunked_prefill: Optional[bool] = ...,  # 
    no_enable_chunked_prefill: Optional[bool] = ...,  # whole prompts in one step
    trust_remote_code: Optional[bool] = ...,  # 
    served_model_name: Optional[Union[str, int, float]] = ...,  # 
    tokenizer: Optional[Union[str, int, float]] = ...,  # 
    load_format: Optional[Union[str, int, float]] = ...,  # 
    revision: Optional[Union[str, int, float]] = ...,  # 
    seed: Optional[Union[int, str]] = ...,  # 
    host: Optional[Union[str, int, float]] = ...,  # 
    port: Optional[Union[int, str]] = ...,  # 
    api_key: Optional[Union[str, int, float]] = ...,  # 
    chat_template: Optional[Union[str, int, float]] = ...,  # 
    enable_auto_tool_choice: Optional[bool] = ...,  # 
    tool_call_parser: Optional[Union[str, int, float]] = ...,  # 
    reasoning_parser: Optional[Union[str, int, float]] = ...,  # 
    generation_config: Optional[Union[str, int, float]] = ...,  # 
    swap_space: Optional[Union[str, int, float]] = ...,  # 
    max_log_len: Optional[Union[int, str]] = ...,  # 
    disable_log_stats: Optional[bool] = ...,  # 
    disable_log_requests: Optional[bool] = ...,  # 
    mem_fraction_static: Optional[Union[str, int, float]] = ...,  # share of the free memory for weights and caches (by the device)
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
    cuda_graph_backend_decode: Optional[Union[str, int, float]] = ...,  # disabled: none
    cuda_graph_backend_prefill: Optional[Union[str, int, float]] = ...,  # disabled: none
    disable_radix_cache: Optional[bool] = ...,  # no cache of prefixes
    swa_full_tokens_ratio: Optional[Union[str, int, float]] = ...,  # tokens of sliding layers per token of others (0.8)
    disable_hybrid_swa_memory: Optional[bool] = ...,  # sliding layers are held as full ones
    mamba_full_memory_ratio: Optional[Union[str, int, float]] = ...,  # states per byte of keys and values (0.9)
    max_mamba_cache_size: Optional[Union[int, str]] = ...,  # slots of recurrent states
    mamba_ssm_dtype: Optional[Union[str, int, float]] = ...,  # of recurrent states
    json_model_override_args: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # members of config.json in the place of its own
    attention_backend: Optional[Union[str, int, float]] = ...,  # 
    attention: Optional[Union[str, int, float]] = ...,  # attention implementation (sdpa)
    prompt_length: Optional[Union[int, str]] = ...,  # tokens of each prompt (512)
    max_new_tokens: Optional[Union[int, str]] = ...,  # tokens made for each (20)
    cache_implementation: Optional[Union[str, int, float]] = ...,  # how keys and values are kept (dynamic)
    cache_config: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # of a quantized cache: nbits, axis_key, axis_value, q_group_size, residual_length
    prefill_chunk_size: Optional[Union[int, str]] = ...,  # prompt tokens a pass
    num_beams: Optional[Union[int, str]] = ...,  # beams of beam search (1)
    do_sample: Optional[bool] = ...,  # draw tokens in place of the likeliest
    temperature: Optional[Union[str, int, float]] = ...,  # scores are divided by it (1)
    top_k: Optional[Union[int, str]] = ...,  # draw from so many tokens (50; 0: all)
    top_p: Optional[Union[str, int, float]] = ...,  # draw from the likeliest, of that probability together (1)
    min_p: Optional[Union[str, int, float]] = ...,  # draw from what is at least so likely beside the likeliest
    typical_p: Optional[Union[str, int, float]] = ...,  # draw from the most typical tokens (1)
    repetition_penalty: Optional[Union[str, int, float]] = ...,  # of tokens that were there (1)
    output_scores: Optional[bool] = ...,  # return every token's scores
    output_logits: Optional[bool] = ...,  # return every token's logits
    prompt_lookup_num_tokens: Optional[Union[int, str]] = ...,  # candidates that are looked up in the prompt and checked in one pass
    assistant_model: Optional[Union[str, int, float]] = ...,  # a smaller model of the same vocabulary that proposes tokens
    num_assistant_tokens: Optional[Union[int, str]] = ...,  # that it proposes for a pass, at most (20)
    num_assistant_tokens_schedule: Optional[Union[str, int, float]] = ...,  # how that number changes from round to round (constant)
    assistant_confidence_threshold: Optional[Union[str, int, float]] = ...,  # probability below which it stops proposing (0.4; 0: never)
    **options: Any,
) -> ServeAnswer: ...
@overload
def serve(model: Any, *held: Any, **options: Any) -> Any: ...

def plan_train(
    model: Any,
    *held: Any,
    objective: Optional[Union[str, int, float]] = ...,  # what is best (throughput)
    top: Optional[Union[int, str]] = ...,  # how many plans are shown (5)
    gpus_per_node: Optional[Union[int, str]] = ...,  # GPUs that share fast links (8)
    method: Optional[Union[str, int, float]] = ...,  # how much is trained; several with commas
    sharding: Optional[Union[str, int, float]] = ...,  # how data parallel ranks share the model
    price: Optional[Union[str, int, float]] = ...,  # an hour of one GPU
    gpu: Optional[Union[str, int, float]] = ...,  # the GPU to judge against (memtape gpus lists them)
    gpus: Optional[Union[int, str]] = ...,  # how many of them (as many as the sizes of the layout take)
    gpu_memory_bytes: Optional[Union[int, str]] = ...,  # total memory of the GPU, instead of the catalog's figure
    context_bytes: Optional[Union[int, str]] = ...,  # memory of the CUDA context, instead of the catalog's figure
    driver_placement: Optional[Union[str, int, float]] = ...,  # where the driver puts segments
    framework: Optional[Union[str, int, float]] = ...,  # torch, transformers (Trainer, with its TrainingArguments), ddp, fsdp1, fsdp2, deepspeed, torch-tp, torch-pp, torch-cp, litgpt, megatron-core, torchtitan
    trainer: Optional[Union[str, int, float]] = ...,  # which of transformers' and trl's trainers; none: a loop around accelerate
    task: Optional[Union[str, int, float]] = ...,  # causal-lm, masked-lm, seq2seq-lm, sequence-classification, ...
    micro_batch_size: Optional[Union[int, str]] = ...,  # sequences per GPU and forward pass
    sequence_length: Optional[Union[int, str]] = ...,  # tokens per sequence; else 2048, or as many as the model has positions
    target_length: Optional[Union[int, str]] = ...,  # labels per sequence of an encoder-decoder (as many as tokens)
    num_labels: Optional[Union[int, str]] = ...,  # classes of a classifier (the configuration's, else 2)
    gradient_accumulation: Optional[Union[int, str]] = ...,  # micro-batches per optimizer step (1)
    global_batch_size: Optional[Union[int, str]] = ...,  # sequences per optimizer step on all GPUs, in place of --gradient-accumulation
    precision: Optional[Union[str, int, float]] = ...,  # fp32, bf16, fp16, amp-bf16, amp-fp16
    optimizer: Optional[Union[str, int, float]] = ...,  # adamw, adam, sgd, sgd-momentum, adafactor, adamw-8bit, paged-adamw-8bit, ...
    optimizer_impl: Optional[Union[str, int, float]] = ...,  # which of torch's implementations
    max_grad_norm: Optional[Union[str, int, float]] = ...,  # clip gradients to this norm
    gradient_checkpointing: Optional[Union[str, int, float]] = ...,  # what is recomputed
    attention: Optional[Union[str, int, float]] = ...,  # the attention implementation
    attention_mask: Optional[Union[str, int, float]] = ...,  # whether the batch carries a mask
    imbalance: Optional[Union[str, int, float]] = ...,  # tokens of the fullest expert over the mean (1)
    compile: Optional[bool] = ...,  # torch.compile(model) before the first step
    loss: Optional[Union[str, int, float]] = ...,  # how the cross entropy is computed
    weights: Optional[Union[str, int, float]] = ...,  # dtype of the parameters (follows --precision)
    quantize: Optional[Union[str, int, float]] = ...,  # none, int8, nf4, nf4-dq, fp4, fp4-dq; products in bf16
    qlora: Optional[bool] = ...,  # QLoRA's recipe: nf4 twice quantized, adapters on all linear layers, paged 8-bit AdamW, checkpointing (Trainer)
    quantization: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the quantization library's own configuration
    lora_rank: Optional[Union[int, str]] = ...,  # train LoRA adapters of this rank instead of the weights
    lora_targets: Optional[Union[str, Sequence[str]]] = ...,  # the modules that get an adapter
    lora_dropout: Optional[Union[str, int, float]] = ...,  # dropout before the adapter
    peft: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # a LoraConfig
    freeze: Optional[Union[str, Sequence[str]]] = ...,  # parameters that are not trained; may be repeated
    train_last_layers: Optional[Union[int, str]] = ...,  # train the last N layers alone (-N: the first)
    upcast_trained: Optional[Union[str, int, float]] = ...,  # cast what --train-last-layers trains to fp32
    requirements: Optional[Union[str, int, float]] = ...,  # a requirements.txt, uv.lock, poetry.lock or pyproject.toml that pins them
    python: Optional[Union[str, int, float]] = ...,  # an interpreter or environment that has them installed (verify runs it)
    transformers_version: Optional[Union[str, int, float]] = ...,  # the same as --with transformers==X.Y
    litgpt_version: Optional[Union[str, int, float]] = ...,  # the same as --with litgpt==X.Y
    dp: Optional[Union[int, str]] = ...,  # data parallel size
    zero: Optional[Union[str, int, float]] = ...,  # ZeRO stage
    tp: Optional[Union[int, str]] = ...,  # tensor parallel size
    sp: Optional[Union[int, str]] = ...,  # sequence parallel size
    pp: Optional[Union[int, str]] = ...,  # pipeline stages
    vpp: Optional[Union[int, str]] = ...,  # virtual stages per pipeline rank
    schedule: Optional[Union[str, int, float]] = ...,  # pipeline schedule
    cp: Optional[Union[int, str]] = ...,  # context parallel size
    ep: Optional[Union[int, str]] = ...,  # expert parallel size
    etp: Optional[Union[int, str]] = ...,  # tensor parallel size inside an expert
    offload: Optional[Union[str, int, float]] = ...,  # what is held in host memory
    init_device: Optional[Union[str, int, float]] = ...,  # where the model is made before it is wrapped
    strategy: Optional[Union[str, Mapping[str, Any], Any]] = ...,  # the framework's own options by their own names
    **options: Any,
) -> OtherAnswer: ...

def plan_serve(
    model: Any,
    *held: Any,
    available: Optional[Union[str, Sequence[str]]] = ...,  # the GPUs at hand, like 8xh100-80gb,4xa100-80gb
    users: Optional[Union[int, str]] = ...,  # requests at a time (1)
    context: Optional[Union[int, str]] = ...,  # tokens of a prompt, like 32k (1024)
    output: Optional[Union[int, str]] = ...,  # tokens of an answer (256)
    ttft: Optional[Union[str, int, float]] = ...,  # the longest time to a first token, like 2s
    tpot: Optional[Union[str, int, float]] = ...,  # the longest time between tokens, like 50ms
    engine: Optional[Union[str, int, float]] = ...,  # which engines (vllm)
    allow_quantize: Optional[Union[str, Sequence[str]]] = ...,  # roundings of weights that are allowed (none)
    price: Optional[Union[str, Sequence[str]]] = ...,  # an hour of one GPU
    **options: Any,
) -> OtherAnswer: ...

def fits(model: Any, gpu: str, *held: Any, **options: Any) -> bool: ...
def launch(command: Union[str, Sequence[str]], *, releases: Optional[str] = ..., **options: Any) -> Any: ...
def models() -> ModelsAnswer: ...
def model(name: str) -> ModelAnswer: ...
def gpus(id: Optional[str] = ...) -> GpusAnswer: ...
def ask(request: Mapping[str, Any]) -> Answer: ...
