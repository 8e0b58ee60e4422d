// SPDX-License-Identifier: Apache-2.0
// ZeRO 1 and 2 (deepspeed/runtime/zero/stage_1_and_2.py): parameters live in one flat buffer, each
// rank keeps float32 master weights of one partition of it and steps over that. Gradients go by way
// of a bucket that is made anew for each reduction; stage 2 lets go of those of other partitions in
// the backward, stage 1 at its end.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/flat_layout.h"

namespace memtape::deepspeed {

class Stage1And2 final : public EngineOptimizer {
 public:
  Stage1And2(std::vector<Tensor> parameters, const DsConfig& config, const TrainRecipe& recipe,
             Rank rank);

  void before_forward() override;
  Tensor scale_if_loss(const Tensor& loss) override { return loss.mul(1.0); }
  void backward_prologue(bool boundary) override { boundary_ = boundary; }
  void backward_epilogue(bool boundary) override;
  void step() override;
  void zero_grad() override;

  torch::Optimizer& basic() override { return *optimizer_; }
  Bytes master_bytes() const override { return master_.nbytes(); }
  Bytes gradient_bytes() const override {
    return bytes_of(config_.grad_accum_dtype, layout_->partition_size());
  }

 private:
  /// IPGBucket: gradients that wait to be reduced together.
  struct Bucket {
    std::vector<Tensor> buffers;  ///< two where communication overlaps
    std::size_t index = 0;
    std::vector<std::size_t> parameters;
    std::vector<Tensor> gradients;
    std::int64_t elements = 0;
  };
  /// A stretch of a bucket that one rank is to have.
  struct Slice {
    std::int64_t partition = 0, elements = 0;
    Tensor output;  ///< the float32 accumulator it is added to, if any
  };
  /// Stretches that are reduced in one copy of them (allreduce_bucket); a single one as it is.
  struct Joined {
    const Tensor& tensor;
    std::int64_t elements = 0;
    std::size_t count = 0;
    bool holds_own = false;  ///< a slice of this rank's partition
    std::vector<Tensor> outputs = {};
    void add(const Slice& slice) {
      elements += slice.elements;
      ++count;
      if (slice.output.defined()) outputs.push_back(slice.output);
    }
  };

  void flatten_parameters();
  void make_master();
  void create_gradient_handling_hooks();

  void process_gradients(std::size_t parameter);
  void setup_buckets();
  void fill_grad_accum(std::size_t parameter);
  void reduce_ready(std::size_t parameter);
  void add_to_bucket(std::size_t parameter, const Tensor& gradient);
  void reduce_ipg_grads();
  void keep_or_drop(std::size_t parameter);
  void average_tensor(const Tensor& tensor);
  void all_reduce(const Joined& joined);
  void record_on_reduction_stream(const Tensor& tensor) const;
  std::vector<Slice> slices_of_bucket();
  void add_full_reduction(const Tensor& reduced);
  void copy_grads_in_partition(std::size_t parameter);
  void copy_grads_to_host(std::size_t parameter);
  void partition_epilogue();
  void accumulate_gradients();
  void release_ipg_buffers();

  bool uses_compact_buffer() const;
  Tensor compact_slice(const Piece& piece);
  std::vector<Tensor> gradients_in_partition() const;
  std::vector<Tensor> flat_partition() const;
  std::vector<Tensor> normed_gradients() const;
  Tensor gradient_of(std::size_t parameter) const;
  void clear_gradient(std::size_t parameter);
  bool has_hooks() const;

  Tensor norm_of_step();
  void step_on_device();
  void step_on_host();

  std::vector<Tensor> parameters_;    ///< in the order of the flat buffer
  std::vector<std::size_t> arrival_;  ///< the program's order
  DsConfig config_;
  Rank rank_;
  DType dtype_;
  bool separate_grad_accum_, uses_grad_accum_attribute_;
  std::unique_ptr<FlatLayout> layout_;
  std::vector<std::size_t> in_partition_;  ///< parameters of which this rank has a piece
  std::unique_ptr<torch::Optimizer> optimizer_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;

  Tensor flat_, master_, temporary_;
  StreamId reduction_stream_ = 0;
  Bucket bucket_;
  std::vector<bool> extra_large_;
  Tensor grads_in_partition_;
  std::int64_t grads_in_partition_offset_ = 0;
  std::vector<Tensor> grad_accum_;       ///< param.grad_accum
  std::vector<Tensor> all_grads_;        ///< all_grad_tensors
  std::vector<Tensor> averaged_;         ///< averaged_gradients
  Tensor averaged_flat_;                 ///< of a compact buffer: its float32 partition
  std::vector<std::size_t> drop_later_;  ///< previous_reduced_grads
  std::map<std::size_t, Tensor> norms_;  ///< norm_for_param_grads, of offloaded gradients
  bool boundary_ = true, ready_for_gradients_ = false, epilogue_ran_ = false;
  bool holds_all_grads_ = false;
  std::int64_t micro_step_ = -1;
};

}  // namespace memtape::deepspeed
