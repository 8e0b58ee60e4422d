# SPDX-License-Identifier: Apache-2.0
"""Transcribed files that are otherwise at a release that nobody compared, in data/upstream/PACKAGE.unread.tsv:

first line       the releases that were looked at: the newest of each minor between the oldest compared and the newest one
upstream file    those of them at which a symbol differs both from the compared release before and from the one after it, in
                 what may change memory by its words
"""
import re
import subprocess
import sys
from typing import Dict, Iterator, List, Set, Tuple

from . import changes, ledger, sources


def path_of(package: str):
    return ledger.FOLDER / f"{package}.unread.tsv"


def read(package: str) -> Tuple[List[str], Dict[str, List[str]]]:
    """The releases looked at, and by file those at which it is unread."""
    if not path_of(package).exists():
        return [], {}
    first, *lines = path_of(package).read_text(encoding="utf-8").splitlines()
    return first.lstrip("# ").split(" "), {file: at.split(" ") for file, at in (line.split("\t") for line in lines)}


def minor(release: str) -> Tuple[int, ...]:
    return ledger.version_key(release)[:2]


def between(published: List[str], compared: List[str]) -> List[str]:
    """Of each minor that was not compared, between those that were, the newest release."""
    known = {minor(release) for release in compared}
    newest = {minor(release): release for release in sorted(published, key=ledger.version_key)}
    return [release for key, release in sorted(newest.items()) if key not in known and min(known) < key < max(known)]


def _published(package: str) -> List[str]:
    done = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "--disable-pip-version-check", package],
                          capture_output=True, text=True)
    found = re.search(r"Available versions: (.*)", done.stdout)
    if done.returncode or not found:
        raise sources.SourceError(f"{package}: PyPI does not list its releases")
    return [release.strip() for release in found[1].split(",") if re.fullmatch(r"[\d.]+", release.strip())]


def _otherwise(package: str, compared: ledger.Compared, neighbour: str, release: str) -> Set[str]:
    """Places at which the release differs from that neighbour and from all that was compared."""
    upstream = sorted({entry.upstream for entry in ledger.transcriptions(package)})
    found = changes.difference(upstream, sources.of_release(package, neighbour), sources.of_release(package, release), compared.is_known)
    return {place for change in found.changes if change.changes_memory for place in change.places}


def _unread(package: str, releases: List[str]) -> Iterator[Tuple[str, str]]:
    compared = ledger.Compared(package)
    for release in releases:
        before = compared.newest_before(release)
        after = next(known for known in compared.releases if ledger.version_key(known) > ledger.version_key(release))
        places = _otherwise(package, compared, before, release) & _otherwise(package, compared, after, release)
        yield from ((file, release) for file in sorted({place.rpartition(":")[0] for place in places}))


def write(package: str) -> Dict[str, List[str]]:
    releases = between(_published(package), ledger.Compared(package).releases)
    files: Dict[str, List[str]] = {}
    for file, release in _unread(package, releases):
        files.setdefault(file, []).append(release)
    lines = ["# " + " ".join(releases), *(f"{file}\t{' '.join(at)}" for file, at in sorted(files.items()))]
    path_of(package).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files
