#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memtape mcp under large messages, clients that are slow and clients that leave: it stays small and answers small messages at once.

    run_mcp_load.py PROGRAM [--clients N] [--seconds N]    N clients at a time (4), for so long (8)
"""
import json
import signal
import subprocess
import sys
import threading
import time

from load_limits import LARGE, LONGEST_ANSWER, MOST_KIB, MOST_SECONDS, resident

LIST = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
REFUSED = [  # what is too long, or not JSON, or asks for what is not there: an error each, and none with what was sent
    b'{"jsonrpc": "2.0", "id": 2, "method": "' + b"x" * LARGE + b'"}\n',
    b'{"a": ' + b"x" * (LARGE - 100) + b"\n",
    json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
                "params": {"name": "train", "arguments": {"model": "x" * (LARGE - 1000)}}}).encode() + b"\n",
    json.dumps({"jsonrpc": "2.0", "id": 4, "method": "tools/call",
                "params": {"name": "train", "arguments": {"model": "gpt2", "k" * 100_000: 1}}}).encode() + b"\n",
]


class Client:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def say(self, message):
        self.process.stdin.write(message)
        self.process.stdin.flush()

    def ask(self, message):
        self.say(message)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"memtape mcp ended with {self.process.wait()} at {message[:80]!r}")
        return answer

    def leave(self):
        """As a client that ends: the program has to end, too."""
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(timeout=60)


class Figures:
    def __init__(self):
        self.slowest, self.most, self.asked, self.lock, self.wrong = 0.0, 0, 0, threading.Lock(), []

    def add(self, seconds, kib):
        with self.lock:
            self.slowest, self.most, self.asked = max(self.slowest, seconds), max(self.most, kib), self.asked + 1


def small(client, figures):
    start = time.monotonic()
    answer = json.loads(client.ask(LIST))
    figures.add(time.monotonic() - start, resident(client.process))
    if "result" not in answer:
        figures.wrong.append(f"tools/list: {str(answer)[:200]}")


def large(client, figures):
    for message in REFUSED:
        answer = client.ask(message)
        told = json.loads(answer)
        if "error" not in told and not told["result"].get("isError"):
            figures.wrong.append(f"no error for {message[:60]!r}: {answer[:200]!r}")
        if len(answer) > LONGEST_ANSWER:
            figures.wrong.append(f"{len(answer)} bytes come back for {message[:60]!r}")
        small(client, figures)


def session(program, number, ends, figures):
    """One client after the other: large messages, a slow one, and one that leaves in the middle of a message."""
    while time.monotonic() < ends:
        client = Client(program)
        large(client, figures)
        for at in range(0, len(LIST), 5):
            client.say(LIST[at:at + 5])
            time.sleep(0.02)
        client.process.stdout.readline()
        small(client, figures)
        client.say(REFUSED[number % len(REFUSED)][:LARGE // 2])
        code = client.leave()
        if code not in (0, -signal.SIGPIPE):
            figures.wrong.append(f"it ends with {code} when its client leaves")


def main():
    words = sys.argv[1:]
    option = lambda name, default: int(words[words.index(name) + 1]) if name in words else default
    figures, ends = Figures(), time.monotonic() + option("--seconds", 8)
    threads = [threading.Thread(target=session, args=(words[0], i, ends, figures)) for i in range(option("--clients", 4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{figures.asked} small messages, the slowest {figures.slowest * 1000:.0f} ms, {figures.most / 1024:.0f} MiB at most")
    for line in figures.wrong[:10]:
        print(line)
    return 1 if figures.wrong or not figures.asked or figures.slowest > MOST_SECONDS or figures.most > MOST_KIB else 0


if __name__ == "__main__":
    sys.exit(main())
