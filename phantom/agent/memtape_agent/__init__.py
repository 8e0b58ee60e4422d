# SPDX-License-Identifier: Apache-2.0
"""The agent: what `memtape run` learns from inside a Python program, without a change to the program.

It waits for the program to import torch, then watches the real caching allocator: peaks per phase and step, out-of-memory
moments, what was alive at the peak with its Python stack, reads of device data. It writes one JSON file a process into the run's
folder; a process that dies has still written the file of its last step. Nothing here changes what the program allocates.
"""
from .after_import import after_import


def start():
    from . import session
    after_import("torch", session.begin, session.import_failed)
