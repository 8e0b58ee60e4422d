# SPDX-License-Identifier: Apache-2.0
"""Documents as their readers take them: blocks of code with their language and place, and the commands in them.

A block that a test cannot run has a comment before it that says why, which readers do not see: <!-- not run: needs docker -->
"""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKER = re.compile(r"<!-- not run: (.+) -->")
FENCE = re.compile(r"( *)```([\w+]*)")


@dataclasses.dataclass(frozen=True)
class Block:
    """`language`: that of its fence, "" where it has none or is indented. `before`: the paragraph above it. `not_run`: why, else ""."""

    place: str
    language: str
    text: str
    before: str
    not_run: str


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "tests/README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs/kubernetes.yaml"]


def blocks(page):
    whole, name, at, paragraph = page.read_text(encoding="utf-8"), page.relative_to(ROOT), 0, []
    if page.suffix == ".yaml":
        yield Block(f"{name}:1", "yaml", whole, "", "")
        return
    lines = whole.split("\n")
    while at < len(lines):
        fence, indented = FENCE.match(lines[at]), re.match(r" {4}\S", lines[at]) and not (at and lines[at - 1])
        if not fence and not indented:
            paragraph = paragraph + [lines[at]] if not at or lines[at - 1] else [lines[at]] if lines[at] else paragraph
            at += 1
            continue
        start = at + 1 if fence else at
        at = start
        while at < len(lines) and (lines[at].strip() != "```" if fence else lines[at].startswith("    ")):
            at += 1
        width = len(fence[1]) if fence else 4
        text = "\n".join(line[width:] for line in lines[start:at]) + "\n"
        before = "\n".join(paragraph)
        marker = MARKER.search(before)
        yield Block(f"{name}:{start + 1}", fence[2] if fence else "", text, before, marker[1] if marker else "")
        at, paragraph = at + 1 if fence else at, []


def statements(text):
    """The commands of a shell block: lines that go on are joined, what a << takes in belongs to its command."""
    text = re.sub(r"\s*\\\n\s*", " ", text)
    lines = iter(text.split("\n"))
    for line in lines:
        taken_in = re.search(r"<<'?(\w+)'?", line)
        while taken_in and line.rsplit("\n", 1)[-1] != taken_in[1]:
            line += "\n" + next(lines)
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def without_remark(statement):
    """A command of a list that says beside each command what it does: that stands behind two spaces or more."""
    return statement if "\n" in statement else re.split(r"\s{2,}", statement)[0]


def file_name(block):
    """The name by which the paragraph above a block calls it: the last of the right kind, "" where there is none."""
    kind = {"c": "c", "toml": "toml", "yaml": "ya?ml", "json": "json"}.get(block.language)
    names = re.findall(rf"`([\w-]+\.{kind})`", block.before) if kind else []
    return names[-1] if names else ""
