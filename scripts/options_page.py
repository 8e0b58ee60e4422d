#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/options.md, made of the program's own tables.

    options_page.py PROGRAM [--check]
"""
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "options.md"


def main():
    made = subprocess.run([sys.argv[1], "__options"], capture_output=True, text=True, check=True).stdout
    if PAGE.exists() and PAGE.read_text() == made:
        return 0
    if "--check" in sys.argv:
        print("docs/options.md is not what the program says: scripts/options_page.py PROGRAM makes it")
        return 1
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
