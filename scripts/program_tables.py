#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The options that a program knows, read off the program itself: its table of options (/v1/options), its catalogs, and for an
option without listed choices the names that it offers for a wrong one."""
import concurrent.futures
import http.client
import json
import os
import re
import subprocess

ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "HF_HUB_OFFLINE": "1", "MEMTAPE_WITH": "none", "HOME": "/nonexistent"}
NAME = re.compile(r"^[a-z0-9][\w.+-]*$", re.IGNORECASE)


def table_of(program):
    """What GET /v1/options answers: options of train, serve with its engines, plan, and the names of TrainingArguments."""
    server = subprocess.Popen([program, "serve-http", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env=ENVIRONMENT)
    try:
        port = int(re.search(r":(\d+)/", server.stdout.readline()).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/v1/options")
        return json.loads(connection.getresponse().read())
    finally:
        server.terminate()
        server.communicate(timeout=60)


def run(program, *words):
    return subprocess.run([program, *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)


def names_in(text):
    """"torch, transformers (Trainer, with ...), ddp" -> the names that stand between commas."""
    words = [word.strip() for word in re.sub(r"\([^()]*\)", "", text).split(",")]
    return [word for word in words if NAME.match(word)]


def choices(option):
    """Those that the table lists: "{a,b}" as the value, or a help text that is a list of names."""
    listed = re.search(r"\{([^{}]*)\}", option.get("value", ""))
    if listed:
        return [word for word in listed[1].split(",") if NAME.match(word) and word != "X"]
    if option.get("value") in ("NAME", "TYPE"):
        found = names_in(re.sub(r"^.*: |\.\.\.$|;.*$", "", option.get("help", "")))
        return found if len(found) > 1 else []
    return []


def offered(program, words, name):
    """The names that an error offers in place of a wrong one: "unusable value ... (one of a, b, c)"."""
    error = run(program, *words, f"--{name}", "?").stderr.strip()
    last = re.findall(r"\(((?:[^()]|\([^()]*\))*)\)$", error)
    found = names_in(re.sub(r"^(?:one of|which one:|which one of|did you mean)\s*|\?$| or ", ",", last[0])) if last else []
    return found if len(found) > 1 else []


def all_choices(program, words, option):
    """Those of the table, and where it lists none or not all, those that an error offers."""
    listed = choices(option)
    if "FILE" in option.get("value", "") or "DIR" in option.get("value", ""):
        return listed
    if listed and "..." not in option.get("value", "") + option.get("help", ""):
        return listed
    name = option["name"].strip("-")
    more = offered(program, words, name)
    if not more and words[0] == "train" and len(words) == 2:
        more = offered(program, [*words, "--framework", "transformers"], name)
    return list(dict.fromkeys(listed + more))


class Tables:
    """Options by command: {name: (option, choices)}; and the names of models and GPUs."""

    def __init__(self, program):
        table = table_of(program)
        self.train = self.known(program, table["train"]["options"] + table["train"]["answer"], ["train", "gpt2"])
        self.training_arguments = self.known(program, [{"name": name} for name in table["train"]["training_arguments"]],
                                             ["train", "gpt2", "--framework", "transformers"])
        self.engines = {engine["name"]: self.known(program, [*table["serve"]["options"], *table["serve"]["answer"], *engine["options"]],
                                                   ["serve", "gpt2", "--engine", engine["name"]])
                        for engine in table["serve"]["engines"]}
        self.plan_train = self.known(program, table["plan"]["train"], ["plan", "train", "gpt2"])
        self.plan_serve = self.known(program, table["plan"]["serve"], ["plan", "serve", "gpt2"])
        self.packages = table["packages"]
        self.models = sorted(model["id"] for model in json.loads(run(program, "models", "--json").stdout)["models"])
        self.gpus = sorted(gpu["id"] for gpu in json.loads(run(program, "gpus", "--json").stdout)["gpus"])
        self.commands = re.findall(r"^  ([a-z][a-z-]+) ", re.search(r"Commands:\n(.*?)\n\n", run(program).stdout, re.DOTALL)[1], re.MULTILINE)

    @staticmethod
    def known(program, options, words):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda option: all_choices(program, words, option), options))
        return {option["name"].strip("-"): (option, names) for option, names in zip(options, found)}
