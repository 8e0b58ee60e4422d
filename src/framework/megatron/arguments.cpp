// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/megatron/divisions.h"
#include "framework/megatron/hybrid_arguments.h"
#include "framework/megatron/layers_per_stage.h"
#include "framework/megatron/lora_adapter.h"
#include "framework/megatron/low_bits.h"
#include "framework/megatron/shared_experts.h"
#include "framework/megatron/transformers_model.h"
#include "framework/megatron/vocabulary.h"
#include "model/type_of.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {
namespace {

constexpr std::int64_t kMostDepths = 64;

DType dtype_named(const std::string& name) {
  if (name == "bf16") return DType::bfloat16;
  return name == "fp16" ? DType::float16 : DType::float32;
}

void read_model(const Config& c, Arguments& a) {
  const bool named = c.has("hybrid_layer_pattern") || c.has("hybrid_override_pattern");
  if (!named) a.num_layers = c.layers({"num_layers", "encoder_num_layers"});
  a.hidden_size = c.dimension("hidden_size");
  a.num_attention_heads = c.dimension("num_attention_heads");
  const bool swiglu = c.boolean("swiglu", false);
  a.activation = swiglu                             ? Activation::swiglu
                 : c.boolean("squared_relu", false) ? Activation::squared_relu
                 : c.boolean("quick_geglu", false)  ? Activation::quick_geglu
                                                    : Activation::gelu;
  a.learns_sinks = c.text("softmax_type", "vanilla") == "learnable";
  const std::int64_t ffn = swiglu ? 4 * a.hidden_size * 2 / 3 / 64 * 64 : 4 * a.hidden_size;
  a.ffn_hidden_size = c.dimension("ffn_hidden_size", ffn);
  a.kv_channels =
      c.dimension("kv_channels", std::max<std::int64_t>(1, a.hidden_size / a.num_attention_heads));
  a.num_query_groups = c.boolean("group_query_attention", false)
                           ? c.dimension("num_query_groups", 1)
                           : a.num_attention_heads;
  if (a.num_query_groups < 1 || a.num_attention_heads % a.num_query_groups != 0)
    c.fail("num_query_groups",
           "must divide the " + std::to_string(a.num_attention_heads) + " attention heads");
  a.max_position_embeddings = c.dimension("max_position_embeddings", 1);
  a.add_bias_linear = c.boolean("add_bias_linear", true);
  a.add_qkv_bias = c.boolean("add_qkv_bias", false);
  a.rms_norm = c.text("normalization", "LayerNorm") == "RMSNorm";
  a.qk_layernorm = c.boolean("qk_layernorm", false);
  a.untied = c.boolean("untie_embeddings_and_output_weights", false);
  const std::string position = c.text("position_embedding_type", "learned_absolute");
  a.position_embedding = position == "learned_absolute" ? PositionEmbedding::learned_absolute
                         : position == "none"           ? PositionEmbedding::none
                                                        : PositionEmbedding::rope;
  if (c.boolean("use_rotary_position_embeddings", false))
    a.position_embedding = PositionEmbedding::rope;
  a.rotary_percent = c.number("rotary_percent", 1.0);
  const auto rotated =
      static_cast<std::int64_t>(static_cast<double>(a.kv_channels) * a.rotary_percent);
  if (a.position_embedding == PositionEmbedding::rope && (rotated < 2 || rotated % 2 != 0))
    c.fail("kv_channels",
           "must leave an even number of rotated channels, not " + std::to_string(rotated));
  a.hidden_dropout = c.number("hidden_dropout", 0.1);
  a.attention_dropout = c.number("attention_dropout", 0.1);
  a.mtp_num_layers = c.count("mtp_num_layers", 0);
  if (a.mtp_num_layers > kMostDepths) c.fail("mtp_num_layers", "1 to 64 would do");
  a.mtp_repeats_layer = c.boolean("mtp_use_repeated_layer", false);
  a.bert_binary_head = c.boolean("bert_binary_head", true);
  if (a.program != "pretrain_t5.py") return;
  a.decoder_layers = c.dimension("decoder_num_layers", a.num_layers);
  a.decoder_seq_length = c.dimension("decoder_seq_length");
}

void read_mla(const Config& c, Arguments& a) {
  a.mla.on = c.boolean("multi_latent_attention", false);
  if (!a.mla.on) return;
  a.mla.q_lora_rank = c.count("q_lora_rank", 0);
  a.mla.kv_lora_rank = c.dimension("kv_lora_rank", 32);
  a.mla.qk_head_dim = c.dimension("qk_head_dim", 128);
  a.mla.qk_pos_emb_head_dim = c.dimension("qk_pos_emb_head_dim", 64);
  a.mla.v_head_dim = c.dimension("v_head_dim", 128);
}

void read_numbers(const Config& c, Arguments& a) {
  const bool fp16 = c.boolean("fp16", false), bf16 = c.boolean("bf16", false);
  a.params_dtype = bf16 ? DType::bfloat16 : fp16 ? DType::float16 : DType::float32;
  const bool asked = c.boolean("accumulate_allreduce_grads_in_fp32", false);
  a.grad_reduce_in_fp32 = asked || (bf16 && !c.boolean("grad_reduce_in_bf16", false) &&
                                    c.text("main_grads_dtype", "fp32") == "fp32");
  a.precision_aware_optimizer = c.boolean("use_precision_aware_optimizer", false);
  a.main_params_dtype = dtype_named(c.text("main_params_dtype", "fp32"));
  a.exp_avg_dtype = dtype_named(c.text("exp_avg_dtype", "fp32"));
  a.exp_avg_sq_dtype = dtype_named(c.text("exp_avg_sq_dtype", "fp32"));
  a.use_distributed_optimizer = c.boolean("use_distributed_optimizer", false);
  a.overlap_grad_reduce = c.boolean("overlap_grad_reduce", false);
  a.pad_buckets_for_high_nccl_busbw = c.boolean("ddp_pad_buckets_for_high_nccl_busbw", false);
  a.bucket_size = c.optional_dimension("ddp_bucket_size");
  a.num_distributed_optimizer_instances = c.dimension("num_distributed_optimizer_instances", 1);
  a.clip_grad = c.number("clip_grad", 1.0);
  a.counts_zeros = c.boolean("log_num_zeros_in_grad", false);
  a.decoupled_lr = c.optional_number("decoupled_lr").has_value();
  const std::string optimizer = c.text("optimizer", "adam");
  a.muon = optimizer.ends_with("muon");
  a.muon_steps = c.dimension("muon_num_ns_steps", 5);
  a.layer_wise = a.muon && (a.use_distributed_optimizer || optimizer == "dist_muon");
  if (a.muon) a.use_distributed_optimizer = false;
}

/// ":4096:8" of CUBLAS_WORKSPACE_CONFIG: so many buffers of so many KiB (CublasHandlePool.cpp).
std::optional<Bytes> workspace_bytes(std::string_view text) {
  Bytes total = 0;
  while (text.starts_with(':')) {
    std::array<Bytes, 2> numbers{};
    for (Bytes& number : numbers) {
      if (!text.starts_with(':')) return std::nullopt;
      const auto [at, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
      if (error != std::errc() || number < 0 || number > 1 << 20) return std::nullopt;
      text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    }
    total += numbers[0] * numbers[1] * 1024;
  }
  return total > 0 ? std::optional(total) : std::nullopt;
}

/// Deterministic runs must set CUBLAS_WORKSPACE_CONFIG; ":4096:8" is what Megatron's recipes set
/// (megatron/training/determinism.py).
void read_environment(const Config& c, Arguments& a) {
  const Config environment = c.object("environment");
  a.deterministic_attention =
      environment.text("NVTE_ALLOW_NONDETERMINISTIC_ALGO", a.deterministic ? "0" : "1") == "0";
  a.cublas_workspace = workspace_bytes(
      environment.text("CUBLAS_WORKSPACE_CONFIG", a.deterministic ? ":4096:8" : ""));
}

void read_kernels(const Config& c, Arguments& a) {
  a.transformer_engine = c.text("transformer_impl", "transformer_engine") != "local" &&
                         c.texts("spec") != std::vector<std::string>{"local"};  // BERT's
  const std::string backend = c.text("attention_backend", "auto");
  a.attention_backend = backend == "unfused" ? AttentionBackend::unfused
                        : backend == "local" ? AttentionBackend::local
                        : backend == "flash" ? AttentionBackend::flash
                        : backend == "fused" ? AttentionBackend::fused
                                             : AttentionBackend::automatic;
  if (!a.transformer_engine) a.attention_backend = AttentionBackend::local;
  if (a.transformer_engine) read_low_bits(c, a);
  a.tp_comm_overlap = a.transformer_engine && c.boolean("tp_comm_overlap", false);
  a.gradient_accumulation_fusion = c.boolean("gradient_accumulation_fusion", true);
  a.bias_activation_fusion = a.activation == Activation::swiglu
                                 ? c.boolean("bias_swiglu_fusion", true)
                                 : c.boolean("bias_gelu_fusion", true) && a.add_bias_linear;
  a.masked_softmax_fusion = c.boolean("masked_softmax_fusion", true);
  a.attention_softmax_in_fp32 = c.boolean("attention_softmax_in_fp32", false) ||
                                c.boolean("apply_query_key_layer_scaling", false);
  a.cross_entropy_loss_fusion = c.boolean("cross_entropy_loss_fusion", false);
  a.cross_entropy_te = c.text("cross_entropy_fusion_impl", "native") == "te";
  a.creates_attention_mask = c.boolean("create_attention_mask_in_dataloader", true);
  if (c.boolean("defer_embedding_wgrad_compute", false))
    a.wgrad_deferral_limit = c.count("wgrad_deferral_limit", 0);
  a.deterministic = c.boolean("deterministic_mode", false);
  read_environment(c, a);
  a.fused_kernels = c.boolean("fused_kernels", true);
}

void read_recompute(const Config& c, Arguments& a) {
  const std::string granularity =
      c.boolean("recompute_activations", false) ? "selective" : c.text("recompute_granularity", "");
  a.recompute = granularity == "full"        ? Recompute::full
                : granularity == "selective" ? Recompute::selective
                                             : Recompute::none;
  a.recompute_block = c.text("recompute_method", "uniform") == "block";
  a.recompute_num_layers = c.count("recompute_num_layers", 1);
  if (a.recompute_num_layers == 0 && a.recompute == Recompute::full && !a.recompute_block)
    c.fail("recompute_num_layers", "must be 1 or more under recompute_method uniform");
  if (std::vector<std::string> modules = c.texts("recompute_modules"); !modules.empty())
    a.recompute_modules = std::move(modules);
}

/// TransformerConfig.__post_init__.
Result<void> read_offload(const Config& c, Arguments& a) {
  if (!c.boolean("fine_grained_activation_offloading", false)) return {};
  constexpr auto kModules = std::to_array<std::string_view>(
      {"attn_norm", "attn_proj", "core_attn", "expert_fc1", "mlp_norm", "moe_act", "qkv_linear"});
  a.offload_modules = c.texts("offload_modules");
  a.min_offloaded_tensor_size = c.count("min_offloaded_tensor_size", a.min_offloaded_tensor_size);
  if (a.offload_modules.empty())
    return bad_input("nothing to offload is named", "--offload-modules",
                     fmt::format("some of {}", fmt::join(kModules, ", ")));
  for (const std::string& module : a.offload_modules)
    if (std::ranges::find(kModules, module) == kModules.end())
      return bad_input(fmt::format("no module is called {}", module), "--offload-modules",
                       fmt::format("some of {}", fmt::join(kModules, ", ")));
  if (a.offloads("attn_proj") && !a.offloads("core_attn"))
    return bad_input("attn_proj without core_attn, whose backward needs its own output",
                     "--offload-modules", "core_attn, too");
  if (!a.transformer_engine)
    return bad_input("needs Transformer Engine", "--fine-grained-activation-offloading",
                     "--transformer-impl transformer_engine");
  return {};
}

Result<void> read_layout(const Config& c, std::int64_t gpus, const std::string& layout,
                         Arguments& a) {
  a.gpus = gpus;
  a.tp = c.dimension("tensor_model_parallel_size", 1);
  a.pp = c.dimension("pipeline_model_parallel_size", 1);
  a.cp = c.dimension("context_parallel_size", 1);
  a.ep = c.dimension("expert_model_parallel_size", 1);
  a.etp = c.dimension("expert_tensor_parallel_size", a.tp);
  const std::vector<std::string> exchange = c.texts("cp_comm_type");
  a.rings_keys = a.cp > 1 && (exchange.empty() || exchange.front() == "p2p");
  a.exchanges_heads = a.cp > 1 && !exchange.empty() && exchange.front() == "a2a";
  a.sequence_parallel = c.boolean("sequence_parallel", false) && a.tp > 1;
  a.vpp = c.dimension("num_virtual_stages_per_pipeline_rank", 1);
  StageSplit split{
      .first = c.optional_dimension("decoder_first_pipeline_num_layers"),
      .last = c.optional_dimension("decoder_last_pipeline_num_layers"),
      .embedding_counts = c.boolean("account_for_embedding_in_pipeline_split", false),
      .loss_counts = c.boolean("account_for_loss_in_pipeline_split", false),
      .layout = layout.empty() ? c.text("pipeline_model_parallel_layout", "") : layout};
  if (const auto each = c.optional_dimension("num_layers_per_virtual_pipeline_stage")) {
    const std::int64_t stage = (a.num_layers + split.embedding_counts + split.loss_counts) / a.pp;
    if (stage % *each != 0)
      return indivisible("layers of a stage", stage, "--num-layers-per-virtual-pipeline-stage",
                         *each);
    a.vpp = stage / *each;
  }
  a.overlaps_p2p = c.boolean("overlap_p2p_comm", true);
  a.overlaps_p2p_flush = c.boolean("overlap_p2p_comm_warmup_flush", false);
  a.microbatch_group_size = c.dimension("microbatch_group_size_per_vp_stage", a.pp);
  return split_layers(split, a);
}

bool says_accumulation(const TrainRecipe& recipe) {
  return recipe.names_gradient_accumulation || recipe.gradient_accumulation > 1;
}

/// What options say of micro-batches goes before the configuration.
Result<void> read_batch(const Config& c, const TrainRecipe& recipe, Arguments& a) {
  a.seq_length = c.dimension({"seq_length", "encoder_seq_length"});
  a.micro_batch_size = c.dimension("micro_batch_size", 1);
  const std::int64_t each = a.micro_batch_size * a.dp;
  const std::int64_t global = recipe.global_batch_size    ? *recipe.global_batch_size
                              : says_accumulation(recipe) ? recipe.gradient_accumulation * each
                                                          : c.dimension("global_batch_size", each);
  if (global % each != 0)
    return indivisible("sequences of a global batch", global,
                       "micro batch size x data parallel size", each);
  a.num_microbatches = global / each;
  return {};
}

/// What train() does between the steps. save_checkpoint_and_time() empties the cache first
/// (Megatron Core 0.17 and 0.18).
void read_loop(const Config& c, Arguments& a) {
  a.scales_loss = a.params_dtype == DType::float16 && !c.optional_number("loss_scale");
  const std::int64_t interval = c.count("save_interval", 0);
  a.saves_between = c.has("save") && interval > 0 && interval < c.count("train_iters", 0);
}

/// Programs whose buffers, optimizer or model are others altogether.
Result<void> refuse_others(const Config& c, const std::string& program) {
  if (program == "pretrain_t5.py" && c.dimension("pipeline_model_parallel_size", 1) > 1)
    return bad_input("T5 has no pipeline", "--pipeline-model-parallel-size", "1 is possible");
  const std::string optimizer = c.text("optimizer", "adam");
  const bool muon = optimizer == "muon" || optimizer == "dist_muon";
  if (optimizer != "adam" && !muon)
    return unsupported(fmt::format("\"{}\" is not modelled", optimizer), "--optimizer",
                       "adam, muon and dist_muon are");
  const bool layer_wise = optimizer == "dist_muon" || c.boolean("use_distributed_optimizer", false);
  if (muon && layer_wise && c.boolean("use_layer_wise_param_layout", true))
    return unsupported("the layer-wise layout of parameters is not modelled", "--optimizer muon",
                       "--no-use-layer-wise-param-layout is");
  if (muon && c.boolean("fp16", false))
    return bad_input("has no fp16", "--optimizer muon", "--bf16 is possible");
  for (const char* key : {"use_megatron_fsdp", "use_torch_fsdp2"})
    if (c.boolean(key, false))
      return unsupported("sharded parameters are not modelled", key,
                         "--use-distributed-optimizer is");
  return {};
}

Result<Arguments> from_launch(const Config& c, const TrainRecipe& recipe) {
  Arguments a;
  a.program = c.text("program", "pretrain_gpt.py");
  if (const auto fine = refuse_others(c, a.program); !fine) return tl::unexpected(fine.error());
  read_model(c, a);
  read_mla(c, a);
  std::string layout;
  if (const auto read = read_hybrid(c, a, layout); !read) return tl::unexpected(read.error());
  if (const auto checked = c.check(); !checked) return tl::unexpected(checked.error());
  Result<MoeArguments> moe = read_moe(c, a.num_layers, a.ffn_hidden_size);
  if (!moe) return tl::unexpected(moe.error());
  a.moe = std::move(*moe);
  read_numbers(c, a);
  read_kernels(c, a);
  read_recompute(c, a);
  if (const auto fine = check_shared_experts(a); !fine) return tl::unexpected(fine.error());
  if (const auto read = read_offload(c, a); !read) return tl::unexpected(read.error());
  if (const auto read = read_layout(c, recipe.layout.gpus, layout, a); !read)
    return tl::unexpected(read.error());
  a.seq_length = c.dimension({"seq_length", "encoder_seq_length"});
  if (const auto checked = c.check(); !checked) return tl::unexpected(checked.error());
  if (const auto checked = divide_gpus(a); !checked) return tl::unexpected(checked.error());
  if (const auto read = read_batch(c, recipe, a); !read) return tl::unexpected(read.error());
  read_loop(c, a);
  if (const auto set = set_vocabulary(c, a); !set) return tl::unexpected(set.error());
  if (const auto checked = c.check(); !checked) return tl::unexpected(checked.error());
  return a;
}

Result<Arguments> from_transformers(const Config& c, const TrainRecipe& recipe) {
  const Result<Config> described = megatron_configuration(c, recipe);
  if (!described) return tl::unexpected(described.error());
  Result<Arguments> a = from_launch(*described, recipe);
  if (!a) return a;
  if (a->pp > 1 && !says_accumulation(recipe) && !recipe.global_batch_size)
    return bad_input(
        fmt::format("how many micro-batches go through the {} stages is not said", a->pp), "--pp",
        fmt::format("--global-batch-size N, {} times micro-batches, or --gradient-accumulation N",
                    a->micro_batch_size * a->dp));
  Result<std::optional<LoraTargets>> lora = lora_targets(recipe.lora, *a);
  if (!lora) return tl::unexpected(lora.error());
  a->lora = std::move(*lora);
  if (a->transformer_engine) return a;
  a->pretrain_loop = a->scales_loss = false;
  a->overlaps_p2p = described->boolean("overlap_p2p_comm", false);  // ModelParallelConfig's
  if (a->mla.on)
    return bad_input("Megatron's local layers have no latent attention", "--attention", "flash");
  return a;
}

}  // namespace

bool Arguments::recomputes(std::string_view module) const {
  return recompute == Recompute::selective &&
         std::ranges::find(recompute_modules, module) != recompute_modules.end();
}

bool Arguments::offloads(std::string_view module) const {
  return std::ranges::find(offload_modules, module) != offload_modules.end();
}

Result<Arguments> read_arguments(const Config& config, const TrainRecipe& recipe) {
  Result<Arguments> a = type_of(config) == "megatron" ? from_launch(config, recipe)
                                                      : from_transformers(config, recipe);
  if (!a) return a;
  a->moe.load = recipe.expert_load;
  if (const auto fine = check_data_parallel(recipe.layout, *a); !fine)
    return tl::unexpected(fine.error());
  if (const auto checked = check_interleaving(*a); !checked) return tl::unexpected(checked.error());
  return a;
}

}  // namespace memtape::megatron
