# SPDX-License-Identifier: Apache-2.0
"""Calls a function with a module right after the program has imported it, or another with the error that the import ended in."""
import importlib.abc
import importlib.util
import sys


class _Loader(importlib.abc.Loader):
    def __init__(self, loader, then, failed):
        self._loader, self._then, self._failed = loader, then, failed

    def __getattr__(self, name):  # torch.__spec__.loader is asked for more than loading
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        try:
            self._loader.exec_module(module)
        except ImportError as error:
            self._failed(error)
            raise
        self._then(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name, then, failed):
        self._name, self._then, self._failed, self._looking = name, then, failed, False

    def find_spec(self, name, path=None, target=None):
        if name != self._name or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then, self._failed)
        return spec


def after_import(name, then, failed):
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, then, failed))
