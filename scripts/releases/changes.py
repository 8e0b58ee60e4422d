# SPDX-License-Identifier: Apache-2.0
"""What changed between two releases of a package, as few things as a person can read: names that were only exchanged are
folded, equal changes of many files are one, and what may change memory comes first."""
import collections
import difflib
import pathlib
import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

from . import symbols

RENAMED_AT_LEAST = 5  # lines that differ in one name only make it a renamed one

# Words of a line that makes tensors, chooses their type or decides which kernel runs.
_MEMORY = re.compile(
    r"\b(torch|F|nn|functional)\.|dtype|float|\.to\(|contiguous|\.view\(|reshape|transpose|\bcat\b|Parameter|register_buffer|"
    r"\.new_|mask|_supports_|_attn_|keep_in_fp32|checkpoint|sdpa|grouped_mm|clone|detach|expand|repeat|softmax|matmul|topk|one_hot|"
    r"scatter|gather|index_|autocast|no_grad|_tied_|logits_to_keep")
_DECORATOR = re.compile(r"@(deprecate_kwarg|auto_docstring|can_return_tuple|add_start_docstrings|replace_return_docstrings)\b")
_MESSAGE = re.compile(r"(logger\.\w+|warnings\.warn)\(")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SIGNATURE = re.compile(r"(async )?def \w+\(")


class Change(NamedTuple):
    lines: Tuple[str, ...]  # "- was" and "+ is", without what surrounds them
    places: List[str]       # "upstream file:symbol"
    changes_memory: bool    # whether it may, by its words

    @property
    def files(self) -> List[str]:
        return sorted({place.rpartition(":")[0] for place in self.places})


class Difference(NamedTuple):
    renames: Dict[str, str]
    changes: List[Change]  # what may change memory first, then by the number of files
    files: int             # that differ in anything but renamed names, decorators of documentation and messages


def _parts(was: str, now: str) -> Tuple[str, str]:
    """Two names without the words they share: "curr_cache_length" and "curr_past_length" differ in "cache" and "past"."""
    old, new = was.split("_"), now.split("_")
    while len(old) > 1 and len(new) > 1 and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return "_".join(old), "_".join(new)


def _exchanged(was: str, now: str) -> Tuple[str, str]:
    """The one name by which two lines differ, or two empty ones."""
    if _NAME.sub("?", was) != _NAME.sub("?", now):
        return "", ""
    pairs = {_parts(old, new) for old, new in zip(_NAME.findall(was), _NAME.findall(now)) if old != new}
    return pairs.pop() if len(pairs) == 1 else ("", "")


def _lines(symbol) -> List[str]:
    return [line for line in symbol.text.splitlines()
            if not _DECORATOR.match(line.strip()) and not _MESSAGE.match(line.strip())]


Pair = Tuple[str, List[str], List[str]]  # place, lines before, lines after
IsKnown = Callable[[str, str, str], bool]  # whether a compared release has the file's symbol with that digest


def _pairs(upstream: List[str], old: pathlib.Path, new: pathlib.Path, is_known: IsKnown) -> Iterator[Pair]:
    for file in upstream:
        if not (old / file).exists() or not (new / file).exists():
            continue
        before, after = symbols.symbols_of(old / file), symbols.symbols_of(new / file)
        for name in sorted({*before, *after}):
            if name in after and is_known(file, name, after[name].digest):
                continue
            was = _lines(before[name]) if name in before else []
            now = _lines(after[name]) if name in after else []
            if was != now:
                yield f"{file}:{name}", was, now


def _hunks(was: List[str], now: List[str]):
    for op, i, j, k, m in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if op != "equal":
            yield [line.strip() for line in was[i:j]], [line.strip() for line in now[k:m]]


def renames_of(pairs: List[Pair]) -> Dict[str, str]:
    seen = collections.Counter()
    for _, was, now in pairs:
        for old, new in _hunks(was, now):
            if len(old) == len(new):
                seen.update(pair for pair in map(_exchanged, old, new) if pair[0])
    common = [pair for pair, count in seen.most_common() if count >= RENAMED_AT_LEAST]
    found: Dict[str, str] = {}
    for old, new in common:
        if old not in found and new not in found:
            found[old] = new
    return found


def _renamed(lines: List[str], renames: Dict[str, str]) -> List[str]:
    if not renames:
        return lines
    pattern = re.compile("|".join(rf"(?<![A-Za-z]){re.escape(old)}(?![A-Za-z])" for old in sorted(renames, key=len, reverse=True)))
    return [pattern.sub(lambda found: renames[found[0]], line) for line in lines]


def _may_change_memory(was: List[str], now: List[str]) -> bool:
    return any(_MEMORY.search(line) for line in {*was} ^ {*now} if not _SIGNATURE.match(line))


def difference(upstream: List[str], old: pathlib.Path, new: pathlib.Path, is_known: IsKnown) -> Difference:
    """Of those files, between the folders of two releases, without what is known already."""
    pairs = list(_pairs(upstream, old, new, is_known))
    renames = renames_of(pairs)
    groups: Dict[Tuple[str, ...], Change] = {}
    for place, was, now in pairs:
        for before, after in _hunks(_renamed(was, renames), now):
            lines = tuple([*(f"- {line}" for line in before), *(f"+ {line}" for line in after)])
            known = groups.setdefault(lines, Change(lines, [], _may_change_memory(before, after)))
            known.places.append(place)
    changes = sorted(groups.values(), key=lambda change: (not change.changes_memory, -len(change.files), change.lines))
    return Difference(renames, changes, len({file for change in changes for file in change.files}))
