# SPDX-License-Identifier: Apache-2.0
"""ended_child.py: children take most of the GPU one after the other; one that has ended holds nothing, asked after or not."""
import os

import torch

for asked_after in (True, False, True):
    child = os.fork()
    if child == 0:
        torch.empty(48 << 30, dtype=torch.uint8, device="cuda")
        os._exit(0)
    ended = os.waitid(os.P_PID, child, os.WEXITED | (0 if asked_after else os.WNOWAIT))
    assert ended.si_status == 0
print("ok")
