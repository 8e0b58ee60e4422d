# SPDX-License-Identifier: Apache-2.0
"""Where nothing is followed: a CUDA graph's replays write what its capture did not see, and Dynamo traces torch's own functions."""
import functools

from ..after_import import after_import



def watch(torch, known, ours):
    graph = torch.cuda.CUDAGraph
    begin, end = graph.capture_begin, graph.capture_end

    @functools.wraps(begin)
    def capture_begin(self, *args, **kwargs):
        known.paused = True
        return begin(self, *args, **kwargs)

    @functools.wraps(end)
    def capture_end(self, *args, **kwargs):
        known.paused = False
        return end(self, *args, **kwargs)
    graph.capture_begin, graph.capture_end = capture_begin, capture_end
    # What runs between two graphs must not be compiled for our frames' sake.
    after_import("torch._dynamo.eval_frame", functools.partial(_leave_alone, ours), lambda error: None)


def _leave_alone(ours, dynamo):
    for code in {f.__code__ for f in ours}:
        dynamo.skip_code(code)
