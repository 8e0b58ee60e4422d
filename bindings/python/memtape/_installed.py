# SPDX-License-Identifier: Apache-2.0
"""The releases that are installed in this Python, by the names of their *.dist-info folders, as the program reads them."""
import os
import re
import sys
from functools import lru_cache
from typing import Any, Dict

_NAME = re.compile(r"^([^-]+)-(.+)\.(?:dist|egg)-info$")


@lru_cache(maxsize=None)
def _found(folders: str) -> Dict[str, str]:
    from .options import PACKAGES

    packages: Dict[str, str] = {}
    for folder in folders.split(os.pathsep):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            found = _NAME.match(name)
            package = found.group(1).replace("_", "-").lower() if found else ""
            if found and package in PACKAGES:
                packages.setdefault(package, found.group(2))
    return packages


def installed() -> Dict[str, Any]:
    """{"place": folder of the environment, "packages": {name: version}}: those packages whose releases memory depends on."""
    folders = os.pathsep.join(folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages")))
    return {"place": sys.prefix, "packages": _found(folders)}
