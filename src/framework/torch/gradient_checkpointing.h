// SPDX-License-Identifier: Apache-2.0
// model.gradient_checkpointing_enable() of transformers 5.17 (modeling_utils.py): every
// GradientCheckpointingLayer is checkpointed, and the output of the token embeddings requires a
// gradient even if the embeddings are frozen.
#pragma once

#include "family/pretrained.h"

namespace memtape::torch {

/// Whether get_input_embeddings() would return this module.
bool is_input_embedding(const nn::ModuleNode& node);

void enable_gradient_checkpointing(family::PretrainedModel& model, nn::GradientCheckpointing kind);

}  // namespace memtape::torch
