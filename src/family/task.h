// SPDX-License-Identifier: Apache-2.0
// Task: which of transformers' auto classes makes the model, and so which head it has.
#pragma once

#include <array>

namespace memtape::family {

/// The heads of transformers' auto classes.
enum class Task {
  causal_lm,
  masked_lm,
  seq2seq_lm,
  image_text_to_text,
  image_classification,
  zero_shot_image_classification,
  speech_seq2seq,
  sequence_classification,
  token_classification,
  question_answering,
  multiple_choice
};

inline constexpr std::array kTasks{Task::causal_lm,
                                   Task::masked_lm,
                                   Task::seq2seq_lm,
                                   Task::image_text_to_text,
                                   Task::image_classification,
                                   Task::zero_shot_image_classification,
                                   Task::speech_seq2seq,
                                   Task::sequence_classification,
                                   Task::token_classification,
                                   Task::question_answering,
                                   Task::multiple_choice};

/// Whether the task has a classifier's head instead of a language model's.
constexpr bool is_classification(Task task) {
  return task == Task::sequence_classification || task == Task::token_classification ||
         task == Task::question_answering || task == Task::multiple_choice;
}

}  // namespace memtape::family
