// SPDX-License-Identifier: Apache-2.0
// ServeClock: how long a server's passes take, for a prompt and for a token, and what that means
// for the requests that share the server.
#pragma once

#include "time/collectives.h"
#include "time/kernels.h"
#include "time/model_shape.h"
#include "time/step_time.h"

namespace memtape::time {

class ServeClock {
 public:
  ServeClock(const ModelShape& shape, const Kernels& kernels, const Collectives& collectives)
      : shape_(shape), kernels_(kernels), collectives_(collectives) {}

  ServeTime time(const ServeSetup& setup) const;

  /// One pass on one rank of attention: tokens of prompts, and sequences that decode one token
  /// each.
  struct Pass {
    double prompt_tokens = 0;  ///< the tokens of all prompts together
    double prompt_length = 0;  ///< the length that each prompt has reached
    double sequences = 0;      ///< those that decode
    double context = 0;        ///< the tokens that each of these sequences has
  };
  struct Cost {
    double gemm = 0, attention = 0, elementwise = 0, tp = 0, ep = 0, host = 0;
    double seconds() const { return gemm + attention + elementwise + tp + ep + host; }
  };
  Cost pass(const ServeSetup& s, const Pass& p) const;

 private:
  void attention(Cost& cost, const ServeSetup& s, const Pass& p, const AttentionShape& a) const;
  void mlp(Cost& cost, const ServeSetup& s, const Pass& p, const MlpShape& m) const;
  double linear(const ServeSetup& s, double tokens, double n, double k) const;

  const ModelShape& shape_;
  const Kernels& kernels_;
  const Collectives& collectives_;
};

}  // namespace memtape::time
