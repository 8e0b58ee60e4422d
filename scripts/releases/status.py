# SPDX-License-Identifier: Apache-2.0
"""What a release changes of what is transcribed, on one screen: what may change memory, the rest as a number, and the models
that came since the release that the rules were last compared with."""
import pathlib
import shutil
from typing import List

from . import changes, ledger, sources

SHARED_LINES = 3  # of a change of several files; --diff shows all


def _gone(upstream: List[str], folder: pathlib.Path) -> List[str]:
    return [file for file in upstream if not (folder / file).exists()]


def _models(folder: pathlib.Path):
    return {path.parent.name for path in folder.glob("models/*/modeling_*.py")}


def _width() -> int:
    return max(80, min(shutil.get_terminal_size((120, 24)).columns, 160))


def _cut(text: str) -> str:
    width = _width()
    return text if len(text) <= width else text[:width - 3] + "..."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def shared_change(change: changes.Change, with_diff: bool) -> List[str]:
    """Of several files: an example of the places, and the lines."""
    most = len(change.lines) if with_diff else SHARED_LINES
    lines = [f"  {_count(len(change.files), 'file')}: {', '.join(change.places if with_diff else change.places[:1])}"]
    lines += [f"      {line}" for line in change.lines[:most]]
    if len(change.lines) > most:
        lines.append(f"      ... {_count(len(change.lines) - most, 'line')} more")
    return lines if with_diff else [_cut(line) for line in lines]


def changes_of_one_file(found: List[changes.Change], with_diff: bool) -> List[str]:
    """A line for each file, with the symbols that changed."""
    if with_diff:
        return [line for change in found for line in shared_change(change, True)]
    files = {}
    for change in found:
        file, _, symbol = change.places[0].rpartition(":")
        files.setdefault(file, []).append(symbol)
    return [_cut(f"  {_count(len(names), 'change')} of {file}: {', '.join(sorted({*names}))}") for file, names in sorted(files.items())]


def changed_memory(found: changes.Difference, with_diff: bool) -> List[str]:
    first = [change for change in found.changes if change.changes_memory]
    shared = [change for change in first if len(change.files) > 1]
    alone = [change for change in first if len(change.files) == 1]
    lines = ["what may change memory, by its words:"] if first else ["nothing of it may change memory, by its words"]
    for change in shared:
        lines += shared_change(change, with_diff)
    return lines + changes_of_one_file(alone, with_diff)


def report(package: str, version: str, folder: pathlib.Path, with_diff: bool) -> str:
    upstream = sorted({entry.upstream for entry in ledger.transcriptions(package)})
    compared = ledger.Compared(package)
    base = compared.newest_before(version)
    old = sources.of_release(package, base)
    found = changes.difference(upstream, old, folder, compared.is_known)
    gone = _gone(upstream, folder)
    rest = [change for change in found.changes if not change.changes_memory]
    lines = [f"{package} {version} beside {base}, the newest release before it that the rules were compared with: "
             f"{found.files} of {len(upstream)} transcribed files differ, in {_count(len(found.changes), 'change')}"]
    lines += [f"  renamed: {was} -> {now}" for was, now in found.renames.items()]
    lines += changed_memory(found, with_diff)
    if rest:
        lines.append(f"{_count(len(rest), 'change')} that may not: messages, arguments, outputs" + (":" if with_diff else " (--diff)"))
        lines += [line for change in (rest if with_diff else []) for line in shared_change(change, True)]
    lines += [f"not there any more: {file}" for file in gone]
    came = sorted(_models(folder) - _models(old))
    if came:
        lines.append(f"models that came since {base}: {', '.join(came)}")
    return "\n".join(lines)
