# SPDX-License-Identifier: Apache-2.0
"""Calls that a type checker refuses, each on a line of its own."""
import memtape

memtape.train("Qwen/Qwen3-8B", gpux="l4")
memtape.train("Qwen/Qwen3-8B", micro_batch_size="x")
memtape.train("Qwen/Qwen3-8B", micro_batch_size=[1, 2])
memtape.train("Qwen/Qwen3-8B", precision="fp17")
memtape.train("Qwen/Qwen3-8B", framework="pytorch")
memtape.train("Qwen/Qwen3-8B", zero=4)
memtape.train("Qwen/Qwen3-8B", solve="batch")
memtape.train("Qwen/Qwen3-8B", gpu=80)
memtape.serve("Qwen/Qwen3-8B", gpux="l4")
memtape.serve("Qwen/Qwen3-8B", max_model_len=[1, 2])
memtape.fits("Qwen/Qwen3-8B", "l4", precision="fp17")
memtape.fits("Qwen/Qwen3-8B")
memtape.plan_train("Qwen/Qwen3-8B", gpux="h100-80gb")
memtape.plan_serve("Qwen/Qwen3-8B", gpux="h100-80gb")
memtape.explain(7)
memtape.train("Qwen/Qwen3-8B").no_such_field
