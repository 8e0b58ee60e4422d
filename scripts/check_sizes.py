#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes: no source file over 600 lines, no function over 60; the medians are printed.

Generated files and tables of data (a first line that says "generated", or a folder named data) are left out. Functions are
found by matching braces with comments and strings removed, which is exact enough for a limit.
"""
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_FILE_LINES = 600
MOST_FUNCTION_LINES = 60
FOLDERS = ("src", "apps", "phantom", "fuzz", "bench", "tests", "scripts", "cmake")
SOURCES = {".h", ".cpp", ".py", ".sh", ".cmake"}
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
NOT_A_FUNCTION = re.compile(r"\b(namespace|struct|class|union|enum|extern)\b[^()]*$|=\s*$|\]\s*$|^\s*$")


def without_noise(text):
    """Comments and strings as blanks, line breaks kept, so that every brace left is a brace of the code."""
    return NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def is_table(path, text):
    first_lines = " ".join(text.split("\n", 2)[:2]).lower()
    return "data" in path.relative_to(ROOT).parts or "generated" in first_lines


def functions(text):
    """(name, lines) of each outermost brace pair that follows a parameter list."""
    code = without_noise(text)
    stack, start = [], 0
    for at, char in enumerate(code):
        if char == ";" and not any(kind == "function" for kind, _, _ in stack):
            start = at + 1
        elif char == "{":
            head = code[start:at]
            inside = any(kind == "function" for kind, _, _ in stack)
            kind = "function" if not inside and ")" in head and not NOT_A_FUNCTION.search(head) else "other"
            stack.append((kind, at - len(head.lstrip()), head))
            start = at + 1
        elif char == "}" and stack:
            kind, began, head = stack.pop()
            start = at + 1
            if kind == "function":
                name = re.findall(r"([\w:~]+|operator\W+)\s*\(", head)
                yield (name or ["?"])[0], code.count("\n", began, at) + 1


def main():
    faults, file_lines, function_lines = [], [], []
    for path in sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SOURCES):
        text = path.read_text(encoding="utf-8")
        if is_table(path, text):
            continue
        name, lines = path.relative_to(ROOT), text.count("\n")
        file_lines.append(lines)
        if lines > MOST_FILE_LINES:
            faults.append(f"{name}: {lines} lines (at most {MOST_FILE_LINES})")
        if path.suffix not in {".h", ".cpp"}:
            continue
        for function, length in functions(text):
            function_lines.append(length)
            if length > MOST_FUNCTION_LINES:
                faults.append(f"{name}: {function} has {length} lines (at most {MOST_FUNCTION_LINES})")
    print("\n".join(faults))
    for what, sizes in (("files", file_lines), ("functions", function_lines)):
        print(f"{len(sizes)} {what}, lines: median {statistics.median(sizes or [0]):.0f}, most {max(sizes or [0])}")
    return 1 if faults or not file_lines else 0


if __name__ == "__main__":
    sys.exit(main())
