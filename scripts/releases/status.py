# SPDX-License-Identifier: Apache-2.0
"""Which transcriptions a release leaves as they are, which it changes and how, and what it brings that nothing mirrors."""
import difflib
import pathlib
from typing import Dict, List, NamedTuple

from . import ledger, sources, symbols


class FileStatus(NamedTuple):
    upstream: str
    ours: List[str]
    gone: bool
    changed: List[str]  # symbols whose hash no compared release had


class Status(NamedTuple):
    files: List[FileStatus]
    new_models: List[str]


def status_of(package: str, folder: pathlib.Path) -> Status:
    compared = ledger.Compared(package)
    ours: Dict[str, List[str]] = {}
    for entry in ledger.transcriptions(package):
        ours.setdefault(entry.upstream, []).append(entry.ours)
    files = []
    for upstream in sorted(ours):
        path = folder / upstream
        changed = [] if not path.exists() else sorted(
            name for name, symbol in symbols.symbols_of(path).items()
            if not compared.is_known(upstream, name, symbol.digest))
        files.append(FileStatus(upstream, sorted(ours[upstream]), not path.exists(), changed))
    models = {str(path.relative_to(folder)) for path in folder.glob("models/*/modeling_*.py")}
    return Status(files, sorted(models - set(ours)))


def difference(upstream: str, names: List[str], old: pathlib.Path, new: pathlib.Path) -> str:
    """The normalised sources of the symbols, as a unified diff."""
    before = symbols.symbols_of(old / upstream) if (old / upstream).exists() else {}
    after = symbols.symbols_of(new / upstream)
    lines = []
    for name in names:
        was = before[name].text.splitlines() if name in before else []
        lines += difflib.unified_diff(was, after[name].text.splitlines(), f"{upstream}:{name}", f"{upstream}:{name}",
                                      lineterm="", n=2)
    return "\n".join(lines)


def report(package: str, version: str, folder: pathlib.Path, with_diff: bool) -> str:
    status = status_of(package, folder)
    changed = [file for file in status.files if file.changed]
    gone = [file for file in status.files if file.gone]
    untouched = len(status.files) - len(changed) - len(gone)
    lines = [f"{package} {version}: {untouched} of {len(status.files)} transcribed files untouched, {len(changed)} changed, "
             f"{len(gone)} not there, {len(status.new_models)} models without a transcription"]
    compared = ledger.Compared(package)
    base = compared.newest_before(version) if compared.releases else None
    for file in changed:
        lines.append(f"  changed  {file.upstream}  ({', '.join(file.ours)}): {', '.join(file.changed)}")
        if with_diff and base:
            lines.append(difference(file.upstream, file.changed, sources.of_release(package, base), folder))
    lines += [f"  gone     {file.upstream}  ({', '.join(file.ours)})" for file in gone]
    lines += [f"  new      {model}" for model in status.new_models]
    return "\n".join(lines)
