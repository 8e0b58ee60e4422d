#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that are fetched: `fetch_test.py PROGRAM` against a hub of our own on 127.0.0.1."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import hub_server

PROGRAM = sys.argv.pop(1)


class FetchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = hub_server.Server()

    def setUp(self):
        self.server.seen.clear()
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def memtape(self, model, **environment):
        clean = {"PATH": os.environ["PATH"], "HF_HOME": self.home.name, "HF_ENDPOINT": self.server.url, "no_proxy": "*"}
        sanitizers = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
        return subprocess.run(
            [PROGRAM, "models", model, "--json"],
            env=clean | self.variables() | sanitizers | environment, capture_output=True, text=True, timeout=60,
        )

    def variables(self):
        return {}

    def answer(self, model, **environment):
        run = self.memtape(model, **environment)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return json.loads(run.stdout)

    def complaint(self, model, **environment):
        run = self.memtape(model, **environment)
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (2, "", 1), run.stderr)
        return run.stderr

    def test_fetches_config_and_header_through_a_redirect(self):
        model = self.answer("org/whole")["model"]
        self.assertEqual(model["from"], self.server.url + "/org/whole/resolve/main/config.json")
        self.assertEqual(model["config"], hub_server.CONFIG)
        self.assertEqual(model["checkpoint"], {"tensors": 2, "elements": 10, "bytes": 10, "dtypes": {"U8": 2}})

    def test_asks_for_the_beginning_of_a_file_only(self):
        self.answer("org/whole")
        ranges = [wanted for path, wanted, _ in self.server.seen if path == "/cdn/whole"]
        self.assertEqual(ranges, ["bytes=0-131071"])

    def test_asks_again_for_a_header_that_is_longer(self):
        checkpoint = self.answer("org/sharded")["model"]["checkpoint"]
        self.assertEqual((checkpoint["tensors"], checkpoint["elements"]), (3002, 9010))
        self.assertGreater(len(hub_server.LARGE), 131072)
        asked = [wanted for path, wanted, _ in self.server.seen if path.endswith("one.safetensors")]
        self.assertEqual(len(asked), 2)

    def test_lives_with_a_server_that_ignores_ranges(self):
        # 1 MiB follows the tensors there: the size is known, so the header is found to be wrong
        self.assertIn("the file is too long", self.complaint("org/plain"))

    def test_a_repository_without_safetensors_has_no_checkpoint(self):
        self.assertIsNone(self.answer("org/bare")["model"]["checkpoint"])

    def test_sends_the_token_of_the_environment_or_of_the_file(self):
        self.answer("org/gated", HF_TOKEN=" secret\n")
        with open(os.path.join(self.home.name, "token"), "w", encoding="utf-8") as file:
            file.write("secret\n")
        self.answer("org/gated")

    def test_explains_a_gated_model(self):
        self.assertIn("access to this model must be granted on its page first (then set HF_TOKEN)", self.complaint("org/gated"))
        self.assertIn("(the token in use has no access)", self.complaint("org/gated", HF_TOKEN="other"))

    def test_explains_an_unknown_model(self):
        line = self.complaint("org/none")
        self.assertIn("no such model, or no access to it (HTTP 401) (check the name, or set HF_TOKEN)", line)

    def test_explains_a_torn_header(self):
        self.assertIn("claims a header of 1048576 bytes but has only 2", self.complaint("org/torn"))

    def test_gives_up_on_endless_redirects_and_floods(self):
        self.assertIn("redirects", self.complaint("org/loop"))
        self.assertIn("larger than 16.00 MiB", self.complaint("org/flood"))

    def test_explains_a_server_that_is_not_there(self):
        self.assertIn("127.0.0.1 port 1", self.complaint("org/whole", HF_ENDPOINT="http://127.0.0.1:1"))

    def test_offline_asks_nobody(self):
        self.assertIn("HF_HUB_OFFLINE is set", self.complaint("org/whole", HF_HUB_OFFLINE="1"))
        self.assertEqual(self.server.seen, [])

    def test_refuses_other_protocols(self):
        self.assertIn("file", self.complaint("org/whole", HF_ENDPOINT="file:///tmp"))

    def test_the_catalog_needs_no_network(self):
        self.answer("gpt2", HF_ENDPOINT="http://127.0.0.1:1")
        self.assertEqual(self.server.seen, [])


@unittest.skipUnless(shutil.which("curl"), "the program curl is not installed")
class FetchByProgramTest(FetchTest):
    """The same by the program curl, where libcurl cannot be loaded."""

    def variables(self):
        folder = os.path.join(self.home.name, "no-libraries")
        os.makedirs(folder, exist_ok=True)
        for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        curl = os.path.join(folder, "curl")  # which loads libcurl itself
        with open(curl, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\nunset LD_LIBRARY_PATH\nexec {shutil.which("curl")} "$@"\n')
        os.chmod(curl, 0o755)
        return {"LD_LIBRARY_PATH": folder, "PATH": folder + ":" + os.environ["PATH"]}

    def test_says_what_to_install_where_there_is_neither(self):
        self.assertIn("neither libcurl.so.4 nor the program curl is there", self.complaint("org/whole", PATH="/nowhere"))


if __name__ == "__main__":
    unittest.main()
