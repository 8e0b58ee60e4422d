# SPDX-License-Identifier: Apache-2.0
"""The command line: `memtape`, `python -m memtape`. This process becomes the program."""
import os
import sys

from ._library import program


def main() -> None:
    words = [program(), *sys.argv[1:]]
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
