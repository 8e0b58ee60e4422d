// SPDX-License-Identifier: Apache-2.0
// Arguments: what Megatron-LM's programs are told, resolved as megatron/training/arguments.py's
// validate_args does: every default spelled out, sizes checked against each other. They come from a
// launch command (a configuration of model_type "megatron") or from a transformers configuration
// and the options of --strategy.
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

namespace memtape {
struct TrainRecipe;
}

namespace memtape::megatron {

enum class PositionEmbedding { learned_absolute, rope, none };
enum class Activation { gelu, swiglu, squared_relu };
enum class AttentionBackend { automatic, fused, flash, unfused, local };
enum class Recompute { none, selective, full };

/// Multi-latent attention; `on` false: q, k, v come from one product.
struct MlaArguments {
  bool on = false;
  std::int64_t q_lora_rank = 0, kv_lora_rank = 512, qk_head_dim = 128, qk_pos_emb_head_dim = 64,
               v_head_dim = 128;
};

/// Mamba's mixer.
struct MambaArguments {
  std::int64_t heads = 0, head_dim = 64, state = 128, groups = 8;
};

struct Arguments {
  std::string program = "pretrain_gpt.py";

  std::int64_t num_layers = 0, hidden_size = 0, ffn_hidden_size = 0, num_attention_heads = 0,
               num_query_groups = 0, kv_channels = 0, padded_vocab_size = 0,
               max_position_embeddings = 0;
  bool add_bias_linear = true, add_qkv_bias = false, rms_norm = false, qk_layernorm = false,
       untied = false, bert_binary_head = false;
  PositionEmbedding position_embedding = PositionEmbedding::learned_absolute;
  Activation activation = Activation::gelu;
  double hidden_dropout = 0.1, attention_dropout = 0.1, rotary_percent = 1.0;
  MoeArguments moe;
  MlaArguments mla;
  MambaArguments mamba;
  std::string hybrid_layers, mtp_layers;  ///< a letter a layer, of hybrid models
  std::int64_t mtp_num_layers = 0;
  bool mtp_repeats_layer = false;                           ///< one layer serves all depths
  std::optional<std::int64_t> mtp_stage;                    ///< of the layout; none: the last
  std::int64_t decoder_layers = 0, decoder_seq_length = 0;  ///< T5's

  std::int64_t seq_length = 0, micro_batch_size = 1, num_microbatches = 1;

  std::int64_t gpus = 1, tp = 1, pp = 1, vpp = 1, cp = 1, dp = 1, ep = 1, etp = 1;
  bool sequence_parallel = false;
  bool rings_keys = false;  ///< context parallel by "p2p": keys and values go round the ring
  std::int64_t microbatch_group_size = 1;
  bool overlaps_p2p = true, overlaps_p2p_flush = false;  ///< of interleaved schedules
  std::vector<std::vector<std::int64_t>> stage_layers;   ///< [pp rank][virtual stage]: how many

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
  bool layer_wise = false;  ///< Muon with the distributed optimizer: whole parameters are dealt out
  std::int64_t muon_steps = 5;

  bool transformer_engine = true;
  AttentionBackend attention_backend = AttentionBackend::automatic;
  bool gradient_accumulation_fusion = true, bias_activation_fusion = true,
       masked_softmax_fusion = true, attention_softmax_in_fp32 = false,
       cross_entropy_loss_fusion = false, cross_entropy_te = false;
  /// For how many micro-batches the output layer's weight gradient waits (0: for all); none: it
  /// does not.
  std::optional<std::int64_t> wgrad_deferral_limit;
  bool fp8 = false, fp8_param_gather = false;
  bool fp8_blocks = false;       ///< a scale for each block of elements (mxfp8, blockwise)
  bool tp_comm_overlap = false;  ///< products overlap with the tensor parallel group's messages
  bool creates_attention_mask = true, deterministic = false;
  bool deterministic_attention = false;  ///< NVTE_ALLOW_NONDETERMINISTIC_ALGO=0
  bool pretrain_loop = true;  ///< Megatron-LM's training program, not a loop of one's own
  std::optional<Bytes> cublas_workspace;  ///< of CUBLAS_WORKSPACE_CONFIG
  bool counts_zeros = false;              ///< --log-num-zeros-in-grad
  bool scales_loss = false;    ///< fp16 with a dynamic loss scale: no update in the first steps
  bool saves_between = false;  ///< a checkpoint before the last step, and the cache emptied for it
  bool fused_kernels = true;   ///< Transformer Engine or Apex is there: FusedAdam, fused softmax

  Recompute recompute = Recompute::none;
  bool recompute_block = false;  ///< --recompute-method block, else uniform
  std::int64_t recompute_num_layers = 1;
  std::vector<std::string> recompute_modules{"core_attn"};

  /// --fine-grained-activation-offloading: whose saved tensors go to the host, from how many
  /// elements.
  std::vector<std::string> offload_modules;
  std::int64_t min_offloaded_tensor_size = std::int64_t{1} << 20;

  bool tied() const { return !untied; }
  bool recomputes(std::string_view module) const;
  bool offloads(std::string_view module) const;
};

/// Reads and checks them; what does not divide is an error that says what would.
Result<Arguments> read_arguments(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::megatron
