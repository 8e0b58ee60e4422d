# SPDX-License-Identifier: Apache-2.0
"""vLLM's start-up with CUDA graphs and dummy weights, by the recipe of `memtape verify serve`. Left out where vLLM is not installed."""
import shutil
import subprocess

from kit import LLAMA, Case, LeftOut


def cases(kit):
    asked = subprocess.run([kit.python, "-c", "import vllm; print(vllm.__version__)"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise LeftOut("vLLM is not installed for this Python")
    yield lambda: start(kit, asked.stdout.split()[-1])


def start(kit, version):
    config = dict(LLAMA, architectures=["LlamaForCausalLM"], torch_dtype="bfloat16")
    flags = ["--max-model-len", "2048"]
    folder = kit.folder / "vllm"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    result = kit.recipe(["vllm_start.py"], {"flags": flags}, config, folder, seconds=300)
    answer = kit.ask("serve", kit.model(config), "--gpu", kit.gpu, *flags, "--with", f"vllm=={version}")
    measured = {name: value for name, value in result["expect"].items() if name.endswith("_bytes") and isinstance(value, int)}
    return Case(f"vLLM {version}", measured, {**answer, **answer["ranks"][0]}, {"config": config, "args": flags, "stack": result["stack"]})
