// SPDX-License-Identifier: Apache-2.0
// LogitShift: how transformers' ForCausalLMLoss brings labels beside the logits that predict them,
// in force while it lives. From 4.49 on the labels are padded and shifted; before, a copy of the
// float32 logits was made without the last position (loss/loss_utils.py of both).
#pragma once

namespace memtape::family {

class LogitShift {
 public:
  explicit LogitShift(bool shifts_logits);
  ~LogitShift();
  LogitShift(const LogitShift&) = delete;
  LogitShift& operator=(const LogitShift&) = delete;

  static bool in_force();

 private:
  bool outer_;
};

}  // namespace memtape::family
