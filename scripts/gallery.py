#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's terminal: a picture of one answer, and a session that a player of asciicasts shows (asciinema play docs/gallery/session.cast).

    gallery.py PROGRAM            writes docs/gallery/terminal.svg and docs/gallery/session.cast
    gallery.py PROGRAM --check    whether they are what PROGRAM prints today

Each command runs on a terminal of its own of 80 columns. How fast somebody types is made up; every other byte is the program's.
The pictures of the page and of the HTML report need a browser: web/scripts/gallery.mjs.
"""
import fcntl
import html
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/gallery"
COLUMNS, ROWS = 80, 40
PICTURE = ["train", "Qwen/Qwen3-8B", "--gpu", "rtx-4090", "--qlora"]
PICTURE_LINES = 34
SESSION = [
    ["train", "meta-llama/Llama-3.1-8B", "--gpu", "rtx-4090", "--quiet"],
    ["train", "meta-llama/Llama-3.1-8B", "--gpu", "rtx-4090", "--qlora", "--quiet"],
    ["serve", "Qwen/Qwen3-8B", "--engine", "vllm", "--gpu", "rtx-4090", "--users", "8", "--context", "4096", "--quiet"],
    ["train", "Qwen/Qwen3-0.6B", "--compare", "t4,l4,rtx-3060-12gb"],
    ["explain", "error.txt"],
]
ERROR = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.63 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.61 GiB is free. "
    "Including non-PyTorch memory, this process has 22.02 GiB memory in use. Of the allocated memory 18.15 GiB is allocated by PyTorch, and "
    "3.38 GiB is reserved by PyTorch but unallocated.\n"
)
LETTER, ANSWER, PAUSE = 0.04, 0.2, 1.6  # seconds: a key, until the answer, until the next command

CELL, LINE, EDGE, BAR = 7.8, 17, 18, 34  # of the picture, in pixels
COLOURS = {30: "#5c6370", 31: "#e06c75", 32: "#98c379", 33: "#e5c07b", 34: "#61afef", 35: "#c678dd", 36: "#56b6c2", 37: "#dcdfe4",
           90: "#7f848e", 91: "#f08a84", 92: "#a9d18e", 93: "#f0cf8a", 94: "#86aef5", 95: "#d7a1e8", 96: "#7fd0da", 97: "#ffffff"}  # fmt: skip
INK, GROUND = "#dcdfe4", "#161b22"
NO_BREAK = "\u00a0"  # a space that stays one
SGR = re.compile(r"\x1b\[([0-9;]*)m")


def on_terminal(program, words, folder):
    """What a command prints on a terminal, line ends as a terminal gets them."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    known = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH")}
    environment = {**known, "HOME": folder, "TERM": "xterm-256color", "LANG": "C.UTF-8", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, cwd=folder, env=environment)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # the terminal is gone with the last who wrote on it
            break
        if not part:
            break
        seen += part
    errors = process.communicate()[1].decode()
    if process.returncode not in (0, 1):
        sys.exit(f"memtape {' '.join(words)}: {errors}")
    return seen.decode()


def typed(words):
    return f"memtape {' '.join(words)}"


def cast(program, folder):
    """An asciicast of version 2."""
    lines = [json.dumps({"version": 2, "width": COLUMNS, "height": ROWS, "title": "memtape", "env": {"TERM": "xterm-256color"}})]
    clock = 0.5

    def say(text, after):
        nonlocal clock
        clock += after
        lines.append(json.dumps([round(clock, 3), "o", text], ensure_ascii=False))

    for words in SESSION:
        say("$ ", PAUSE)
        for letter in typed(words):
            say(letter, LETTER)
        say("\r\n", LETTER)
        say(on_terminal(program, words, folder), ANSWER)
    say("$ ", PAUSE)
    return "\n".join(lines) + "\n"


def runs(line):
    """Stretches of a line: column, text, colour, whether bold or faint."""
    column, colour, bold, faint = 0, INK, False, False
    for at, part in enumerate(SGR.split(line)):
        if at % 2 == 0:
            if part:
                yield column, part, colour, bold, faint
            column += len(part)
            continue
        codes = [int(code or 0) for code in part.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                colour, bold, faint = INK, False, False
            elif code == 1:
                bold = True
            elif code == 2:
                faint = True
            elif code == 22:
                bold = faint = False
            elif code == 39:
                colour = INK
            elif code == 38 and codes[:1] == [5]:
                colour, codes = indexed(codes[1]), codes[2:]
            elif code == 38 and codes[:1] == [2]:
                colour, codes = "#{:02x}{:02x}{:02x}".format(*codes[1:4]), codes[4:]
            elif code in COLOURS:
                colour = COLOURS[code]


def indexed(number):
    """One of the terminal's 256 colours."""
    if number < 16:
        return COLOURS[number + 30 if number < 8 else number + 82]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = [0, 95, 135, 175, 215, 255]
    return "#{:02x}{:02x}{:02x}".format(*(steps[(number - 16) // by % 6] for by in (36, 6, 1)))


def svg(lines):
    width, height = round(2 * EDGE + COLUMNS * CELL), BAR + len(lines) * LINE + EDGE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="memtape in a terminal">',
        f'<rect width="{width}" height="{height}" rx="10" fill="{GROUND}"/>',
        *(f'<circle cx="{20 + 18 * i}" cy="17" r="5.5" fill="{c}"/>' for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))),
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13">',
    ]
    for row, line in enumerate(lines):
        for column, text, colour, bold, faint in runs(line):
            if not text.strip():
                continue
            style = (' font-weight="700"' if bold else "") + (' opacity="0.62"' if faint else "")
            place = f'x="{EDGE + column * CELL:.1f}" y="{BAR + row * LINE + 12}" textLength="{len(text) * CELL:.1f}"'
            out.append(f'<text {place} lengthAdjust="spacingAndGlyphs" fill="{colour}"{style}>{html.escape(text.replace(" ", NO_BREAK), quote=False)}</text>')
    return "\n".join([*out, "</g>", "</svg>"]) + "\n"


def picture(program, folder):
    lines = on_terminal(program, PICTURE, folder).replace("\r\n", "\n").split("\n")
    return svg([f"\x1b[2m$\x1b[0m \x1b[1m{typed(PICTURE)}\x1b[0m", *lines[:PICTURE_LINES]])


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "error.txt").write_text(ERROR, encoding="utf-8")
        made = {"terminal.svg": picture(program, folder), "session.cast": cast(program, folder)}
    if "--check" not in sys.argv[2:]:
        FOLDER.mkdir(exist_ok=True)
        for name, text in made.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        return
    old = [name for name, text in made.items() if (FOLDER / name).read_text(encoding="utf-8") != text]
    if old:
        sys.exit(f"docs/gallery/{', '.join(old)}: not what the program prints today; scripts/gallery.py {sys.argv[1]} writes it again")


main()
