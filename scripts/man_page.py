#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page, made of the program's own help texts.

    man_page.py PROGRAM > memtape.1
"""
import re
import subprocess
import sys


def shown(program, *words):
    return subprocess.run([program, *words, "--help", "--all"], capture_output=True, text=True, check=True).stdout


def roff(text):
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in escaped.split("\n"))


def options(text):
    """The help's options as tagged paragraphs, its headings as sub-headings."""
    page, tag, said = [], None, []

    def flush():
        nonlocal tag, said
        if tag:
            page.append(f".TP\n.B {roff(tag)}\n{roff(' '.join(said))}")
        tag, said = None, []

    for line in text.split("\n"):
        option = re.match(r"  (-\S.*?)(?:  +(.*))?$", line)
        if option:
            flush()
            tag, said = option[1], [option[2]] if option[2] else []
        elif re.match(r"\S.*:$|--engine ", line) and not line.startswith(("Usage:", "Example", "What frameworks")):
            flush()
            page.append(f".PP\n.I {roff(line.removesuffix(':'))}")
        elif line.startswith("      ") and tag:
            said.append(line.strip())
        elif not line.startswith(" "):
            flush()
    flush()
    return "\n".join(page)


def main():
    program = sys.argv[1]
    overview = shown(program)
    version = re.match(r"memtape (\S+):", overview)[1]
    commands = re.findall(r"^  (\S[^\n]*?)  +(\S.*)$", overview[overview.index("Commands:"):overview.index("Example:")], re.M)
    print(f'.TH MEMTAPE 1 "" "memtape {version}" "User Commands"')
    print(".SH NAME\nmemtape \\- GPU memory of training and serving, predicted to the byte")
    print(".SH SYNOPSIS\n.B memtape\n.I COMMAND\n[options]\n.br\n.B memtape\n[options]\n.B \\-\\-\n.I LAUNCH COMMAND...")
    print(".SH DESCRIPTION\nRuns a framework's own step on tensors without data, writes down every allocation and free, and plays them\n"
          "through a replica of the framework's allocator. No GPU is needed.")
    print(".SH COMMANDS")
    for usage, summary in commands:
        print(f".TP\n.B {roff(usage)}\n{roff(summary)}")
    for usage, _ in commands:
        name = usage.split()[0]
        if name.startswith("-") or name == "memtape":
            continue
        for words in [[name], [name, "serve"]] if name == "plan" else [[name]]:
            text = shown(program, *words)
            print(f".SH {' '.join(words).upper()}\n{roff(text.split(chr(10))[0])}\n{options(text)}")
            if example := re.search(r"Example:\n((?:  .*\n)+)", text):
                print(f".PP\nExample:\n.PP\n.nf\n{roff(example[1].rstrip())}\n.fi")
    print('.SH "EXIT STATUS"\n0 it fits, or no GPU was named; 1 it does not fit; 2 bad input; 3 internal error.')
    print('.SH ENVIRONMENT\n.TP\n.B NO_COLOR, COLUMNS, TERM\nhow answers look.\n.TP\n.B PYTORCH_ALLOC_CONF\nread as PyTorch reads it.\n'
          '.TP\n.B MEMTAPE_WITH\nthe releases that are meant, like torch==2.8.0.\n.TP\n.B HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE\n'
          'as huggingface_hub reads them.')


if __name__ == "__main__":
    main()
