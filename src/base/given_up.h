// SPDX-License-Identifier: Apache-2.0
// GivenUp: lets another thread end the predictions of this one. While it lives and its flag is set,
// a program ends before its next step; whoever set the flag does not look at what it leaves.
#pragma once

#include <atomic>

namespace memtape {

class GivenUp {
 public:
  explicit GivenUp(const std::atomic<bool>& flag);
  ~GivenUp();
  GivenUp(const GivenUp&) = delete;
  GivenUp& operator=(const GivenUp&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

/// Whether nobody waits for what this thread predicts.
bool is_given_up();

}  // namespace memtape
