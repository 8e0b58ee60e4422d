// SPDX-License-Identifier: Apache-2.0
// What changed in torchtitan, as far as it affects memory. torchtitan is used from its repository,
// so a release is a day: {2025, 7, 28} is the checkout of 28 July 2025. It runs on PyTorch's
// nightly build of that day, whose changes are listed here, too.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kTitanFreesLogits{Package::torchtitan,
                                          {2024, 6, 12},
                                          "Logits are let go of before backward.",
                                          "train.py of commit e29b6b4d4"};

inline constexpr Change kTitanFloatsInLoss{
    Package::torchtitan,
    {2024, 10, 22},
    "Logits become float32 in the loss; before, in the model.",
    "commit e10cb9494"};

inline constexpr Change kTitanFusesOptimizer{Package::torchtitan,
                                             {2025, 2, 24},
                                             "AdamW is fused; before, it ran over lists (foreach).",
                                             "commit 6e4988550"};

inline constexpr Change kTitanUsesNativeNorm{
    Package::torchtitan,
    {2025, 3, 19},
    "Norms are nn.RMSNorm; before, a module of torchtitan's own.",
    "commit 3b39d7ab0"};

inline constexpr Change kTitanCompilesLoss{Package::torchtitan,
                                           {2025, 4, 2},
                                           "The loss is compiled where the model is.",
                                           "commit bbb1b616e"};

inline constexpr Change kTitanRootReshards{Package::torchtitan,
                                           {2025, 6, 3},
                                           "PyTorch's nightlies reshard a root that asks for it.",
                                           "pytorch/pytorch#154704"};

inline constexpr Change kTitanRescalesLoss{
    Package::torchtitan,
    {2025, 6, 18},
    "The loss is divided by the number of micro-batches, be it one.",
    "release v0.1.0"};

inline constexpr Change kTitanFusesNorm{Package::torchtitan,
                                        {2025, 7, 25},
                                        "PyTorch's nightlies have a kernel for nn.RMSNorm.",
                                        "torch/nn/functional.py:rms_norm"};

inline constexpr Change kTitanEndsAreUnits{
    Package::torchtitan,
    {2025, 7, 28},
    "The embedding, and norm with head, are fully_shard units of their own.",
    "commit 83e694105"};

inline constexpr Change kTitanRecomputesAll{
    Package::torchtitan,
    {2025, 8, 28},
    "Checkpointed blocks are computed again to their end (early_stop).",
    "commit 8a6c9fe6e"};

inline constexpr Change kTitanHasMixtures{Package::torchtitan,
                                          {2025, 10, 1},
                                          "models/moe is as release 0.2.0 has it.",
                                          "torchtitan/models/moe of release v0.2.0"};

inline constexpr Change kTitanReturnsNoOutputs{
    Package::torchtitan,
    {2025, 12, 26},
    "Pipelines do not return the outputs of their stages.",
    "train.py of release v0.2.1"};

inline constexpr Change kTitanGroupsHeads{
    Package::torchtitan,
    {2026, 2, 20},
    "Keys and values go to attention as they are (enable_gqa), a batch goes to the GPU by "
    "micro-batch and is let go of with the step, and context parallelism looks its positions up.",
    "release v0.2.2"};

}  // namespace memtape::changes
