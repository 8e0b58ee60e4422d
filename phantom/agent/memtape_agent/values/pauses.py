# SPDX-License-Identifier: Apache-2.0
"""Where nothing is followed: a CUDA graph's replays write what its capture did not see, and Dynamo traces torch's own functions."""
import functools

from ..after_import import after_import


def watch(torch, known):
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
    after_import("torch._dynamo.trace_rules", _leave_alone, lambda error: None)


def _leave_alone(rules):
    """What runs between two graphs must not be compiled for our frames' sake."""
    rules.add(__name__.split(".")[0])
