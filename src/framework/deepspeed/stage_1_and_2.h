// SPDX-License-Identifier: Apache-2.0
// ZeRO 1 and 2 (deepspeed/runtime/zero/stage_1_and_2.py): the parameters of each group of the
// optimizer live in one flat buffer. Each rank keeps float32 master weights of one partition of it
// and steps over that partition, one group after the other. Gradients go through a bucket that is
// made anew for each reduction. Stage 2 releases the gradients of other partitions during backward,
// and stage 1 at its end.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/zero_group.h"

namespace memtape::deepspeed {

class Stage1And2 final : public EngineOptimizer {
 public:
  /// `groups` are the optimizer's groups of parameters.
  Stage1And2(const std::vector<std::vector<Tensor>>& groups, const DsConfig& config,
             const TrainRecipe& recipe, Rank rank);

  void before_forward() override;
  Tensor scale_if_loss(const Tensor& loss) override { return loss.mul(ghost::kScale); }
  void backward_prologue(bool boundary) override;
  void backward_epilogue(bool boundary) override;
  void step() override;
  void zero_grad() override;

  torch::Optimizer& basic() override { return *optimizer_; }
  Bytes master_bytes() const override;
  Bytes gradient_bytes() const override;

 private:
  /// IPGBucket: the gradients that wait to be reduced together.
  struct Bucket {
    std::vector<Tensor> buffers;  ///< there are two if communication overlaps
    std::size_t index = 0;
    std::vector<std::size_t> parameters;
    std::vector<Tensor> gradients;
    std::int64_t elements = 0;
  };
  /// A part of a bucket that one rank shall have.
  struct Slice {
    std::int64_t partition = 0, elements = 0;
    Tensor output;  ///< the float32 accumulator to which it is added, if there is one
  };
  /// Parts that are reduced in one joint copy (allreduce_bucket). A single part is reduced as it
  /// is.
  struct Joined {
    const Tensor& tensor;
    std::int64_t elements = 0;
    std::size_t count = 0;
    bool holds_own = false;  ///< one of them belongs to this rank's partition
    std::vector<Tensor> outputs = {};
    void add(const Slice& slice) {
      elements += slice.elements;
      ++count;
      if (slice.output.defined()) outputs.push_back(slice.output);
    }
  };

  void add_group(const std::vector<Tensor>& given);
  void make_groups();
  ZeroGroup& group_of(std::size_t parameter);
  void initialize_optimizer_states() const;
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
  Tensor gradient_of(std::size_t parameter) const;
  void clear_gradient(std::size_t parameter);
  bool has_hooks() const;

  Tensor norm_of_step();
  void step_on_device();
  void step_on_host();

  std::vector<Tensor> parameters_;    ///< in the order of the flat buffers
  std::vector<std::size_t> arrival_;  ///< the order of the program, group by group
  std::vector<std::size_t> group_ends_;
  DsConfig config_;
  Rank rank_;
  DType dtype_;
  bool separate_grad_accum_, uses_grad_accum_attribute_;
  std::deque<ZeroGroup> groups_;
  std::unique_ptr<torch::Optimizer> optimizer_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;

  Tensor temporary_;
  StreamId reduction_stream_ = 0;
  Bucket bucket_;
  std::vector<bool> extra_large_;
  Tensor grads_in_partition_;
  std::int64_t grads_in_partition_offset_ = 0;
  std::vector<Tensor> grad_accum_;       ///< param.grad_accum
  std::vector<std::size_t> drop_later_;  ///< previous_reduced_grads
  std::map<std::size_t, Tensor> norms_;  ///< norm_for_param_grads, for offloaded gradients
  bool boundary_ = true, ready_for_gradients_ = false, epilogue_ran_ = false;
  std::int64_t micro_step_ = -1;
};

}  // namespace memtape::deepspeed
