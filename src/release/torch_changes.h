// SPDX-License-Identifier: Apache-2.0
// What changed between releases of torch, as far as it affects memory. If a change depends on the
// CUDA toolkit with which a wheel is built, the release is the first whose wheel on PyPI has it.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kMeansKeepNoInput{
    Package::torch,
    {2, 2, 0},
    "The backward of a mean keeps the number of elements; before, the input, of which it reads no "
    "more. It does in 2.1.2 and does not in 2.2.2.",
    "torch/csrc/autograd/generated/Functions.h:MeanBackward0, MeanBackward1"};

inline constexpr Change kColonsMakeNoSlice{
    Package::torch,
    {2, 9, 0},
    "x[:, i] makes no node of the colon; before, each colon was a slice of its own, whose backward "
    "makes zeros and copies the gradient into them.",
    "torch/csrc/autograd/python_variable_indexing.cpp:applySlicing, TensorIndexing.h:applySlice"};

inline constexpr Change kSafeSoftmax{
    Package::torch,
    {2, 5, 0},
    "Unfused attention gives zeros for rows that are masked whole (_safe_softmax).",
    "aten/src/ATen/native/transformers/attention.cpp, pull request 133882"};

inline constexpr Change kSafeSoftmaxInPlace{
    Package::torch,
    {2, 6, 0},
    "_safe_softmax writes these zeros into the softmax; before, it made a result of its own.",
    "aten/src/ATen/native/transformers/attention.cpp:_safe_softmax"};

inline constexpr Change kCublasLtKeepsWorkspace{
    Package::torch,
    {2, 9, 0},
    "cublasLt's workspace is kept for each handle and stream; before, each product took one and "
    "gave it back.",
    "aten/src/ATen/cuda/CublasHandlePool.cpp:getCUDABlasLtWorkspace, pull request 156495"};

inline constexpr Change kCublasLtSharesWorkspace{
    Package::torch,
    {2, 12, 0},
    "cublasLt works in the workspace of cuBLAS.",
    "aten/src/ATen/cuda/CublasHandlePool.cpp, pull request 168175"};

inline constexpr Change kBlackwellWorkspaceIsHoppers{
    Package::torch,
    {2, 12, 0},
    "cuBLAS works in 32 MiB on Blackwell, too; before, in 8.125 MiB there.",
    "aten/src/ATen/cuda/CublasHandlePool.cpp:parseChosenWorkspaceSize, pull request 175344"};

inline constexpr Change kCublasWorkspacePerProduct{
    Package::torch,
    {2, 15, 0},
    "Each product takes its workspace from the allocator and gives it back: that of cuBLAS, or "
    "cublasLt's of 1 MiB.",
    "pull request 194311"};

inline constexpr Change kFlashSeedOnDevice{
    Package::torch,
    {2, 7, 0},
    "The state of the random numbers that the flash kernel returns is on the device; before, it "
    "was two scalars in host memory.",
    "aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp:mha_fwd"};

inline constexpr Change kFlashFillsProcessorsTwice{
    Package::torch,
    {2, 5, 0},
    "The flash kernel splits keys until two blocks fill each processor; before, until one did.",
    "aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp:set_params_splitkv"};

inline constexpr Change kFlashRoundsHeadsTo64{
    Package::torch,
    {2, 11, 0},
    "The flash kernel's scratch has heads above 128 rounded up to 64; before, to 32.",
    "aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp:mha_fwd, mha_bwd"};

inline constexpr Change kEfficientSeedOnDevice{
    Package::torch,
    {2, 14, 0},
    "Without dropout, too, the memory efficient kernel returns seed and offset on the device; "
    "before, they were scalars in host memory.",
    "aten/src/ATen/native/transformers/cuda/attention.cu:_efficient_attention_forward"};

inline constexpr Change kEfficientTakesGroups{
    Package::torch,
    {2, 14, 0},
    "The memory efficient kernel takes grouped queries, and both fused kernels a single head of "
    "keys and values for all queries without enable_gqa.",
    "aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, pull request 191085"};

inline constexpr Change kBmmOfColumnsIsNoProduct{
    Package::torch,
    {2, 13, 0},
    "A batched product that sums over one element is an elementwise one, without cuBLAS.",
    "aten/src/ATen/native/cuda/Blas.cpp:bmm_out_cuda_impl"};

inline constexpr Change kBoolMaskBecomesBiasByWhere{
    Package::torch,
    {2, 5, 0},
    "A mask of bools becomes a bias by at::where; before, zeros were filled where it is not true.",
    "aten/src/ATen/native/transformers/attention.cpp:convert_boolean_attn_mask"};

inline constexpr Change kBoolMaskIsNotTurned{
    Package::torch,
    {2, 6, 0},
    "at::where takes the mask of bools as it is; before, it took what is not true.",
    "aten/src/ATen/native/transformers/attention.cpp:convert_boolean_attn_mask"};

inline constexpr Change kRmsNormIsFused{
    Package::torch,
    {2, 9, 0},
    "rms_norm of tensors of one dtype is one kernel; before, it was made of other ops.",
    "aten/src/ATen/native/layer_norm.cpp:rms_norm_symint"};

inline constexpr Change kClipFreesNormsBefore{
    Package::torch,
    {2, 6, 0},
    "clip_grad_norm_ gets the total norm from a function whose norms end with it; before, they "
    "lived to its own end.",
    "torch/nn/utils/clip_grad.py:_get_total_norm"};

inline constexpr Change kNormListHasOffsets{
    Package::torch,
    {2, 15, 0},
    "_foreach_norm packs its partial results and makes a list of where each tensor's begin; "
    "before, each tensor had as many as the largest.",
    "aten/src/ATen/native/cuda/ForeachReduceOp.cu"};

inline constexpr Change kAdagradIsFusedOnCuda{
    Package::torch,
    {2, 12, 0},
    "Adagrad(fused=True) takes parameters on CUDA devices.",
    "torch/optim/adagrad.py:Adagrad.__init__"};

inline constexpr Change kEmbeddingSortsNeededBits{
    Package::torch,
    {2, 13, 0},
    "The backward of an embedding sorts by as many bits as its number of rows has; before, by 64.",
    "aten/src/ATen/native/cuda/Embedding.cu:embedding_dense_backward_cuda"};

inline constexpr Change kEmbeddingAddsAtomically{
    Package::torch,
    {2, 11, 0},
    "The backward of an embedding adds atomically where rows are few.",
    "aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu:embedding_backward_cuda_kernel"};

inline constexpr Change kCubCountsIn64Bits{
    Package::torch,
    {2, 7, 0},
    "CUB's UniqueByKey counts in 64 bits, so that a tile's state has 16 bytes; before, in 32.",
    "aten/src/ATen/cuda/cub.cuh:unique_by_key"};

inline constexpr Change kCubIsTunedForEach{
    Package::torch,
    {2, 5, 0},
    "CUB's tiles are tuned for each architecture, as of CUDA 12.4; those of CUDA 12.1 are, of "
    "sorts "
    "and up to Ampere.",
    "cub/device/dispatch/tuning/*.cuh; cub/device/dispatch/dispatch_radix_sort.cuh"};

inline constexpr Change kCubAliasesTileStates{
    Package::torch,
    {2, 11, 0},
    "The states of CUB's tiles are aliased in a buffer of their own, as CUDA 13's CUB does it.",
    "cub/agent/single_pass_scan_operators.cuh:tile_state_allocation_size"};

inline constexpr Change kVmapIndexesByScalars{
    Package::torch,
    {2, 6, 0},
    "torch.vmap takes functions that index a tensor by a scalar one (TransformGetItemToIndex), as "
    "masks of packed sequences do.",
    "torch/_dynamo/_trace_wrapped_higher_order_op.py; transformers' masking_utils.py"};

inline constexpr Change kDynamoTriesOperators{
    Package::torch,
    {2, 6, 0},
    "Importing torch._dynamo tries Python's operators on tensors of the default device, a product "
    "of matrices among them.",
    "torch/_dynamo/variables/torch_function.py:populate_builtin_to_tensor_fn_map"};

inline constexpr Change kDynamoTriesOperatorsLater{
    Package::torch,
    {2, 9, 0},
    "Dynamo tries the operators when it first asks for them, and no longer as it is imported.",
    "torch/_dynamo/variables/torch_function.py"};

inline constexpr Change kOldestFreeBlockFirst{
    Package::torch,
    {2, 12, 0},
    "Of free blocks of one size the allocator takes the one whose Block was made first; before, "
    "the "
    "one at the lowest address.",
    "c10/cuda/CUDACachingAllocator.cpp:BlockComparatorRegistrationCounter"};

inline constexpr Change kOldestSegmentFirst{
    Package::torch,
    {2, 13, 0},
    "Of free blocks of one size the allocator takes the one in the segment that was made first, "
    "and "
    "the lowest there.",
    "c10/cuda/CUDACachingAllocator.cpp:BlockComparatorSizeCounterAddress, pull request 183591"};

}  // namespace memtape::changes
