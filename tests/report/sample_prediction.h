// SPDX-License-Identifier: Apache-2.0
// A small answer to report on, written by hand: three steps of a decoder with grouped-query
// attention, played through an allocator that reuses blocks of equal size. It does not claim to be
// any framework's step; it has the shape of one.
#pragma once

#include "outcome/prediction.h"

namespace memtape::test {

struct SampleOptions {
  int layers = 2;
  int hidden = 2048, heads_width = 512, intermediate = 8192, vocabulary = 32000, tokens = 4096;
  int micro_batches = 1;
  Bytes device_bytes = 8_GiB;
};

struct Sample {
  Prediction prediction;
  Trace trace;
};

Sample make_sample(const SampleOptions& options = {});

}  // namespace memtape::test
