#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a real card does, beside the predictions, in under ten minutes and with nothing but pip: steps of tests/truth/torch_steps of its
# capability, cuDNN attention's workspaces by shape, the CUDA context and what kernels add to it, the lag of streams under FSDP, vLLM's
# start-up with graphs where vLLM is installed, `memtape watch` and `memtape detect` on the driver. Prints a table and leaves rows.
# CUDA_VISIBLE_DEVICES chooses among several cards.
#   scripts/real_gpu.sh [MEMTAPE] [--python PYTHON] [--into FOLDER] [--seconds N] [--phantom GPU] [--only NAME...]
# Without --python an environment with torch and transformers is made under build/real_gpu. --phantom runs all of it on a phantom GPU,
# which has no kernels, no cuDNN and no context of its own: that tests the script, not the card.
set -eu
cd "$(dirname "$0")/.."
memtape=build/release/memtape
[ -x "$memtape" ] || memtape=$(command -v memtape || echo "$memtape")
case ${1-} in
  "" | --*) ;;
  *)
    memtape=$1
    shift
    ;;
esac
[ -x "$memtape" ] || { echo "memtape: real_gpu: no program $memtape; build it, install the wheel, or name it first" >&2; exit 2; }
case " $* " in
  *" --python "*) exec python3 scripts/real_gpu/run.py "$memtape" "$@" ;;
esac
venv=build/real_gpu/venv
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c "import torch, transformers, peft" 2>/dev/null; then
  echo "making $venv, which downloads some 3 GB and is not part of the ten minutes"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check torch transformers peft
fi
exec python3 scripts/real_gpu/run.py "$memtape" --python "$venv/bin/python" "$@"
