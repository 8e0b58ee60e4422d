# SPDX-License-Identifier: Apache-2.0
"""Peaks of the real allocator per phase, while the program sees its own as if nobody else looked.

A phase ends with a reset of torch's peak statistics. What the program would still see of them is kept here and put back into
whatever it reads: torch.cuda.max_memory_allocated() and memory_stats() answer as without the agent.
"""
MEASURES = ("allocated", "requested", "reserved")


def _of(stats, what):
    return {m: (stats.get(m + "_bytes") or {}).get("all", {}).get(what, 0) for m in MEASURES}


class Peaks:
    def __init__(self, torch):
        self._torch = torch
        self._read = torch._C._cuda_memoryStats
        self._reset = torch._C._cuda_resetPeakMemoryStats
        self._seen = {}  # device -> statistic -> pool -> peak since the program's own reset
        self._pending = {}  # device -> peaks of the present phase that a reset by the program cut off
        self.at_close = {}  # device -> what was in use at the last close
        torch._C._cuda_memoryStats = self._program_reads
        torch._C._cuda_resetPeakMemoryStats = self._program_resets

    def devices(self):
        return range(self._torch.cuda.device_count())

    def close(self, device):
        """Peaks since the last close; counting begins anew."""
        stats = self._read(device)
        self._remember(device, stats)
        self._reset(device)
        self.at_close[device] = _of(stats, "current")
        peaks = _of(stats, "peak")
        for m, value in self._pending.pop(device, {}).items():
            peaks[m] = max(peaks[m], value)
        return peaks

    def now(self, device):
        return _of(self._read(device), "current")

    def raw(self, device):
        return self._read(device)

    def _remember(self, device, stats):
        seen = self._seen.setdefault(device, {})
        for name, pools in stats.items():
            if pools.__class__ is dict:
                row = seen.setdefault(name, {})
                for pool, values in pools.items():
                    if values.__class__ is dict and values.get("peak", 0) > row.get(pool, 0):
                        row[pool] = values["peak"]

    def _program_reads(self, device):
        stats = self._read(device)
        for name, row in self._seen.get(device, {}).items():
            for pool, peak in row.items():
                values = stats.get(name, {}).get(pool)
                if values:
                    values["peak"] = max(values["peak"], peak)
        return stats

    def _program_resets(self, device):
        pending = self._pending.setdefault(device, {})
        for m, peak in _of(self._read(device), "peak").items():
            pending[m] = max(pending.get(m, 0), peak)
        self._seen.pop(device, None)
        self._reset(device)
