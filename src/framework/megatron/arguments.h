// SPDX-License-Identifier: Apache-2.0
// Arguments: what Megatron-LM's programs are told, resolved as validate_args of
// megatron/training/arguments.py does: every default is spelled out, and sizes are checked against
// each other. They come from a launch command (a configuration of model_type "megatron"), or from a
// transformers configuration and the options of --strategy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/result.h"
#include "framework/megatron/moe_arguments.h"
#include "model/config.h"
#include "workload/step_choices.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::megatron {

enum class PositionEmbedding { learned_absolute, rope, none };
enum class Activation { gelu, swiglu, squared_relu, quick_geglu };
enum class AttentionBackend { automatic, fused, flash, unfused, local };
enum class Recompute { none, selective, full };

/// Multi-latent attention. If `on` is false, one product makes q, k and v.
struct MlaArguments {
  bool on = false;
  std::int64_t q_lora_rank = 0, kv_lora_rank = 512, qk_head_dim = 128, qk_pos_emb_head_dim = 64,
               v_head_dim = 128;
};

/// The sizes of Mamba's mixer.
struct MambaArguments {
  std::int64_t heads = 0, head_dim = 64, state = 128, groups = 8;
};

/// Megatron-Bridge's adapters: their rank, and the names of the modules that have one.
struct LoraTargets {
  std::int64_t rank = 32;
  std::vector<std::string> modules = {};
  double dropout = 0;
};

struct Arguments {
  std::string program = "pretrain_gpt.py";

  std::int64_t num_layers = 0, hidden_size = 0, ffn_hidden_size = 0, num_attention_heads = 0,
               num_query_groups = 0, kv_channels = 0, padded_vocab_size = 0,
               max_position_embeddings = 0;
  bool learns_sinks = false;  ///< --softmax-type learnable: one more score for each head
  bool add_bias_linear = true, add_qkv_bias = false, rms_norm = false, qk_layernorm = false,
       untied = false, bert_binary_head = false;
  PositionEmbedding position_embedding = PositionEmbedding::learned_absolute;
  Activation activation = Activation::gelu;
  double hidden_dropout = 0.1, attention_dropout = 0.1, rotary_percent = 1.0;
  MoeArguments moe;
  MlaArguments mla;
  MambaArguments mamba;
  std::string hybrid_layers, mtp_layers;  ///< one letter for each layer of a hybrid model
  std::int64_t mtp_num_layers = 0;
  bool mtp_repeats_layer = false;         ///< one layer serves all depths
  std::optional<std::int64_t> mtp_stage;  ///< the stage in the layout; not set: the last one
  std::int64_t decoder_layers = 0, decoder_seq_length = 0;  ///< for T5

  std::int64_t seq_length = 0, micro_batch_size = 1, num_microbatches = 1;

  std::int64_t gpus = 1, tp = 1, pp = 1, vpp = 1, cp = 1, dp = 1, ep = 1, etp = 1;
  bool sequence_parallel = false;
  bool rings_keys = false;  ///< context parallelism by "p2p": keys and values go around the ring
  bool exchanges_heads = false;  ///< by "a2a": each rank gets all tokens of some heads
  std::int64_t microbatch_group_size = 1;
  bool overlaps_p2p = true, overlaps_p2p_flush = false;  ///< for interleaved schedules
  /// The number of layers, by [pp rank][virtual stage].
  std::vector<std::vector<std::int64_t>> stage_layers;

  DType params_dtype = DType::float32;
  bool grad_reduce_in_fp32 = false;
  bool use_distributed_optimizer = false, overlap_grad_reduce = false,
       pad_buckets_for_high_nccl_busbw = false;
  std::optional<std::int64_t> bucket_size;
  std::int64_t num_distributed_optimizer_instances = 1;
  DType main_params_dtype = DType::float32, exp_avg_dtype = DType::float32,
        exp_avg_sq_dtype = DType::float32;
  bool precision_aware_optimizer = false;
  double clip_grad = 1.0;
  bool decoupled_lr = false;
  bool muon = false;
  /// Muon with the distributed optimizer: whole parameters are assigned to ranks.
  bool layer_wise = false;
  std::int64_t muon_steps = 5;

  bool transformer_engine = true;
  AttentionBackend attention_backend = AttentionBackend::automatic;
  bool gradient_accumulation_fusion = true, bias_activation_fusion = true,
       masked_softmax_fusion = true, attention_softmax_in_fp32 = false,
       cross_entropy_loss_fusion = false, cross_entropy_te = false;
  /// The number of micro-batches for which the weight gradient of the output layer is deferred; 0
  /// means all. If it is not set, it is not deferred.
  std::optional<std::int64_t> wgrad_deferral_limit;
  /// What Transformer Engine multiplies by --fp8-format, --fp8-recipe and --fp4-format.
  std::optional<LowBits> low_bits;
  bool scales_blocks = false;  ///< each block of elements has a scale (mxfp8, blockwise, nvfp4)
  bool quantized_param_gather = false;  ///< --fp8-param-gather, --fp4-param-gather
  /// set_save_original_input: the product behind attention keeps what attention's backward keeps.
  bool keeps_attended = false;
  /// Products overlap with the messages of the tensor parallel group.
  bool tp_comm_overlap = false;
  bool creates_attention_mask = true, deterministic = false;
  bool deterministic_attention = false;  ///< NVTE_ALLOW_NONDETERMINISTIC_ALGO=0
  bool pretrain_loop = true;  ///< Megatron-LM's training program; false: a user's own loop
  std::optional<Bytes> cublas_workspace;  ///< from CUBLAS_WORKSPACE_CONFIG
  bool counts_zeros = false;              ///< --log-num-zeros-in-grad
  bool scales_loss = false;  ///< fp16 with a dynamic loss scale: the first steps do not update
  /// A checkpoint is saved before the last step, and the cache is emptied for it.
  bool saves_between = false;
  bool fused_kernels = true;  ///< Transformer Engine or Apex is installed: FusedAdam, fused softmax

  Recompute recompute = Recompute::none;
  bool recompute_block = false;  ///< --recompute-method block; false: uniform
  std::int64_t recompute_num_layers = 1;
  std::vector<std::string> recompute_modules{"core_attn"};

  std::optional<LoraTargets> lora;  ///< only adapters are trained

  /// --fine-grained-activation-offloading: the modules whose saved tensors go to the host, and the
  /// least number of elements of such a tensor.
  std::vector<std::string> offload_modules;
  std::int64_t min_offloaded_tensor_size = std::int64_t{1} << 20;

  bool tied() const { return !untied; }
  bool recomputes(std::string_view module) const;
  bool offloads(std::string_view module) const;
  /// Two elements share a byte.
  bool packs() const { return low_bits == LowBits::nvfp4; }
};

/// Reads and checks the arguments. If sizes do not divide, the error says what would.
Result<Arguments> read_arguments(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::megatron
