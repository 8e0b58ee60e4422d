// SPDX-License-Identifier: Apache-2.0
// What changed in transformers' mixtures of experts, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kMixtralComputesAngles{
    Package::transformers,
    {4, 48, 0},
    "Mixtral's layers share cos and sin; before, each attention looked them up in tables of its "
    "own. They do in 4.47.1.",
    "models/mixtral/modeling_mixtral.py:MixtralRotaryEmbedding"};

inline constexpr Change kGptOssSelectsExperts{
    Package::transformers,
    {4, 56, 0},
    "GPT-OSS takes an expert's weights by a number, as a view; before, by a tensor of one number, "
    "which copied them. It does in 4.55.4.",
    "models/gpt_oss/modeling_gpt_oss.py:GptOssExperts.forward"};

inline constexpr Change kGptOssSkipsOneMore{
    Package::transformers,
    {4, 57, 0},
    "GPT-OSS counts the tokens of a further expert, which masks, and skips it. It does not in "
    "4.56.2.",
    "models/gpt_oss/modeling_gpt_oss.py:GptOssExperts.forward"};

inline constexpr Change kPhimoeSharesAngles{
    Package::transformers,
    {5, 0, 0},
    "Phi-3.5-MoE's layers are given the angles of their tokens, of frequencies that the model "
    "keeps; before, it computed frequencies and rows at each step, and each attention looked its "
    "rows up. It does in 4.57.6.",
    "models/phimoe/modeling_phimoe.py:PhimoeRotaryEmbedding.forward, apply_rotary_pos_emb"};

inline constexpr Change kDbrxIsLikeOthers{
    Package::transformers,
    {5, 0, 0},
    "DBRX shares cos and sin, calls the attention function of all models, and takes each expert "
    "when its turn comes; before, attentions made cos and sin and were written out, all experts' "
    "weights were cut first, and routers cast what they gave. They do in 4.57.6.",
    "models/dbrx/modeling_dbrx.py:DbrxAttention, DbrxRouter, DbrxExperts"};

}  // namespace memtape::changes
