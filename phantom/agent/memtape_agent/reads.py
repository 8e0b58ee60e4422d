# SPDX-License-Identifier: Apache-2.0
"""Places where the program reads device data, which a phantom does not have: what follows may not be what a device would do."""
import linecache

from . import native, stacks
from .values import answers

_MOST_PLACES = 1000


class Reads:
    def __init__(self):
        self._places = {}
        native.watch_reads(self._on_read)

    def _on_read(self, to, at, size):
        try:
            if answers.answer(to, at, size):
                return 1
            self._note(size)
        except Exception:  # a watcher must never disturb the program it watches
            pass
        return 0

    def _note(self, size):
        frame = stacks.outer_frame(3)
        if frame is None:
            return
        key = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        if key in self._places or len(self._places) < _MOST_PLACES:
            count, largest = self._places.get(key, (0, 0))
            self._places[key] = (count + 1, max(largest, size))

    def table(self):
        rows = [{"place": "%s:%d %s" % (stacks.short(f), line, name), "source": linecache.getline(f, line).strip(),
                 "count": count, "largest": largest} for (f, line, name), (count, largest) in list(self._places.items())]
        return sorted(rows, key=lambda row: (-row["largest"], row["place"]))[:100]
