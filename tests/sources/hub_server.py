#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the Hugging Face hub on 127.0.0.1: repositories with config.json and safetensors, ranges, redirects, tokens.

Repositories:
    org/whole     model.safetensors, behind a redirect to another path
    org/sharded   an index and two shards; the first header is larger than one first request
    org/plain     the same as whole, from a server that ignores ranges
    org/gated     401 with X-Error-Code: GatedRepo unless the token is "secret"
    org/bare      config.json only
    org/torn      a header that promises more than the file has
    org/loop      redirects for ever
    org/flood     a config.json that never ends
Everything else is 401 with X-Error-Code: RepoNotFound, as the hub answers without a token.
"""

import http.server
import json
import struct
import sys
import threading

CONFIG = {"model_type": "llama", "hidden_size": 8}


def safetensors(tensors):
    """A file of those (name, shape) in U8."""
    header, at = {}, 0
    for name, shape in tensors:
        size = 1
        for n in shape:
            size *= n
        header[name] = {"dtype": "U8", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(at)


SMALL = safetensors([("a", [2, 3]), ("b", [4])])
LARGE = safetensors([(f"layers.{i}.weight", [3]) for i in range(3000)])
INDEX = {
    "metadata": {"total_size": 1},
    "weight_map": {f"layers.{i}.weight": "one.safetensors" for i in range(3000)} | {"a": "two.safetensors", "b": "two.safetensors"},
}
TEXT = json.dumps(CONFIG).encode()
FILES = {
    "/org/whole/resolve/main/config.json": TEXT,
    "/cdn/whole": SMALL,
    "/org/plain/resolve/main/config.json": TEXT,
    "/org/plain/resolve/main/model.safetensors": SMALL + bytes(1 << 20),
    "/org/sharded/resolve/main/config.json": TEXT,
    "/org/sharded/resolve/main/model.safetensors.index.json": json.dumps(INDEX).encode(),
    "/org/sharded/resolve/main/one.safetensors": LARGE,
    "/org/sharded/resolve/main/two.safetensors": SMALL,
    "/org/gated/resolve/main/config.json": TEXT,
    "/org/bare/resolve/main/config.json": TEXT,
    "/org/torn/resolve/main/config.json": TEXT,
    "/org/torn/resolve/main/model.safetensors": struct.pack("<Q", 1 << 20) + b"{}",
}
REDIRECTS = {
    "/org/whole/resolve/main/model.safetensors": "/cdn/whole",
    "/org/loop/resolve/main/config.json": "/org/loop/resolve/main/config.json",
}
REPOSITORIES = {path.split("/")[2] for path in FILES if path.startswith("/org/")} | {"loop", "flood"}


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # noqa: N802, the name is http.server's
        self.server.seen.append((self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        parts = self.path.split("/")
        if self.path in REDIRECTS:
            return self.answer(302, b"", {"Location": REDIRECTS[self.path]})
        if parts[1] == "org" and parts[2] not in REPOSITORIES:
            return self.answer(401, b"who are you?", {"X-Error-Code": "RepoNotFound"})
        if parts[2] == "gated" and self.headers.get("Authorization") != "Bearer secret":
            return self.answer(401, b"ask first", {"X-Error-Code": "GatedRepo"})
        if parts[2] == "flood":
            return self.flood()
        if self.path not in FILES:
            return self.answer(404, b"Entry not found", {"X-Error-Code": "EntryNotFound"})
        return self.send_file(FILES[self.path], ranges=parts[2] != "plain")

    def send_file(self, data, ranges):
        wanted = self.headers.get("Range")
        if not (ranges and wanted):
            return self.answer(200, data, {})
        first, last = wanted.removeprefix("bytes=").split("-")
        part = data[int(first) : int(last) + 1]
        return self.answer(206, part, {"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the reader had enough

    def flood(self):
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b" " * 65536)
        except OSError:
            pass  # the reader had enough

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Hub)
        self.seen = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a reader who had enough hangs up
            super().handle_error(request, client_address)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"
