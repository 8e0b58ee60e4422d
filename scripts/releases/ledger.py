# SPDX-License-Identifier: Apache-2.0
"""The ledger of what is transcribed, in data/upstream:

PACKAGE.tsv           our file, upstream file: what mirrors what
PACKAGE.compared.tsv  upstream file, symbol, and RELEASE:HASH for each release the rules were compared with at which the symbol
                      changed ("-": it was not there); the first line lists all those releases, in order
PACKAGE.unread.tsv    what is otherwise at releases between them (unread.py)
"""
import pathlib
from typing import Dict, List, NamedTuple, Tuple

from . import symbols

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "data" / "upstream"
ABSENT = "-"


def version_key(release: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in release.split("+")[0].split(".") if part.isdigit())


class Transcription(NamedTuple):
    ours: str
    upstream: str


def packages() -> List[str]:
    return sorted(path.stem for path in FOLDER.glob("*.tsv") if "." not in path.stem)


def transcriptions(package: str) -> List[Transcription]:
    lines = (FOLDER / f"{package}.tsv").read_text(encoding="utf-8").splitlines()
    return [Transcription(*line.split("\t")) for line in lines if line and not line.startswith("#")]


class Compared:
    """Hashes of symbols at the releases the rules were compared with."""

    def __init__(self, package: str):
        self.path = FOLDER / f"{package}.compared.tsv"
        self.releases: List[str] = []
        self.hashes: Dict[Tuple[str, str], Dict[str, str]] = {}
        if not self.path.exists():
            return
        first, *lines = self.path.read_text(encoding="utf-8").splitlines()
        self.releases = first.lstrip("# ").split(" ")
        for line in lines:
            upstream, symbol, changes = line.split("\t")
            at = dict(change.split(":") for change in changes.split(" "))
            known, latest = {}, ABSENT
            for release in self.releases:
                latest = at.get(release, latest)
                known[release] = latest
            self.hashes[upstream, symbol] = known

    def put(self, release: str, found: Dict[Tuple[str, str], str]) -> None:
        """Every symbol of that release; those known of others that are not among them were not there."""
        if release not in self.releases:
            self.releases = sorted([*self.releases, release], key=version_key)
        for place in {*self.hashes, *found}:
            known = self.hashes.setdefault(place, dict.fromkeys(self.releases, ABSENT))
            known[release] = found.get(place, ABSENT)

    def save(self) -> None:
        lines = ["# " + " ".join(self.releases)]
        for (upstream, symbol), known in sorted(self.hashes.items()):
            changes, latest = [], ABSENT
            for release in self.releases:
                now = known.get(release, ABSENT)
                if now != latest:
                    changes.append(f"{release}:{now}")
                latest = now
            if changes:
                lines.append(f"{upstream}\t{symbol}\t{' '.join(changes)}")
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def newest_before(self, release: str) -> str:
        """The newest compared release that is no newer; of none, the oldest."""
        older = [known for known in self.releases if version_key(known) <= version_key(release)]
        return older[-1] if older else self.releases[0]

    def is_known(self, upstream: str, symbol: str, digest: str) -> bool:
        """Whether a compared release had the symbol with this very hash."""
        return digest in self.hashes.get((upstream, symbol), {}).values()


def hashes_of(package: str, folder: pathlib.Path) -> Dict[Tuple[str, str], str]:
    """Of every transcribed file that the release has."""
    found = {}
    for upstream in sorted({entry.upstream for entry in transcriptions(package)}):
        if (folder / upstream).exists():
            for name, symbol in symbols.symbols_of(folder / upstream).items():
                found[upstream, name] = symbol.digest
    return found
