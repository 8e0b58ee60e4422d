# SPDX-License-Identifier: Apache-2.0
"""waiting.py: a loop that waits for a value that never comes. Run by memtape run, which ends it."""
import torch

flag = torch.zeros(1, device="cuda") @ torch.zeros(1, 1, device="cuda")
while flag.item() == 0:
    flag = flag * 1
