#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memtape serve-http under large bodies, slow clients and clients that vanish: it stays small and answers small requests at once.

    run_http_load.py PROGRAM [--clients N] [--seconds N]    N large bodies at once (40), then slow and vanishing clients for so long (8)
"""
import http.client
import json
import pathlib
import random
import re
import socket
import sys
import threading
import time

import run_http
from load_limits import LARGE, LONGEST_ANSWER, MOST_KIB, MOST_SECONDS, resident


def request(body):
    return b"POST /v1/train HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Watch:
    """Asks something small all the time; the longest answer and the most memory meanwhile."""

    def __init__(self, server):
        self.server, self.slowest, self.most, self.asked, self.ended, self.failed = server, 0.0, 0, 0, False, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended:
            start = time.monotonic()
            try:
                run_http.expect("a small request", self.server.ask("GET", "/healthz")[0], 200)
            except (OSError, http.client.HTTPException, SystemExit) as error:
                self.failed = f"after {self.asked} small requests: {error!r}"
                return
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.most, self.asked = max(self.most, resident(self.server.process)), self.asked + 1
            time.sleep(0.02)

    def stop(self, what):
        self.ended = True
        self.thread.join()
        print(f"{what}: {self.asked} small requests, the slowest {self.slowest * 1000:.0f} ms, {self.most / 1024:.0f} MiB at most")
        if self.failed:
            sys.exit(f"{what}: {self.failed}")
        if not self.asked or self.slowest > MOST_SECONDS or self.most > MOST_KIB:
            sys.exit(f"{what}: slower than {MOST_SECONDS} s, or more than {MOST_KIB >> 10} MiB")


def many_large(server, count):
    """All at once, each body a name that is not there: each is answered, none with what was sent."""
    body, answers = request(json.dumps({"model": "x" * (LARGE - 100)}).encode()), []

    def one():
        with socket.create_connection(("127.0.0.1", server.port), timeout=600) as client:
            client.sendall(body)
            answers.append(read_all(client))

    clients = [threading.Thread(target=one) for _ in range(count)]
    [client.start() for client in clients]
    [client.join() for client in clients]
    run_http.expect("answers", len(answers), count)
    for answer in answers:
        if not answer.startswith(b"HTTP/1.1 400") or len(answer) > LONGEST_ANSWER:
            sys.exit(f"{len(answer)} bytes: {answer[:300]!r}")


def read_all(client):
    """The head and the body of an answer."""
    reader = client.makefile("rb")
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = reader.readline()
        if not line:
            return head
        head += line
    return head + reader.read(int(re.search(rb"Content-Length: (\d+)", head).group(1)))


def slow_and_vanishing(server, seconds):
    """Trickles of large bodies, and whole questions whose client is gone before the answer."""
    question = request(json.dumps({"argv": ["plan", "train", "meta-llama/Llama-3.1-405B", "--gpus", "16384", "--gpu", "h100-80gb"]})
                       .encode()).replace(b"/v1/train", b"/v1/answer")
    end = time.monotonic() + seconds

    def trickle():
        while time.monotonic() < end:
            try:
                with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
                    client.sendall(request(b" " * LARGE)[: 200 << 10])
                    while time.monotonic() < end:
                        client.sendall(b" ")
                        time.sleep(0.2)
            except OSError:
                continue  # it was closed: too slow while others stand in line

    def leave_late():
        """Gone by itself at the moment in which it would be closed: its socket's number is then that of another client."""
        while time.monotonic() < end:
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
                try:
                    client.settimeout(5 + random.random() / 4)
                    client.sendall(request(b" " * LARGE)[: 200 << 10])
                    client.recv(1)
                except OSError:
                    continue

    def vanish():
        while time.monotonic() < end:
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
                client.sendall(question)
            time.sleep(0.05)

    clients = [threading.Thread(target=what) for what, count in ((trickle, 20), (leave_late, 20), (vanish, 4)) for _ in range(count)]
    [client.start() for client in clients]
    [client.join() for client in clients]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    asked = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    clients, seconds = int(asked.get("--clients", 40)), int(asked.get("--seconds", 8))
    server = run_http.Server(program)
    watch = Watch(server)
    many_large(server, clients)
    watch.stop(f"{clients} bodies of {LARGE >> 20} MiB")
    watch = Watch(server)
    slow_and_vanishing(server, seconds)
    time.sleep(1)
    run_http.expect("children of clients that went away", server.children(), [])
    watch.stop("slow and vanishing clients")
    start = time.monotonic()
    run_http.expect("a step after them", server.ask("POST", "/v1/train", json.dumps(run_http.STEP))[0], 200)
    run_http.expect("at once", time.monotonic() - start < MOST_SECONDS, True)
    server.stop()
    print("it stays small")


if __name__ == "__main__":
    main()
