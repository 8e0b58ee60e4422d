#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What differs between two answers to the same request, piece by piece, and differences of one cause put together."""
import dataclasses
import difflib
import json
import re

MOST_PIECES = 200  # of one answer: enough to name a cause
MOST_LINES = 1000  # behind the first that differs, laid beside each other
EXAMPLES = 2
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclasses.dataclass(frozen=True)
class Answer:
    """What one command did: how it ended, what it printed, and what it wrote ({name: text})."""

    code: object  # the exit code, or "too slow"
    stdout: str = ""
    stderr: str = ""
    written: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Piece:
    """One thing that differs. Pieces of equal cause come from one change of the program."""

    cause: str
    old: str
    new: str

    def text(self):
        return f"{self.cause}: {self.old} -> {self.new}"


def short(value, length=160):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= length else text[: length - 3] + "..."


def changed_words(old, new):
    """The words of two texts that differ, between two that are the same on each side; numbers and names of options are blanked."""
    one, other = (re.sub(r"--[\w-]+", "--OPTION", NUMBER.sub("N", short(text, 2000))).split() for text in (old, new))
    most = min(len(one), len(other))
    before = next((i for i in range(most) if one[i] != other[i]), most)
    after = next((i for i in range(most - before) if one[-1 - i] != other[-1 - i]), most - before)
    spans = [" ".join(words[max(before - 2, 0) : len(words) - max(after - 2, 0)]) for words in (one, other)]
    return f"{short(spans[0], 80)!r} -> {short(spans[1], 80)!r}"


def json_pieces(where, path, old, new):
    """Where two JSON values differ: paths without the numbers of array members."""
    if type(old) is not type(new):
        yield Piece(f"{where} {path} of another type", short(old), short(new))
    elif isinstance(old, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in new:
                yield Piece(f"{where} {path}.{key} is gone", short(old[key]), "")
            elif key not in old:
                yield Piece(f"{where} {path}.{key} is new", "", short(new[key]))
            else:
                yield from json_pieces(where, f"{path}.{key}", old[key], new[key])
        if list(old) != list(new) and set(old) == set(new):
            yield Piece(f"{where} {path} in another order", ", ".join(old), ", ".join(new))
    elif isinstance(old, list):
        if len(old) != len(new):
            yield Piece(f"{where} {path}[] of another length", str(len(old)), str(len(new)))
        for one, other in zip(old, new):
            yield from json_pieces(where, f"{path}[]", one, other)
    elif old != new:
        cause = f"{where} {path}"
        if isinstance(old, str) and not isinstance(new, bool):
            cause += f": {changed_words(old, new)}"
        yield Piece(cause, short(old), short(new))


def line_pieces(where, old, new):
    """Lines that differ, each with its numbers blanked as the cause."""
    before, after = old.splitlines(), new.splitlines()
    same = next((i for i, (one, other) in enumerate(zip(before, after)) if one != other), min(len(before), len(after)))
    before, after = before[same : same + MOST_LINES], after[same : same + MOST_LINES]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for one, other in zip(before[a:b] + [""] * (d - c - b + a), after[c:d] + [""] * (b - a - d + c)):
            yield Piece(f"{where}: {changed_words(one, other)}", short(one), short(other))


def parsed(text):
    try:
        return json.loads(text) if text.startswith(("{", "[")) else None
    except ValueError:
        return None


def text_pieces(where, old, new):
    if old == new:
        return []
    one, other = parsed(old), parsed(new)
    found = []
    if one is not None and other is not None:
        found = [piece for piece, _ in zip(json_pieces(f"{where}, JSON", "$", one, other), range(MOST_PIECES))]
    found = found or [piece for piece, _ in zip(line_pieces(where, old, new), range(MOST_PIECES))]
    return found or [Piece(f"{where}: other bytes, the same lines", short(old), short(new))]


def pieces(old, new):
    """All that differs between two answers, most telling first."""
    found = [Piece(f"exit code {old.code} -> {new.code}", short(old.stderr), short(new.stderr))] if old.code != new.code else []
    found += text_pieces("stderr", old.stderr, new.stderr) + text_pieces("stdout", old.stdout, new.stdout)
    for name in sorted({*old.written, *new.written}):
        found += text_pieces(f"written {name}", old.written.get(name, "(not written)"), new.written.get(name, "(not written)"))
    return found


class Expected:
    """Differences that are meant: a file of lines `REGULAR EXPRESSION ## REASON`, matched against a piece and its command line."""

    def __init__(self, path):
        self.lines = []
        for line in open(path, encoding="utf-8") if path else ():
            if line.strip() and not line.startswith("#"):
                expression, mark, reason = line.rstrip("\n").rpartition(" ## ")
                if not mark:
                    raise ValueError(f"{path}: {line.strip()!r} gives no reason (REGULAR EXPRESSION ## REASON)")
                self.lines.append((re.compile(expression.strip()), reason.strip()))

    def reason(self, piece, command):
        text = f"{piece.text()} | {command}"
        return next((reason for expression, reason in self.lines if expression.search(text)), None)


class Groups:
    """Differing requests by the cause that comes first, each with a count, further causes and two examples."""

    def __init__(self, expected):
        self.expected, self.groups, self.intended = expected, {}, {}

    def add(self, name, command, found):
        left = []
        for piece in found:
            reason = self.expected.reason(piece, command)
            if reason is None:
                left.append(piece)
        group = self.groups.setdefault(left[0].cause, self.empty()) if left else self.intended.setdefault(
            self.expected.reason(found[0], command), self.empty())
        group["count"] += 1
        for cause in dict.fromkeys(piece.cause for piece in (left or found)):
            if len(group["causes"]) < MOST_PIECES or cause in group["causes"]:
                group["causes"][cause] = group["causes"].get(cause, 0) + 1
        if len(group["examples"]) < EXAMPLES:
            group["examples"].append((name, command, (left or found)[0]))

    @staticmethod
    def empty():
        return {"count": 0, "causes": {}, "examples": []}

    @staticmethod
    def lines(title, group):
        yield f"{group['count']} x {title}"
        further = sorted(((n, cause) for cause, n in group["causes"].items() if cause != title), reverse=True)
        yield from (f"      with {n} x {cause}" for n, cause in further[:5])
        if len(further) > 5:
            yield f"      and {len(further) - 5} more causes"
        for name, command, piece in group["examples"]:
            yield f"    {name}\n      memtape {command}"
            yield f"      old: {piece.old}\n      new: {piece.new}"

    def report(self):
        for reason, group in sorted(self.intended.items(), key=lambda item: -item[1]["count"]):
            yield from self.lines(f"intended: {reason}", group)
        for cause, group in sorted(self.groups.items(), key=lambda item: -item[1]["count"]):
            yield from self.lines(cause, group)

    def unintended(self):
        return sum(group["count"] for group in self.groups.values())
