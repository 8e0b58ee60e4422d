# SPDX-License-Identifier: Apache-2.0
"""Python imports this file when it starts, because `memtape run` put its folder first on PYTHONPATH.

It starts the agent and then hands over to the sitecustomize that the program would have had without us.
"""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _run_next():
    others = [p for p in sys.path if os.path.abspath(p or ".") != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("MEMTAPE_PHANTOM_RUN") and os.environ.get("MEMTAPE_PHANTOM_AGENT") != "off":
    import memtape_agent

    memtape_agent.start()
_run_next()
