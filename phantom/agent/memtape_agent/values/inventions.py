# SPDX-License-Identifier: Apache-2.0
"""Inventions: indices and truths that only a device would know, made up in a way that can be repeated.

topk spreads its choices evenly, so that a mixture's experts get the same number of tokens (--imbalance X: the fullest gets X times
the mean); other indices are drawn from a fixed seed; a comparison with inf or NaN says that all is finite, `any` of something
unknown is false, `all` is true; of other comparisons every second truth is true, as is each that is counted. Each is counted by the line that caused it, and again when the program reads what came of it.
"""
import linecache

from .. import stacks

_MOST_PLACES = 500


def truths(torch, count, dtype):
    """Every second one is true, in the order of Thue and Morse, so that rows, columns and strides of a power of two get as many."""
    made = torch.ones(1, dtype=torch.bool, device="cpu")
    while made.numel() < count:
        made = torch.cat([made, ~made])
    return made[:count].to(dtype)


class Book:
    """What was invented, by line."""

    def __init__(self, imbalance):
        self.imbalance = imbalance
        self._rows = {}  # (file, line, function, what) -> [times, times that it was read]
        self._next = 0  # where the last even spread ended

    def origin(self, what):
        frame = stacks.outer_frame(2)
        key = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, what) if frame else ("", 0, "", what)
        if key not in self._rows and len(self._rows) >= _MOST_PLACES:
            return key
        self._rows.setdefault(key, [0, 0])[0] += 1
        return key

    def was_read(self, origin):
        if origin in self._rows:
            self._rows[origin][1] += 1

    def table(self):
        rows = [{"place": "%s:%d %s" % (stacks.short(f), line, name), "source": linecache.getline(f, line).strip(), "what": what,
                 "count": count, "reads": reads} for (f, line, name, what), (count, reads) in list(self._rows.items()) if f]
        return sorted(rows, key=lambda row: (-row["reads"], -row["count"], row["place"]))[:100]

    def evenly(self, torch, rows, choices, size):
        """[rows, choices] indices below `size`, those of a row all different."""
        if self.imbalance <= 1 or choices >= size:
            start, self._next = self._next, (self._next + rows * choices) % max(size, 1)
            return ((torch.arange(rows * choices) + start) % max(size, 1)).view(rows, choices)
        return self._unevenly(torch, rows, choices, size)

    def _unevenly(self, torch, rows, choices, size):
        """Systematic sampling: index i is taken with a chance of choices times its share, where the shares fall as
        X (1 - u)^(X - 1) does over u in [0, 1]: the integral is 1 and the highest is X times the mean."""
        u = (torch.arange(size, dtype=torch.float64) + 0.5) / size
        share = self.imbalance * (1 - u) ** (self.imbalance - 1)
        chance = (choices * share / share.sum()).clamp(max=1)
        for _ in range(size):  # what a sure index cannot take goes to the others
            open_ = chance < 1
            rest = choices - float((~open_).sum())
            scaled = torch.where(open_, chance * (rest / float(chance[open_].sum())), chance)
            if float(scaled.max()) <= 1 + 1e-12:
                chance = scaled
                break
            chance = scaled.clamp(max=1)
        ends = chance.cumsum(0)
        starts = ((torch.arange(rows, dtype=torch.float64) + 0.5) * 0.6180339887498949) % 1  # the golden ratio: an even sequence
        points = starts[:, None] + torch.arange(choices, dtype=torch.float64)
        return torch.searchsorted(ends, points, right=True).clamp(max=size - 1)
