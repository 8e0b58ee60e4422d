# SPDX-License-Identifier: Apache-2.0
"""What a service has to hold under load: how small it stays, how soon it answers, and how little of a large message comes back."""
import pathlib
import re

LARGE = 8 << 20
MOST_KIB, MOST_SECONDS, LONGEST_ANSWER = 100 << 10, 1.0, 2000


def resident(process):
    """KiB of a running process."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()).group(1))
