# SPDX-License-Identifier: Apache-2.0
"""Models that are built on the host and then moved: nobody needs their random numbers.

Initialisers of large host tensors do nothing, so the pages behind them are never touched, and neither a conversion to another dtype nor
the copy to the device (core/transfers.h) reads them. A model of 70B is built in a second and takes no memory worth naming. Large
checkpoints are mapped, not read. --host-init real leaves all as it is.
"""
import functools
import os
import zipfile

_LARGE = 1 << 20  # bytes
_MAPPED_FROM = 1 << 28
_RANDOM = ("normal_", "uniform_", "log_normal_", "exponential_", "cauchy_")


class _Hollow:
    """Host storages whose content was never made."""

    def __init__(self, torch):
        from torch.multiprocessing.reductions import StorageWeakRef
        self._torch, self._weak, self._storages = torch, StorageWeakRef, {}

    def is_large(self, tensor):
        return (isinstance(tensor, self._torch.Tensor) and tensor.device.type == "cpu" and tensor.is_floating_point()
                and not self._torch.nn.parameter.is_lazy(tensor) and tensor.numel() * tensor.element_size() >= _LARGE)

    def add(self, tensor):
        storage = tensor.untyped_storage()
        self._storages[storage.data_ptr()] = self._weak(storage)
        return tensor

    def __contains__(self, tensor):
        found = self._storages.get(tensor.untyped_storage().data_ptr())
        return found is not None and not found.expired()


def leave_unmade(torch):
    hollow = _Hollow(torch)
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, _nothing(getattr(torch.nn.init, name), hollow))
    for name in _RANDOM:
        setattr(torch.Tensor, name, _nothing(getattr(torch.Tensor, name), hollow))
    _convert_nothing(torch, hollow)
    _map_checkpoints(torch)


def _nothing(real, hollow):
    @functools.wraps(real)
    def initialise(tensor=None, *args, **kwargs):
        if tensor is None:  # the first argument by its name
            return real(*args, **kwargs)
        if hollow.is_large(tensor) and type(tensor).__torch_dispatch__ is hollow._torch.Tensor.__torch_dispatch__:
            return hollow.add(tensor)
        return real(tensor, *args, **kwargs)
    return initialise


def _convert_nothing(torch, hollow):
    """Module.to(dtype) on the host: what was never made needs no conversion."""
    real = torch.nn.Module._apply

    @functools.wraps(real)
    def apply(self, function, *args, **kwargs):
        def convert(tensor):
            if not (hollow.is_large(tensor) and tensor.layout == torch.strided and tensor in hollow):
                return function(tensor)
            probe = function(torch.empty(0, dtype=tensor.dtype))
            if probe.device.type != "cpu" or probe.dtype == tensor.dtype:
                return function(tensor)
            return hollow.add(torch.empty_like(tensor, dtype=probe.dtype))
        return real(self, convert, *args, **kwargs)
    torch.nn.Module._apply = apply


def _map_checkpoints(torch):
    """torch.load of a large file: its tensors lie in the file until somebody reads them. What is then saved under that name is another
    file, since the mapped one has to last."""
    real, save, mapped = torch.load, torch.save, set()

    @functools.wraps(real)
    def load(f, *args, **kwargs):
        large = isinstance(f, (str, os.PathLike)) and os.path.exists(f) and os.path.getsize(f) >= _MAPPED_FROM
        if large and kwargs.get("mmap") is None and zipfile.is_zipfile(f):
            try:
                loaded = real(f, *args, **{**kwargs, "mmap": True})
                mapped.add(os.path.realpath(f))
                return loaded
            except (RuntimeError, ValueError):  # a map_location or a format that cannot be mapped
                pass
        return real(f, *args, **kwargs)

    @functools.wraps(save)
    def put(obj, f, *args, **kwargs):
        path = os.path.realpath(f) if isinstance(f, (str, os.PathLike)) else None
        if path in mapped and os.path.exists(path):
            mapped.remove(path)
            os.unlink(path)
        return save(obj, f, *args, **kwargs)
    torch.load, torch.save = load, put
