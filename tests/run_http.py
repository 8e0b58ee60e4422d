#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memtape serve-http beside the command line: the same bytes, every mistake answered, and no growth.

    run_http.py PROGRAM [--soak N]      N requests (2,000)
"""
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

STEP = {"model": "Qwen/Qwen3-0.6B", "options": {"gpu": "rtx-4090", "micro_batch_size": 2}}


class Server:
    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, "serve-http", "--port", "0", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/", self.process.stdout.readline()).group(1))

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()

    def heap(self):
        """KiB of its data: what is resident comes and goes with the machine's load."""
        return int(re.search(r"VmData:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text()).group(1))

    def children(self):
        return pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(10) == 0, self.process.returncode


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} in place of {wanted!r}")


def same_bytes(program, server):
    """Answers are those of the command line, whatever is asked."""
    pairs = [
        ("/v1/train", STEP, ["train", "Qwen/Qwen3-0.6B", "--gpu", "rtx-4090", "--micro-batch-size", "2"], 200),
        ("/v1/train", {"model": "meta-llama/Llama-3.1-70B", "options": {"gpu": "l4"}},
         ["train", "meta-llama/Llama-3.1-70B", "--gpu", "l4"], 200),
        ("/v1/serve", {"model": "Qwen/Qwen3-8B", "options": {"engine": "vllm", "gpu": "l4", "max_model_len": 4096}},
         ["serve", "Qwen/Qwen3-8B", "--engine", "vllm", "--gpu", "l4", "--max-model-len", "4096"], 200),
        ("/v1/plan/serve", {"model": "Qwen/Qwen3-8B", "options": {"users": 10, "available": "2xl4"}},
         ["plan", "serve", "Qwen/Qwen3-8B", "--users", "10", "--available", "2xl4"], 200),
        ("/v1/plan/train", {"model": "Qwen/Qwen3-8B", "options": {"gpu": "h100-80gb", "gpus": 8, "framework": "fsdp2"}},
         ["plan", "train", "Qwen/Qwen3-8B", "--gpu", "h100-80gb", "--gpus", "8", "--framework", "fsdp2"], 200),
        ("/v1/answer", {"argv": ["--gpu", "l4", "--", "vllm", "serve", "Qwen/Qwen3-8B"]},
         ["--gpu", "l4", "--", "vllm", "serve", "Qwen/Qwen3-8B"], 200),
    ]
    for path, body, words, status in pairs:
        dashes = words.index("--") if "--" in words else len(words)
        told = subprocess.run([program, *words[:dashes], "--json", *words[dashes:]], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1"})
        got, headers, text = server.ask("POST", path, json.dumps(body))
        expect(f"{path} {body}: status", got, status)
        expect(f"{path} {body}: exit code", int(headers["Memtape-Exit-Code"]), told.returncode)
        if text != told.stdout:
            sys.exit(f"{path} {body}: other bytes than {' '.join(words)}")


def mistakes(server):
    for method, path, body, status in [
        ("POST", "/v1/train", "no json", 400), ("POST", "/v1/train", "[]", 400), ("POST", "/v1/train", "", 400),
        ("POST", "/v1/train", '{"model": "Qwen/Qwen3-0.6B", "options": {"gpux": 1}}', 400),
        ("POST", "/v1/train", '{"command": "serve", "model": "Qwen/Qwen3-0.6B"}', 400),
        ("POST", "/v1/train", '{"model": "/etc/passwd"}', 400), ("POST", "/v1/train", '{"model": "../.."}', 400),
        ("POST", "/v1/train", '{"model": "Qwen/Qwen3-0.6B", "options": {"html": "/tmp/page.html"}}', 400),
        ("POST", "/v1/train", '{"model": "Qwen/Qwen3-0.6B", "options": {"requirements": "/etc/passwd"}}', 400),
        ("POST", "/v1/answer", '{"argv": ["run", "--", "true"]}', 400),
        ("GET", "/v1/train", None, 405), ("POST", "/v1/gpus", "{}", 405), ("GET", "/v1/gpus/nope", None, 400),
        ("GET", "/nope", None, 404), ("GET", "/../../etc/passwd", None, 404), ("DELETE", "/v1/train", None, 501),
        ("GET", "/v1/gpus/l4", None, 200), ("GET", "/healthz", None, 200), ("GET", "/v1/models", None, 200),
    ]:
        got, _, text = server.ask(method, path, body)
        expect(f"{method} {path} {body}", got, status)
        if status in (400, 404, 405):
            assert json.loads(text)["error"]["what"], text
    document = json.loads(server.ask("GET", "/openapi.json")[2])
    assert document["openapi"] == "3.1.0" and "micro_batch_size" in json.dumps(document["paths"]["/v1/train"])


def bounds(program):
    server = Server(program, "--max-request-bytes", "1000", "--seconds", "1", "--workers", "1")
    expect("too large", server.ask("POST", "/v1/train", "x" * 5000)[0], 413)
    status, _, text = server.ask("POST", "/v1/plan/train", json.dumps(
        {"model": "meta-llama/Llama-3.1-405B", "options": {"gpus": 16384, "gpu": "h100-80gb", "cp": "1,2,4,8"}}))
    expect(f"too slow ({text[:200]})", status, 504)
    expect("a step after it", server.ask("POST", "/v1/train", json.dumps(STEP))[0], 200)
    expect("children", server.children(), [])
    server.stop()


def impatient(server):
    """Clients that send half a request, or go away before their answer."""
    half = b"POST /v1/train HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
    body = json.dumps(STEP).encode()
    whole = b"POST /v1/train HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    for sent in [half, whole, b"\x00\xff garbage\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: " + b"b" * 100000] * 25:
        with socket.create_connection(("127.0.0.1", server.port)) as one:
            one.sendall(sent)
    expect("a step after them", server.ask("POST", "/v1/train", json.dumps(STEP))[0], 200)


def soak(server, count):
    """The heap after a tenth of the requests, and after all."""
    def some(number):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for _ in range(number):
            connection.request("POST", "/v1/train", json.dumps(STEP))
            response = connection.getresponse()
            response.read()
            assert response.status == 200

    def rounds(number):
        threads = [threading.Thread(target=some, args=(number // 4,)) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    rounds(count // 10)
    before = server.heap()
    rounds(count - count // 10)
    grown = server.heap() - before
    print(f"{count} requests: {before} KiB of heap, {grown} KiB more at the end")
    if grown > 512:
        sys.exit("it grows")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    count = int(sys.argv[sys.argv.index("--soak") + 1]) if "--soak" in sys.argv else 2000
    server = Server(program)
    same_bytes(program, server)
    mistakes(server)
    impatient(server)
    soak(server, count)
    server.stop()
    bounds(program)
    print("passed")


if __name__ == "__main__":
    main()
