# SPDX-License-Identifier: Apache-2.0
# The start-up of a vLLM worker with dummy weights, as its API server starts it, in this one process. SETTINGS["flags"] are the
# server's own, CONFIG is config.json, FOLDER is where files go: all three stand above.
#
# Leaves in FOLDER: result.json (bytes).
import os

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

import torch
import vllm
from vllm.engine.arg_utils import EngineArgs
from vllm.usage.usage_lib import UsageContext
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.v1.engine.llm_engine import LLMEngine
from vllm.v1.worker import gpu_worker

SEEN = {}


def watch_profile():
    """Keeps what the worker's profile run measured, and what lay in the weights' storages before it."""
    real = gpu_worker.memory_profiling

    class Profiling:
        def __init__(self, *args, **kwargs):
            self.context = real(*args, **kwargs)

        def __enter__(self):
            SEEN["profile"] = self.context.__enter__()
            return SEEN["profile"]

        def __exit__(self, *error):
            return self.context.__exit__(*error)
    gpu_worker.memory_profiling = Profiling


def watch_loading():
    """Keeps what the weights take when they are loaded: the first step may cast tables."""
    real = gpu_worker.Worker.load_model

    def load_model(worker, *args, **kwargs):
        real(worker, *args, **kwargs)
        SEEN["weights"] = storages(worker.model_runner.model)
    gpu_worker.Worker.load_model = load_model


def storages(model):
    """Bytes of parameters and buffers, each storage once."""
    held = [t.untyped_storage() for t in [*model.parameters(), *model.buffers()] if t.is_cuda]
    return sum({s.data_ptr(): s.nbytes() for s in held}.values())


def main():
    folder = os.path.join(FOLDER, "model")
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file)
    parser = EngineArgs.add_cli_args(FlexibleArgumentParser())
    words = ["--model", folder, "--load-format", "dummy", "--skip-tokenizer-init"] + SETTINGS["flags"]
    watch_profile()
    watch_loading()
    engine = LLMEngine.from_engine_args(EngineArgs.from_cli_args(parser.parse_args(words)), UsageContext.OPENAI_API_SERVER)
    expect = {"weights_bytes": SEEN["weights"],
              "activation_peak_bytes": SEEN["profile"].torch_peak_increase,
              "kv_cache": {"num_blocks": engine.vllm_config.cache_config.num_gpu_blocks}}
    major, minor = torch.cuda.get_device_capability()
    stack = "vllm %s, torch %s, sm%d%d" % (vllm.__version__, torch.__version__.split("+")[0], major, minor)
    with open(os.path.join(FOLDER, "result.json"), "w") as file:
        json.dump({"stack": stack, "expect": expect}, file)


if __name__ == "__main__":
    main()
