# SPDX-License-Identifier: Apache-2.0
"""vLLM's start-up with CUDA graphs and dummy weights, by the recipe of `memtape verify serve`. Left out where vLLM is not installed."""
import json
import shutil
import subprocess

from kit import LLAMA, ROOT, Case, LeftOut


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
    script = folder / "vllm_start.py"
    script.write_text("import json\n\nSETTINGS = json.loads(%r)\nCONFIG = json.loads(%r)\nFOLDER = %r\n\n%s"
                      % (json.dumps({"flags": flags}), json.dumps(config), str(folder),
                         (ROOT / "phantom/recipes/vllm_start.py").read_text()))
    kit.run([kit.python, script], seconds=300)
    result = json.loads((folder / "result.json").read_text())
    answer = kit.ask("serve", kit.model(config), "--gpu", kit.gpu, *flags, "--with", f"vllm=={version}")
    measured = {name: value for name, value in result["expect"].items() if name.endswith("_bytes") and isinstance(value, int)}
    return Case(f"vLLM {version}", measured, {**answer, **answer["ranks"][0]}, {"config": config, "args": flags, "stack": result["stack"]})
