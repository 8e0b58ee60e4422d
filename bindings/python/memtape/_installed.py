# SPDX-License-Identifier: Apache-2.0
"""The releases that are installed in this Python, by the names of their *.dist-info folders, as the program reads them."""
import os
import re
import sys
from functools import lru_cache
from typing import Any, Dict

_NAME = re.compile(r"^(.+?)-([^-]+)\.dist-info$")


@lru_cache(maxsize=None)
def installed() -> Dict[str, Any]:
    """{"place": folder of the environment, "packages": {name: version}}"""
    packages: Dict[str, str] = {}
    for folder in sys.path:
        if not folder.endswith(("site-packages", "dist-packages")):
            continue
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            found = _NAME.match(name)
            if found:
                packages.setdefault(found.group(1).replace("_", "-").lower(), found.group(2))
    return {"place": sys.prefix, "packages": packages}
