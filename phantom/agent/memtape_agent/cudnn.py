# SPDX-License-Identifier: Apache-2.0
"""cuDNN does not run on a phantom GPU: torch's own kernels take its place, and the report says where that changes the bytes."""
import functools

_used = set()


def leave_out(torch):
    """Before CUDA starts: convolutions go to torch's native kernels, attention to flash or memory-efficient attention."""
    torch.backends.cudnn.enabled = False
    if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
        torch.backends.cuda.enable_cudnn_sdp(False)
    _watch(torch.nn.modules.conv._ConvNd, "convolutions ran as torch's native kernels, which keep column buffers where cuDNN has "
           "a workspace of its own: their figures are not those of a device")
    _watch(torch.nn.modules.rnn.RNNBase, "recurrent layers ran as torch's native kernels instead of cuDNN's: their figures are "
           "not those of a device")
    _watch(torch.nn.modules.batchnorm._BatchNorm, "batch norms ran as torch's native kernels, which keep no reserve space as "
           "cuDNN's do: their figures are not those of a device")


def _watch(kind, warning):
    real = kind.__init__

    @functools.wraps(real)
    def made(self, *args, **kwargs):
        _used.add(warning)
        real(self, *args, **kwargs)
    kind.__init__ = made


def warnings():
    return sorted(_used)
