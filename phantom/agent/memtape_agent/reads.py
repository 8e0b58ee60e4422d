# SPDX-License-Identifier: Apache-2.0
"""Places where the program reads device data: what nobody knows is listed, and who waits for it for ever is ended."""
import ctypes
import linecache

from . import native, settings, stacks
from .values import answers

_MOST_PLACES = 1000


class Reads:
    """`progress()`: something that changes as the program gets on; `stuck(text)` ends it."""

    def __init__(self, progress, stuck):
        self._places, self._same = {}, {}
        self._progress, self._stuck, self._last = progress, stuck, None
        native.watch_reads(self._on_read)

    def _on_read(self, to, at, size):
        known = False
        try:
            known = answers.answer(to, at, size)
            frame = stacks.outer_frame(2)
            if frame is not None:
                key = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
                if not known:
                    self._note(key, size)
                if settings.MOST_READS:
                    self._wait(key, ctypes.string_at(to, min(size, 8)) if known else None)
        except Exception:  # a watcher must never disturb the program it watches
            pass
        return int(known)

    def _note(self, key, size):
        if key in self._places or len(self._places) < _MOST_PLACES:
            count, largest = self._places.get(key, (0, 0))
            self._places[key] = (count + 1, max(largest, size))

    def _wait(self, key, value):
        """Counts equal reads of a line since the program last got any further."""
        now = (self._progress(), native.sent_copies())
        if now != self._last:
            self._last = now
            self._same.clear()
        before, count = self._same.get(key, (value, 0))
        self._same[key] = (value, count + 1 if before == value else 1)
        if count + 1 >= settings.MOST_READS and before == value:
            filename, line, name = key
            self._stuck("%s:%d %s read the same value %d times and got no further (%s): what it waits for does not come on a phantom GPU"
                        % (stacks.short(filename), line, name, count + 1, linecache.getline(filename, line).strip()))

    def table(self):
        rows = [{"place": "%s:%d %s" % (stacks.short(f), line, name), "source": linecache.getline(f, line).strip(),
                 "count": count, "largest": largest} for (f, line, name), (count, largest) in list(self._places.items())]
        return sorted(rows, key=lambda row: (-row["largest"], row["place"]))[:100]
