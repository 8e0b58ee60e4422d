# SPDX-License-Identifier: Apache-2.0
"""Bytes as people write them."""
import re
from typing import Union

from ._error import Error

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def bytes_of(text: Union[int, str]) -> int:
    """"22GiB" -> 23622320128; a number is bytes."""
    if isinstance(text, int):
        return text
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    if not found or (found.group(2) or "B") not in _UNITS:
        raise Error(f"unusable value {text!r}", "bytes", "as in 22GiB or 24GB")
    return int(float(found.group(1)) * _UNITS[found.group(2) or "B"])
