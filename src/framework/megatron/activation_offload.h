// SPDX-License-Identifier: Apache-2.0
// --fine-grained-activation-offloading
// (megatron/core/pipeline_parallel/fine_grained_activation_offload.py): the tensors that chosen
// modules save go to the host. The tensors of one module form a group. They are saved between its
// start and its end, copied to the host at its commit, and copied back when backward passes the
// start of a later group, so that they arrive in time. A group that nobody has called back is
// copied when its tensors are asked for.
//
// The first step shows which groups there are. From the second step on, the last group of each name
// stays on the GPU, because backward would wait for it, and so do the groups that backward needs
// next.
//
// Invariant: a saved tensor is held by its group until its node asks for it or lets go of it.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "framework/megatron/arguments.h"
#include "ghost/autograd/checkpoint.h"

namespace memtape::megatron {

class ActivationOffload final : public ghost::SavedTensorHooks {
 public:
  using Tensor = ghost::Tensor;

  explicit ActivationOffload(const Arguments& a);

  /// init_model_chunk_offload_handler: the forward of a micro-batch through a virtual stage begins.
  void begin_chunk(std::size_t virtual_stage);
  /// reset: the micro-batches of a step are done.
  void end_step();

  /// fine_grained_offloading_group_start. It returns x itself; when backward gets there, it calls
  /// back the next group.
  Tensor start(const Tensor& x, std::string_view module);
  /// fine_grained_offloading_group_commit. It returns x itself. `released` are tensors whose memory
  /// is freed although names still hold them.
  Tensor commit(const Tensor& x, std::string_view module, const std::vector<Tensor>& released);

  std::int64_t pack(const Tensor& tensor) override;
  Tensor unpack(std::int64_t handle) override;
  void drop(std::int64_t handle) override;

 private:
  struct Saved {
    Tensor tensor;  ///< undefined while it is on the host
    Tensor on_host;
    bool requires_grad = false;
  };
  struct Group {
    std::string_view name;
    bool goes = true;
    std::vector<std::size_t> saved = {};
  };
  /// ChunkOffloadHandler: the pass of one micro-batch through a virtual stage. Index 0 stands for
  /// no group.
  struct Chunk {
    std::vector<Group> groups = {};
    std::size_t reached = 0;
    std::vector<std::size_t> to_offload = {}, to_reload = {};

    bool has(std::string_view module, std::size_t from) const;
    bool is_through(std::string_view module) const;
  };

  Chunk* forward_chunk(std::string_view module);
  Chunk* next_backward_chunk(std::string_view module);
  void flush();
  void learn();
  void begin_group(Chunk& chunk, std::string_view module);
  bool goes_to_host(const Chunk& chunk);
  bool is_wanted(const Tensor& tensor) const;
  void offload(Chunk& chunk, const std::vector<Tensor>& released);
  void reload_next(Chunk& chunk);
  void reload_group(Chunk& chunk);
  void copy_to_host(Saved& saved) const;
  static Tensor copied_back(Saved& saved);

  std::int64_t least_;
  StreamId to_host_, to_device_;
  std::vector<Saved> saved_;  ///< those of this step, by their handles

  bool learns_ = true;
  std::deque<Chunk> chunks_;  ///< in the order of their forward passes
  std::vector<std::vector<Chunk*>> stages_;
  std::vector<Chunk*> backward_order_;
  std::size_t next_forward_ = 0, next_backward_ = 0;
  Chunk* forward_ = nullptr;
  Chunk* backward_ = nullptr;
};

/// A module as its layer runs it, either as it is or with its saved tensors on the host.
class OffloadedModule {
 public:
  /// `offload` is null for a module whose tensors stay on the GPU.
  OffloadedModule(ActivationOffload* offload, std::string_view name)
      : offload_(offload), name_(name) {}

  /// `with off_interface(...) as x`: run(x).
  template <class Run>
  auto operator()(const ghost::Tensor& x, const Run& run) const {
    if (!offload_) return run(x);
    const ghost::Tensor begun = offload_->start(x, name_);
    const ghost::SavedTensorHooksGuard hooks(offload_);
    return run(begun);
  }
  /// Sends the module's tensors to the host now. `x` was made by the module or by the part of the
  /// model around it.
  ghost::Tensor commit(const ghost::Tensor& x, const std::vector<ghost::Tensor>& released) const {
    return offload_ ? offload_->commit(x, name_, released) : x;
  }

 private:
  ActivationOffload* offload_;
  std::string_view name_;
};

}  // namespace memtape::megatron
